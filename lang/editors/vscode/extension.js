// The extension starts "dialect lsp" and hands it scripts and matrices. All that it knows of
// the language it has from there.
"use strict";

const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient, RevealOutputChannelOn } = require("vscode-languageclient/node");

/** @type {LanguageClient | undefined} */
let client;

function settings() {
  const config = vscode.workspace.getConfiguration("dialect");
  return { program: config.get("path") || "dialect", routing: config.get("routing") || "" };
}

async function start() {
  const { program, routing } = settings();
  const args = ["lsp"];
  if (routing) {
    args.push("--routing", routing);
  }
  client = new LanguageClient(
    "dialect",
    "Command dialect",
    { command: program, args },
    {
      documentSelector: [
        { language: "dialect" },
        { scheme: "file", language: "toml" },
        { scheme: "file", pattern: "**/routing.toml" },
      ],
      revealOutputChannelOn: RevealOutputChannelOn.Never,
    },
  );
  try {
    await client.start();
  } catch (err) {
    const choice = await vscode.window.showErrorMessage(
      `"${program} lsp" could not be started: ${err instanceof Error ? err.message : err}. Install dialect, or say where it is.`,
      "Open settings",
    );
    if (choice) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "dialect.path");
    }
  }
}

async function stop() {
  const old = client;
  client = undefined;
  if (old?.isRunning()) {
    await old.stop();
  }
}

// run runs the script of the editor in a terminal. The words go to the program as they are:
// no shell reads them.
async function run(line) {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.languageId !== "dialect" || editor.document.isUntitled) {
    return;
  }
  if (!(await editor.document.save())) {
    return;
  }
  const file = editor.document.uri.fsPath;
  const target = line ? `${file}:${editor.selection.active.line + 1}` : file;
  const { program, routing } = settings();
  const args = ["run", ...(routing ? ["--routing", routing] : []), "--", target];
  const task = new vscode.Task(
    { type: "dialect" },
    vscode.TaskScope.Workspace,
    path.basename(target),
    "dialect",
    new vscode.ProcessExecution(program, args, { cwd: path.dirname(file) }),
  );
  task.presentationOptions = { clear: true, showReuseMessage: false };
  await vscode.tasks.executeTask(task);
}

/** @param {vscode.ExtensionContext} context */
async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("dialect.run", () => run(false)),
    vscode.commands.registerCommand("dialect.runLine", () => run(true)),
    vscode.commands.registerCommand("dialect.restart", async () => {
      await stop();
      await start();
    }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("dialect")) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
