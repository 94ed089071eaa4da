package diagnose

import "testing"

// The outputs are those of the tools, with other hosts.
func TestUnfetched(t *testing.T) {
	for name, c := range map[string]struct{ output, line, command string }{
		"go, refused":           {"go: downloading rsc.io/quote v1.5.2\nq.go:3:8: rsc.io/quote@v1.5.2: Get \"http://127.0.0.1:9/rsc.io/quote/@v/v1.5.2.zip\": dial tcp 127.0.0.1:9: connect: connection refused\n", `q.go:3:8: rsc.io/quote@v1.5.2: Get "http://127.0.0.1:9/rsc.io/quote/@v/v1.5.2.zip": dial tcp 127.0.0.1:9: connect: connection refused`, "go mod download"},
		"go, off":               {"q.go:3:8: module lookup disabled by GOPROXY=off\n", "q.go:3:8: module lookup disabled by GOPROXY=off", "go mod download"},
		"go, off, as JSON":      {`{"ImportPath":"rsc.io/quote","Action":"build-output","Output":"q.go:3:8: module lookup disabled by GOPROXY=off\n"}` + "\n", "q.go:3:8: module lookup disabled by GOPROXY=off", "go mod download"},
		"go, direct":            {"q.go:3:8: unrecognized import path \"rsc.io/quote\": https fetch: Get \"https://rsc.io/quote?go-get=1\": dial tcp: lookup rsc.io: no such host\n", "q.go:3:8: unrecognized import path \"rsc.io/quote\": https fetch: Get \"https://rsc.io/quote?go-get=1\": dial tcp: lookup rsc.io: no such host", "go mod download"},
		"go, no folder":         {"q.go:3:8: rsc.io/quote@v1.5.2: reading file:///nonexist/rsc.io/quote/@v/v1.5.2.zip: no such file or directory\n", "q.go:3:8: rsc.io/quote@v1.5.2: reading file:///nonexist/rsc.io/quote/@v/v1.5.2.zip: no such file or directory", "go mod download"},
		"cargo, refused":        {"    Updating crates.io index\nerror: failed to get `itoa` as a dependency of package `r v0.1.0 (/r)`\n\nCaused by:\n  download of config.json failed\n\nCaused by:\n  failed to download from `https://example.com/config.json`\n\nCaused by:\n  [7] Could not connect to server\n", "failed to download from `https://example.com/config.json`", "cargo fetch"},
		"cargo, offline":        {"error: no matching package named `itoa` found\nlocation searched: crates.io index\nrequired by package `r v0.1.0 (/r)`\nAs a reminder, you're using offline mode (--offline) which can sometimes cause surprising resolution failures\n", "error: no matching package named `itoa` found", "cargo fetch"},
		"cargo, offline, lock":  {"error: failed to download `itoa v1.0.15`\n\nCaused by:\n  attempting to make an HTTP request, but --offline was specified\n", "error: failed to download `itoa v1.0.15`", "cargo fetch"},
		"npm, refused":          {"npm error code ECONNREFUSED\nnpm error errno ECONNREFUSED\nnpm error FetchError: request to http://127.0.0.1:9/x failed, reason: connect ECONNREFUSED 127.0.0.1:9\n", "npm error FetchError: request to http://127.0.0.1:9/x failed, reason: connect ECONNREFUSED 127.0.0.1:9", "npm ci"},
		"npm, no name":          {"npm error network request to http://example.com/x failed, reason: getaddrinfo ENOTFOUND example.com\n", "npm error network request to http://example.com/x failed, reason: getaddrinfo ENOTFOUND example.com", "npm ci"},
		"npm, offline":          {"npm error code ENOTCACHED\nnpm error request to https://example.com/x failed: cache mode is 'only-if-cached' but no cached response is available.\n", "npm error request to https://example.com/x failed: cache mode is 'only-if-cached' but no cached response is available.", "npm ci"},
		"pip":                   {"WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('[Errno 111] Connection refused')': /simple/x/\nERROR: Could not find a version that satisfies the requirement x (from versions: none)\n", "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('[Errno 111] Connection refused')': /simple/x/", ""},
		"git":                   {"fatal: unable to access 'https://example.com/x/': Could not resolve host: example.com\n", "fatal: unable to access 'https://example.com/x/': Could not resolve host: example.com", ""},
		"pip, no such version":  {"ERROR: Could not find a version that satisfies the requirement x==9 (from versions: 1)\nERROR: No matching distribution found for x==9\n", "", ""},
		"cargo, no such name":   {"error: no matching package named `itoaa` found\nlocation searched: crates.io index\n", "", ""},
		"a test without server": {"--- FAIL: TestA (0.00s)\n    a_test.go:3: Get \"http://127.0.0.1:8080/\": dial tcp 127.0.0.1:8080: connect: connection refused\nFAIL\n", "", ""},
		"a test of node":        {"Error: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap\n", "", ""},
		"a test of Python":      {"E   requests.exceptions.ConnectionError: Failed to resolve 'example.com' ([Errno -3] Temporary failure in name resolution)\n", "", ""},
		"nothing":               {"", "", ""},
	} {
		if line, command := Unfetched([]byte(c.output)); line != c.line || command != c.command {
			t.Errorf("%s: got %q, %q, want %q, %q", name, line, command, c.line, c.command)
		}
	}
}
