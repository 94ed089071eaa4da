%s
// It asks dialect before a shell command whether it may run, and at the end of a text whether the agent may stop. A fault of any
// kind lets the agent go on as if this file were not here.
import { spawn } from "node:child_process"
import { writeSync } from "node:fs"

const program = %s

function ask(event, payload) {
  return new Promise((resolve) => {
    let child, out = ""
    const timer = setTimeout(() => { child?.kill("SIGKILL"); resolve(null) }, 60000)
    const end = (answer) => { clearTimeout(timer); resolve(answer) }
    try {
      child = spawn(program, ["hook", "%s", event%s], { cwd: payload.cwd, stdio: ["pipe", "pipe", "ignore"] })
      child.on("error", () => end(null))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => { out += part })
      child.on("close", (status) => {
        try { end(status === 0 && out ? JSON.parse(out) : null) } catch { end(null) }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch { end(null) }
  })
}

// In a linked worktree Kilo loads this file of both worktrees: what one of them was asked, the other one leaves.
const seen = (globalThis[Symbol.for("dialect.hook")] ??= new Set())
function once(event, ...ids) {
  const key = [event, ...ids].join(" ")
  if (ids.some((id) => !id)) return true
  if (seen.has(key)) return false
  if (seen.size > 1000) seen.clear()
  seen.add(key)
  return true
}

export const Dialect = async ({ client, directory }) => {
  const sub = new Map() // whether a session is that of a sub-agent
  const isSub = async (id) => {
    if (!sub.has(id)) {
      let parent
      try { parent = (await client.session.get({ path: { id } }))?.data?.parentID } catch {}
      sub.set(id, Boolean(parent))
    }
    return sub.get(id)
  }
  // What the person is to know: shown where there is a screen, and in the client's log. The command "run" has no screen, and can end before
  // its log is written.
  const tell = async (message) => {
    try { if (process.argv.includes("run")) writeSync(2, `dialect: ${message}\n`) } catch {}
    try { await client.app.log({ body: { service: "dialect", level: "warn", message } }) } catch {}
    try { await client.tui.showToast({ body: { title: "dialect", message, variant: "warning", duration: 15000 } }) } catch {}
  }
  return {
    "chat.message": async (input, output) => {
      try {
        const text = (output?.parts ?? []).filter((p) => p.type === "text").map((p) => p.text).join("\n")
        await ask("chat.message", { session_id: input.sessionID, cwd: directory, prompt: text })
      } catch {}
    },
    "tool.execute.before": async (input, output) => {
      let answer
      if (!once("tool", input.sessionID, input.callID)) return
      try {
        answer = await ask("tool.execute.before", { session_id: input.sessionID, cwd: directory, tool_name: input.tool, tool_input: output?.args })
      } catch {}
      if (answer?.decision === "block" && answer.reason) throw new Error(answer.reason)
    },
    "experimental.text.complete": async (input, output) => {
      try {
        if (!once("text", input.sessionID, input.messageID, input.partID) || (await isSub(input.sessionID))) return
        const answer = await ask("experimental.text.complete", { session_id: input.sessionID, cwd: directory, last_assistant_message: output?.text })
        if (answer?.systemMessage) await tell(answer.systemMessage)
        if (answer?.decision === "block" && answer.reason) {
          await client.session.promptAsync({ path: { id: input.sessionID }, body: { parts: [{ type: "text", text: answer.reason }] } })
        }
      } catch {}
    },
  }
}
