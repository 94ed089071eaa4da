// Package mcpclient calls tools of servers of the Model Context Protocol, by way of a helper.
//
// The SDK of the protocol costs every program that links it a good part of its start. So the
// servers are driven by a program of its own, dialect-mcp, that lies beside dialect and is
// started on the first call of a run; it links package broker, and this package speaks JSON-RPC
// with it over pipes. Whatever goes wrong, there or here, is an [Error] with a reason of its own.
// A helper that hangs or dies fails the calls that are under way, and the next call gets a new
// one. The package knows no verdicts and no receipts.
package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/command-dialect/dialect/lang/plan"
)

// Bounds, where a call names none.
const (
	StartTimeout     = 60 * time.Second // npx may have to look a package up
	DefaultMaxOutput = 16 << 20         // bytes that a server may write for one call
)

// A Reason says why a call has no result. The words are those of the line-fault contract.
type Reason string

// The reasons.
const (
	NotConfigured Reason = "not_configured" // no such server, a disabled one, a variable without a value
	EnvMissing    Reason = "env_missing"    // its program is not there
	StartFailed   Reason = "start_failed"   // it was started and did not answer the handshake
	UnknownTool   Reason = "unknown_tool"
	BadArguments  Reason = "bad_arguments" // not what the tool's schema wants
	Timeout       Reason = "timeout"
	Stall         Reason = "stall"
	OutputLimit   Reason = "output_limit"
	Died          Reason = "died"     // during the call
	Refused       Reason = "refused"  // the tool was called, and the answer is an error of JSON-RPC: its "no"
	Protocol      Reason = "protocol" // what it said is not of the protocol, or it does not know the call
	Interrupted   Reason = "interrupted"
)

var reasons = []Reason{NotConfigured, EnvMissing, StartFailed, UnknownTool, BadArguments, Timeout, Stall, OutputLimit, Died, Refused, Protocol, Interrupted}

// An Error says why a call has no result. Message and Stderr are as they were made, with what a server said and what it was given in them:
// who shows them takes the secrets out of them first, see [Error.Public].
type Error struct {
	Reason  Reason
	Message string
	Stderr  string // the last of what the server wrote there; empty if nothing

	Cut bool `json:",omitempty"` // the end of Message was lost

	// Begun says that Stderr begins where the server began to write, Whole that it ends where the server, which ended by itself, ended it. Where either is
	// false, a secret may have been cut.
	Begun, Whole bool
}

func (e *Error) Error() string { return e.Message }

// MaxError bounds the message of an [Error] on its way from the helper, in bytes: it is far more than a secret can have. Of that
// maxShown are shown.
const (
	MaxError = 1 << 20
	maxShown = 4 << 10
)

// Bound cuts a message that is larger than MaxError.
func (e *Error) Bound() {
	if len(e.Message) > MaxError {
		e.Message, e.Cut = e.Message[:MaxError], true
	}
}

// Public returns the message as it may be shown. clean takes the secrets out of a text, which may have lost its beginning or its end, as
// Part of a redactor does; then the middle of a long message is left out.
func (e *Error) Public(clean func(text []byte, beginning, end bool) []byte) string {
	text := string(clean([]byte(e.Message), false, e.Cut))
	if e.Cut {
		text += "..."
	}
	if len(text) > maxShown {
		text = text[:maxShown/2] + "..." + text[len(text)-maxShown/2:]
	}
	return strings.ToValidUTF8(text, "")
}

// Errorf makes an error.
func Errorf(r Reason, format string, args ...any) *Error {
	return &Error{Reason: r, Message: fmt.Sprintf(format, args...)}
}

// Options are what the servers of a pool have in common.
type Options struct {
	Servers map[string]plan.Server
	Dir     string   // they run in, and relative programs are looked up in
	Environ []string `json:"-"` // that they start from, and ${VAR} is looked up in
	Version string   // of dialect, for the handshake
	Helper  []string `json:"-"` // the command that serves; see [Pool]

	// Grace is what the helper gets beyond the time of a call, to end a call that was cancelled, and to end all servers; zero for five
	// seconds. A helper that takes longer, or does not answer a ping, hangs.
	Grace time.Duration `json:"-"`
}

// A Value is an argument, by name or, as the only one, without.
type Value struct{ Name, Text string }

// A Call is one use of a tool.
type Call struct {
	Target    string  // "server:tool"; "-" and "_" are the same in both
	Arguments string  // a JSON object; empty to make it of Values
	Values    []Value // texts, which become what the schema of the tool wants

	Timeout, Stall time.Duration // zero for none
	MaxOutput      int64         // bytes; zero for DefaultMaxOutput

	// Progress gets each text that the server tells meanwhile, as the server wrote it, and whether its end was cut off; nil for nobody.
	Progress func(text string, cut bool) `json:"-"`
}

// A Result is what a tool answered. All but Request and Program is read from Response.
type Result struct {
	Request, Response []byte // canonical, see package broker
	Program           string // of the server, as configured; empty for one behind a URL

	IsError    bool            `json:"-"`
	Text       string          `json:"-"` // of its text contents, for people
	Structured json.RawMessage `json:"-"` // its structured content; nil if it has none
}

// NewResult reads a response.
func NewResult(request, response []byte, program string) (*Result, error) {
	var a struct {
		IsError           bool
		StructuredContent json.RawMessage
		Content           []struct {
			Type, Text, MIMEType, URI string
			Data                      []byte
			Resource                  struct{ Text, URI string }
		}
	}
	if err := json.Unmarshal(response, &a); err != nil {
		return nil, err
	}
	var parts []string
	for _, c := range a.Content {
		switch c.Type {
		case "text":
			parts = append(parts, c.Text)
		case "image":
			parts = append(parts, fmt.Sprintf("[an image, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case "audio":
			parts = append(parts, fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case "resource_link":
			parts = append(parts, "[a link: "+c.URI+"]")
		case "resource":
			if c.Resource.Text == "" {
				c.Resource.Text = "[a resource: " + c.Resource.URI + "]"
			}
			parts = append(parts, c.Resource.Text)
		}
	}
	r := &Result{Request: request, Response: response, Program: program, IsError: a.IsError, Text: strings.Join(parts, "\n")}
	if string(a.StructuredContent) != "null" {
		r.Structured = a.StructuredContent
	}
	return r, nil
}
