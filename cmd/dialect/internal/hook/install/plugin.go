package install

import (
	"encoding/json"
	"fmt"
)

// marker begins the plugin, and says whose it is.
const marker = "// Written by `dialect hook install`; `dialect hook uninstall` removes it."

// plugin is that of opencode and Kilo, which have no hooks that are commands. Whatever goes wrong in it lets the agent go on as if it
// were not there, since a plugin that throws blocks the tool. The event session.idle is not awaited by `opencode run`, so that a stop
// is answered in the hook of a finished text: a new prompt that comes while that is awaited makes the loop go on.
func (c Client) plugin(program string, l Level) []byte {
	path, _ := json.Marshal(program) // a string
	user := ""
	if l == User {
		user = `, "--user"`
	}
	return fmt.Appendf(nil, `%s
// It asks dialect before a shell command whether it may run, and at the end of a text whether the agent may stop. dialect
// runs nothing of the project for that. A fault of any kind lets the agent go on as if this file were not here.
import { spawn } from "node:child_process"

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
  return {
    "chat.message": async (input, output) => {
      try {
        const text = (output?.parts ?? []).filter((p) => p.type === "text").map((p) => p.text).join("\n")
        await ask("chat.message", { session_id: input.sessionID, cwd: directory, prompt: text })
      } catch {}
    },
    "tool.execute.before": async (input, output) => {
      let answer
      try {
        answer = await ask("tool.execute.before", { session_id: input.sessionID, cwd: directory, tool_name: input.tool, tool_input: output?.args })
      } catch {}
      if (answer?.decision === "block" && answer.reason) throw new Error(answer.reason)
    },
    "experimental.text.complete": async (input, output) => {
      try {
        if (await isSub(input.sessionID)) return
        const answer = await ask("experimental.text.complete", { session_id: input.sessionID, cwd: directory, last_assistant_message: output?.text })
        if (answer?.decision === "block" && answer.reason) {
          await client.session.promptAsync({ path: { id: input.sessionID }, body: { parts: [{ type: "text", text: answer.reason }] } })
        }
      } catch {}
    },
  }
}
`, marker, path, c.Name, user)
}
