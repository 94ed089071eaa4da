package diagnose

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/command-dialect/dialect/lang/diag"
)

// unfetched has, of each tool, what it prints where it cannot fetch a package, and the command that fetches them all, empty where none does. Each
// pattern begins in the line that names the cause. They are of words around the cause: `dial tcp` alone is also that of a test without its server.
var unfetched = sync.OnceValue(func() (list []struct {
	said    *regexp.Regexp
	command string
}) {
	for _, x := range [][2]string{
		{`module lookup disabled by GOPROXY=off`, "go mod download"},
		{`(?:Get|Head) "https?://[^"]*(?:/@v/|/@latest|/lookup/|/tile/|\?go-get=1)[^"]*": `, "go mod download"},
		{`reading \w+://\S+/@(?:v/|latest)\S*: (?:403|407|429|5\d\d|no such file)`, "go mod download"},
		{`failed to (?:download|fetch) (?:from |replaced source registry )?` + "`", "cargo fetch"},
		{`[Uu]nable to update registry ` + "`", "cargo fetch"},
		{`attempting to make an HTTP request, but --offline was specified`, "cargo fetch"},
		{`error: no matching package named .*(?:\n.*){1,8}\n(?:As a reminder, you're using offline mode)`, "cargo fetch"},
		{`npm (?:ERR!|error) (?:network |FetchError: )?request to \S+ failed`, "npm ci"},
		{`ERR_PNPM_(?:META_FETCH_FAIL|FETCH_\d|NO_OFFLINE_)`, "pnpm install"},
		{`There appears to be trouble with your network connection`, "yarn install"},
		{`ConnectionRefused downloading package manifest`, "bun install"},
		{`registry signature could not be verified`, ""},
		{`Error when performing the request to https?://`, ""}, // of corepack, for the package manager itself
		{`WARNING: Retrying \(Retry\(.* after connection broken by (?s:.*?)(?:Could not find a version that satisfies|No matching distribution found)`, ""},
		{`Failed to (?:download|fetch):? ` + "`", "uv sync"},
		{`Could not fetch specs from https?://|Could not reach host .* Check your network connection`, "bundle install"},
		{`Could not transfer artifact \S+ from/to .*(?:[Uu]nknown host|refused|timed out|[Nn]ame or service not known)|in offline mode and the artifact `, "mvn dependency:go-offline"},
		{`No cached version of \S+ available for offline mode`, ""},
		{`(?:curl: \(6\) |fatal: unable to access '[^']*': ).*Could(?: not|n't) resolve host`, ""},
	} {
		list = append(list, struct {
			said    *regexp.Regexp
			command string
		}{regexp.MustCompile(x[0]), x[1]})
	}
	return list
})

// Unfetched returns the first line of an output in which a tool says that it cannot fetch a package, empty if none does, and the command that
// fetches all packages, as far as that is known. It is a claim as all of an output: it says what to try, and excuses no failure.
func Unfetched(output []byte) (line, command string) {
	output = Readable(output)
	first := len(output)
	for _, x := range unfetched() {
		if at := x.said.FindIndex(output); at != nil && at[0] < first {
			first, command = at[0], x.command
		}
	}
	if first == len(output) {
		return "", ""
	}
	from := bytes.LastIndexByte(output[:first], '\n') + 1
	text, _, _ := strings.Cut(string(output[from:]), "\n")
	return diag.ClipBytes(strings.ToValidUTF8(strings.TrimSpace(text), "\ufffd"), maxMessage), command
}
