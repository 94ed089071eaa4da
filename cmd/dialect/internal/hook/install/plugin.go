package install

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// marker begins the plugin, and says whose it is.
const marker = "// Written by `dialect hook install`; `dialect hook uninstall` removes it."

//go:embed plugin.js
var pluginText string // with places for the marker, the program, the client's name and a flag

// plugin is that of opencode and Kilo, which have no hooks that are commands. Whatever goes wrong in it lets the agent go on as if it
// were not there, since a plugin that throws blocks the tool. The event session.idle is not awaited by `opencode run`, so that a stop
// is answered in the hook of a finished text: a new prompt that comes while that is awaited makes the loop go on.
func (c Client) plugin(program string, l Level) []byte {
	path, _ := json.Marshal(program) // a string
	user := ""
	if l == User {
		user = `, "--user"`
	}
	return fmt.Appendf(nil, pluginText, marker, path, c.Name, user)
}
