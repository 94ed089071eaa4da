// The server half of the extension: "dialect lsp", spoken to with the protocol library of VS Code,
// and its answers held to the shapes that this library knows. DIALECT names the program.
"use strict";

const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");
const { pathToFileURL } = require("node:url");
const p = require("vscode-languageserver-protocol/node");

const matrix = `[commands.test_go]
verb = "test"
noun = "go"
tool = "go test {args...}"
receipt_required = true

[commands.close_issue]
verb = "close"
noun = "issue"
tool = "tracker close {id}"
`;

async function session(capabilities, body) {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "dialect-")));
  fs.writeFileSync(path.join(root, "routing.toml"), matrix);
  const server = spawn(process.env.DIALECT || "dialect", ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
  const connection = p.createProtocolConnection(
    new p.StreamMessageReader(server.stdout),
    new p.StreamMessageWriter(server.stdin),
  );
  const published = new Map();
  const waiting = [];
  connection.onNotification(p.PublishDiagnosticsNotification.type, (params) => {
    published.set(params.uri, params.diagnostics);
    for (const check of waiting) {
      check();
    }
  });
  connection.onRequest(p.RegistrationRequest.type, () => {});
  connection.onRequest(p.DiagnosticRefreshRequest.type, () => {});
  connection.listen();
  const s = {
    root,
    connection,
    uri: (name) => pathToFileURL(path.join(root, name)).href,
    open: (name, text) =>
      connection.sendNotification(p.DidOpenTextDocumentNotification.type, {
        textDocument: p.TextDocumentItem.create(s.uri(name), "dialect", 1, text),
      }),
    diagnostics: (name, is) =>
      new Promise((resolve) => {
        const check = () => {
          const list = published.get(s.uri(name));
          if (list && is(list)) {
            resolve(list);
          }
        };
        waiting.push(check);
        check();
      }),
  };
  const result = await connection.sendRequest(p.InitializeRequest.type, {
    processId: process.pid,
    rootUri: pathToFileURL(root).href,
    capabilities,
    workspaceFolders: [{ uri: pathToFileURL(root).href, name: "root" }],
  });
  await connection.sendNotification(p.InitializedNotification.type, {});
  try {
    await body(s, result);
  } finally {
    await connection.sendRequest(p.ShutdownRequest.type);
    await connection.sendNotification(p.ExitNotification.type);
    const status = await new Promise((resolve) => server.on("exit", resolve));
    connection.dispose();
    fs.rmSync(root, { recursive: true });
    assert.equal(status, 0);
  }
}

const all = {
  workspace: { workspaceEdit: { documentChanges: true } },
  textDocument: {
    definition: { linkSupport: true },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    completion: { completionItem: { snippetSupport: true } },
    publishDiagnostics: { relatedInformation: true, versionSupport: true },
  },
};

test("what the server answers is what the protocol says", { timeout: 60_000 }, async () => {
  await session(all, async (s, init) => {
    assert.equal(init.capabilities.textDocumentSync.change, p.TextDocumentSyncKind.Incremental);
    s.open("a.dlct", "Tets with go\nClose issue BD-1\n- Test with go ./... # all\nGate against results\n");
    const list = await s.diagnostics("a.dlct", (l) => l.length > 0);
    assert.deepEqual(list.map((d) => d.code), ["unbound-verb", "list-marker"]);
    assert.ok(list.every((d) => p.Diagnostic.is(d)));

    const doc = { uri: s.uri("a.dlct") };
    const at = (line, character) => ({ textDocument: doc, position: { line, character } });

    const hover = await s.connection.sendRequest(p.HoverRequest.type, at(1, 2));
    assert.ok(p.Hover.is(hover) && p.MarkupContent.is(hover.contents));
    assert.match(hover.contents.value, /tracker close BD-1/);

    const items = await s.connection.sendRequest(p.CompletionRequest.type, at(1, 6));
    assert.ok(items.items.length > 0 && items.items.every((i) => typeof i.label === "string" && p.TextEdit.is(i.textEdit)));

    const links = await s.connection.sendRequest(p.DefinitionRequest.type, at(1, 2));
    assert.ok(links.length === 1 && links.every((l) => p.LocationLink.is(l)));

    const references = await s.connection.sendRequest(p.ReferencesRequest.type, {
      ...at(2, 3),
      context: { includeDeclaration: true },
    });
    assert.ok(references.length === 2 && references.every((l) => p.Location.is(l)));

    const symbols = await s.connection.sendRequest(p.DocumentSymbolRequest.type, { textDocument: doc });
    assert.ok(symbols.length === 1 && symbols[0].children.length === 4 && symbols.every((x) => p.DocumentSymbol.is(x)));

    const folds = await s.connection.sendRequest(p.FoldingRangeRequest.type, { textDocument: doc });
    assert.ok(folds.length === 1 && folds.every((f) => p.FoldingRange.is(f)));

    const tokens = await s.connection.sendRequest(p.SemanticTokensRequest.type, { textDocument: doc });
    assert.ok(p.SemanticTokens.is(tokens) && tokens.data.length % 5 === 0 && tokens.data.length > 0);

    const edits = await s.connection.sendRequest(p.DocumentFormattingRequest.type, {
      textDocument: doc,
      options: { tabSize: 2, insertSpaces: true },
    });
    assert.ok(edits.length === 1 && edits.every((e) => p.TextEdit.is(e)));

    const actions = await s.connection.sendRequest(p.CodeActionRequest.type, {
      textDocument: doc,
      range: list[0].range,
      context: { diagnostics: [list[0]] },
    });
    assert.ok(actions.length > 0 && actions.every((a) => p.CodeAction.is(a) && p.WorkspaceEdit.is(a.edit)));
    assert.equal(actions[0].title, 'Replace "Tets" by "Test"');

    const rename = await s.connection.sendRequest(p.RenameRequest.type, { ...at(2, 13), newName: "golang" });
    assert.ok(p.WorkspaceEdit.is(rename) && Object.keys(rename.changes).length === 2);
    await assert.rejects(s.connection.sendRequest(p.RenameRequest.type, { ...at(2, 13), newName: "with" }), /preposition/);

    s.connection.sendNotification(p.DidChangeTextDocumentNotification.type, {
      textDocument: { uri: doc.uri, version: 2 },
      contentChanges: [{ range: actions[0].edit.changes[doc.uri][0].range, text: "Test" }],
    });
    await s.diagnostics("a.dlct", (l) => l.length === 1 && l[0].code === "list-marker");
  });
});

test("a client that pulls is not pushed to", { timeout: 60_000 }, async () => {
  const pulls = { ...all, textDocument: { ...all.textDocument, diagnostic: { dynamicRegistration: false } } };
  await session(pulls, async (s) => {
    s.open("a.dlct", "Tets with go\n");
    const doc = { uri: s.uri("a.dlct") };
    const report = await s.connection.sendRequest(p.DocumentDiagnosticRequest.type, { textDocument: doc });
    assert.equal(report.kind, p.DocumentDiagnosticReportKind.Full);
    assert.ok(report.items.length === 1 && report.items.every((d) => p.Diagnostic.is(d)));
    const again = await s.connection.sendRequest(p.DocumentDiagnosticRequest.type, {
      textDocument: doc,
      previousResultId: report.resultId,
    });
    assert.equal(again.kind, p.DocumentDiagnosticReportKind.Unchanged);
  });
});
