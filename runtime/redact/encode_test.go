package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// hard has each character that some writing escapes.
const hard = "p@ss w0rd/\"quo'te\"\\back&<é☃𝄞>\t+%=$`~?end"

// An encoder is a way to write a text down.
type encoder struct {
	name string
	do   func(s string) string
}

func encoders(t testing.TB) []encoder {
	list := []encoder{
		{"plain", func(s string) string { return s }},
		{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
		{"HEX", func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }},
		{"query", url.QueryEscape},
		{"path", url.PathEscape},
		{"query in lower case", func(s string) string { return strings.ToLower(url.QueryEscape(s)) }},
		{"every byte escaped for a URL", func(s string) string {
			var b strings.Builder
			for _, c := range []byte(s) {
				fmt.Fprintf(&b, "%%%02x", c)
			}
			return b.String()
		}},
		{"JSON with HTML escaped", jsonText(true)},
		{"JSON", jsonText(false)},
		{"JSON in JSON", func(s string) string { return jsonText(true)(jsonText(true)(s)) }},
		{"JSON in ASCII", func(s string) string {
			return strings.NewReplacer(`\U0001d11e`, `\ud834\udd1e`).Replace(strings.Trim(strconv.QuoteToASCII(s), `"`))
		}},
		{"JSON of PHP", func(s string) string { return strings.ReplaceAll(jsonText(false)(s), "/", `\/`) }},
		{"HTML", html.EscapeString},
		{"HTML in hexadecimal", func(s string) string {
			return strings.NewReplacer("&", "&amp;", "'", "&#x27;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "é", "&#xE9;").Replace(s)
		}},
		{"Go", func(s string) string { return strings.Trim(strconv.Quote(s), `"`) }},
		{"Go in ASCII", func(s string) string { return strings.Trim(strconv.QuoteToASCII(s), `"`) }},
		{"quoted for a shell", func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) }},
		{"quoted by Python's shlex", func(s string) string { return strings.ReplaceAll(s, "'", `'"'"'`) }},
		{"in double quotes", func(s string) string {
			return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s)
		}},
		{"backslashes by number in JSON", func(s string) string { return strings.ReplaceAll(s, `\`, `\u005c`) }},
		{"backslashes by number in JSON in JSON", func(s string) string { return strings.ReplaceAll(s, `\`, `\\u005C`) }},
		{"backslashes by number in C", func(s string) string { return strings.ReplaceAll(s, `\`, `\x5c`) }},
		{"backslashes by number in octal", func(s string) string { return strings.ReplaceAll(s, `\`, `\134`) }},
		{"every byte by number", func(s string) string {
			var b strings.Builder
			for _, c := range []byte(s) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
			return b.String()
		}},
		{"in colours", func(s string) string { return strings.Join(strings.Split(s, ""), "\x1b[31;1m") }},
		{"reset by tput", func(s string) string { return strings.Join(strings.Split(s, ""), "\x1b(B\x1b[m") }},
		{"a character set of several bytes", func(s string) string { return s[:1] + "\x1b$(B\x1b%G\x1b\x1b[m" + s[1:] }},
		{"a title in its midst", func(s string) string { return s[:1] + "\x1b]0;title\a" + s[1:] }},
		{"a title and NUL at its end", func(s string) string { return s[:len(s)-1] + "\x1b]0;title\x1b\\\x00" + s[len(s)-1:] }},
		{"backspaces", func(s string) string { return strings.Join(strings.Split(s, ""), "\b\x7f") }},
		{"base64 in a URL", func(s string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s))) }},
	}
	for name, e := range map[string]*base64.Encoding{"std": base64.StdEncoding, "raw": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding} {
		for _, before := range []string{"", "u", "u:", "usr"} {
			for _, after := range []string{"", "@", "@h", "@h/"} {
				list = append(list, encoder{fmt.Sprintf("base64 %s %q %q", name, before, after), func(s string) string { return e.EncodeToString([]byte(before + s + after)) }})
			}
		}
	}
	// The real ones, where they are.
	for _, real := range []struct{ name, program, script string }{
		{"repr of Python", "python3", "import sys; print(repr(sys.argv[1])[1:-1], end='')"},
		{"repr of bytes of Python", "python3", "import sys; print(repr(sys.argv[1].encode())[2:-1], end='')"},
		{"ascii of Python", "python3", "import sys; print(ascii(sys.argv[1])[1:-1], end='')"},
		{"json of Python", "python3", "import sys, json; print(json.dumps(sys.argv[1])[1:-1], end='')"},
		{"quote of Python", "python3", "import sys, urllib.parse; print(urllib.parse.quote(sys.argv[1]), end='')"},
		{"encodeURIComponent of node", "node", "process.stdout.write(encodeURIComponent(process.argv[1]))"},
		{"printf %q of bash", "bash", `LC_ALL=C.UTF-8; printf %q "$0"`},
		{"@Q of bash", "bash", `q=$0; printf %s "${q@Q}"`},
	} {
		if _, err := exec.LookPath(real.program); err != nil {
			t.Logf("%s: %v", real.name, err)
			continue
		}
		flag := map[string]string{"node": "-e"}[real.program]
		if flag == "" {
			flag = "-c"
		}
		list = append(list, encoder{real.name, func(s string) string {
			out, err := exec.Command(real.program, flag, real.script, s).Output()
			if err != nil {
				t.Fatalf("%s: %v", real.name, err)
			}
			return string(out)
		}})
	}
	return list
}

func jsonText(escape bool) func(string) string {
	return func(s string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escape)
		_ = e.Encode(s) // a string
		text := strings.TrimSpace(b.String())
		return text[1 : len(text)-1]
	}
}

// A secret goes in each of its writings, whole and over the borders of what is written at
// once, with the mark that it has everywhere.
func TestWritings(t *testing.T) {
	for _, secret := range []string{hard, "correct-horse-battery", "hunter2!", strings.Repeat("0123456789abcdef", 16)} {
		r := New(Options{Environ: []string{"X_TOKEN=" + secret}, Key: []byte("k")})
		mark := r.Text(secret)
		if !strings.HasPrefix(mark, markBegin) || strings.Count(mark, "[") != 1 {
			t.Fatalf("%q: %q", secret, mark)
		}
		for _, e := range encoders(t) {
			text := e.do(secret)
			got := r.Text("begin " + text + " end")
			if !strings.Contains(got, mark) {
				t.Errorf("%q, %s: %q is %q", secret, e.name, text, got)
				continue
			}
			// At most some bits of the ends of base64 stay.
			for i := 0; i+6 <= len(text); i++ {
				if piece := text[i : i+6]; strings.Contains(got, piece) && !strings.Contains(piece, "=") && !strings.Contains(piece, "%3D") && !strings.HasPrefix(e.name, "@Q") {
					t.Errorf("%q, %s: %q of %q stays in %q", secret, e.name, piece, text, got)
					break
				}
			}
			long := []byte(strings.Repeat("a line of output\n", 5000) + text + strings.Repeat("\nmore", 40000) + text)
			want := r.Bytes(long)
			for _, chunk := range []int{1 << 16, 4093, 7} {
				if chunk == 7 && e.name != "JSON" && e.name != "query" {
					continue
				}
				if got := stream(t, r, long, chunk); !bytes.Equal(got, want) {
					t.Errorf("%q, %s: in chunks of %d the result is another", secret, e.name, chunk)
				}
			}
		}
	}
}

// TestShellQuotes has secrets with each byte, at their beginning and in their midst, as bash quotes them.
func TestShellQuotes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	for c := 1; c < 256; c++ {
		secret := string([]byte{byte(c)}) + "Sup3rS3cret" + string([]byte{byte(c)}) + "Passw0rd77"
		r := New(Options{Environ: []string{"X_TOKEN=" + secret}, Key: []byte("k")})
		cmd := exec.Command(bash, "-c", `printf '%q %s\n' "$0" "${0@Q}"; env printf '%q\n' "$0"`, secret)
		cmd.Env = []string{"LC_ALL=C"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Text(string(out)); strings.Contains(got, "S3cret") || strings.Contains(got, "ssw0rd") {
			t.Errorf("%q: %q is %q", secret, out, got)
		}
	}
}

// What only resembles a secret stays.
func TestWritingsStay(t *testing.T) {
	r := New(Options{Environ: []string{"X_TOKEN=correct-horse-battery"}, Declared: []string{"s3", "ab\ncd"}, Key: []byte("k")})
	for _, text := range []string{
		"correct-horse-batter", "correct%2Dhorse%2Dbatter", `correct\-horse\-batter`, "&#99;&#1;", "%63%6f%72", `\u0063orrec`, `\u0063`, "%", `\`, "&", "&#", "&#;", "%6", `\x6`,
		base64.StdEncoding.EncodeToString([]byte("correct-horse"))[:12], "czM=", "YWIKY2Q=", "a line\\nof text %20 with &amp; escapes \\u0041",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// FuzzWritings: no text makes the search read beyond its end, or hangs it, and a stream is as
// good as the whole.
func FuzzWritings(f *testing.F) {
	for _, e := range encoders(f) {
		f.Add([]byte("x"+e.do(hard)+"y"), 5)
	}
	r := New(Options{Environ: []string{"X_TOKEN=" + hard}, Declared: []string{"s3", "\\", "%", "\xff\xfe\\x"}, Key: []byte("k")})
	f.Fuzz(func(t *testing.T, text []byte, chunk int) {
		want := r.Bytes(text)
		if got := stream(t, r, text, max(chunk&0xffff, 1)); !bytes.Equal(got, want) {
			t.Errorf("%q as a stream is %q, whole %q", text, got, want)
		}
		if bytes.Contains(want, []byte(hard)) {
			t.Errorf("%q holds the secret", want)
		}
	})
}

// Much of a text is escapes: each costs a look at all secrets.
func BenchmarkEscapes(b *testing.B) {
	o := Options{Key: []byte("k")}
	for i := range 10 {
		o.Environ = append(o.Environ, fmt.Sprintf("X%d_TOKEN=%c-secret-of-this-kind-%d", i, 'a'+i, i))
	}
	r := New(o)
	text := []byte(strings.Repeat(`{"text":"a\nb\t\u0041 %20%41 &amp; \"x\"","url":"https:\/\/example.com\/?q=%41%42"}`+"\n", 4000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Bytes(text)
	}
}

// TestBetweenEvents splits a secret over events of go test -json: who prints the events as text has it whole. What is left are events.
func TestBetweenEvents(t *testing.T) {
	r := redactor()
	const head = `{"Time":"2026-11-22T14:16:13.000000001Z","Action":"output","Package":"p","Test":"TestX","Output":"`
	for name, between := range map[string]string{
		"two events":           "\"}\n" + head,
		"lines that end in CR": "\"}\r\n" + head,
		"an event without":     "\"}\n{\"Action\":\"pause\",\"Package\":\"p\",\"Test\":\"TestX\"}\n" + head,
		"a field after it":     "\",\"OutputType\":\"frame\"}\n" + head,
	} {
		text := head + "left correct-ho" + between + "rse-battery right\\n\"}\n"
		got := r.Text(text)
		if rest, ok := strings.CutPrefix(got, head+"left [redacted:"); !ok || !strings.HasSuffix(rest, "] right\\n\"}\n") || strings.Contains(got, "battery") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, text := range map[string]string{
		"another text":    head + "correct-ho\"}\nrse-battery\n",
		"no event":        head + "correct-ho\"}\nx " + head + "rse-battery\"}\n",
		"far away":        head + "correct-ho\"}\n{\"Action\":\"" + strings.Repeat("x", maxBetween) + "\",\"Output\":\"rse-battery\"}\n",
		"not at the end":  head + "correct-ho\" rse-battery\"}\n",
		"text that ends":  head + "correct-ho\"}\n",
		"that is cut off": head + "correct-ho\"}\n" + head[:20],
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestBackslashesBeforeDigits: backslashes before what looks like the number of one are those of the secret.
func TestBackslashesBeforeDigits(t *testing.T) {
	for _, secret := range []string{`k0cZ//n\\134%9Z~q`, `k0cZ\134%9Z~q`, `correct\\x5chorse`, `correct\\u005chorse`, `correct\\\134horse`} {
		r := New(Options{Environ: []string{"X_TOKEN=" + secret}, Key: []byte("k")})
		mark := r.Text(secret)
		for name, text := range map[string]string{"itself": secret, "Go": strconv.Quote(secret), "JSON": jsonText(true)(secret), "JSON in JSON": jsonText(true)(jsonText(true)(secret))} {
			if got := r.Text("begin " + text + " end"); !strings.Contains(got, mark) {
				t.Errorf("%q, %s: %q is %q", secret, name, text, got)
			}
		}
	}
}

// TestOwnEscapes: a secret that holds what looks like an escape is found in each of its writings, also in just that escape.
func TestOwnEscapes(t *testing.T) {
	replace := func(from, to string) func(string) string {
		return func(s string) string { return strings.ReplaceAll(s, from, to) }
	}
	jsonGo, jsonRaw := jsonText(true), jsonText(false)
	forms := []encoder{
		{"itself", func(s string) string { return s }},
		{"octal", replace(`\`, `\134`)}, {"hexadecimal", replace(`\`, `\x5c`)}, {"Unicode", replace(`\`, `\u005c`)}, {"eight digits", replace(`\`, `\U0000005c`)},
		{"octal, in JSON", func(s string) string { return jsonRaw(replace(`\`, `\134`)(s)) }},
		{"JSON with Unicode", func(s string) string { return strings.ReplaceAll(jsonRaw(s), `\\`, `\u005c`) }},
		{"Go", func(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] }},
		{"JSON", jsonRaw}, {"JSON of Go", jsonGo}, {"JSON in JSON", func(s string) string { return jsonGo(jsonGo(s)) }},
		{"ASCII in JSON", func(s string) string { q := strconv.QuoteToASCII(s); return jsonRaw(q[1 : len(q)-1]) }},
		{"JSON of Go in JSON", func(s string) string { return jsonRaw(jsonGo(s)) }}, {"JSON in JSON of Go", func(s string) string { return jsonGo(jsonRaw(s)) }},
		{"JSON in JSON in JSON", func(s string) string { return jsonRaw(jsonRaw(jsonGo(s))) }}, {"HTML", html.EscapeString}, {"URL", url.QueryEscape}, {"path", url.PathEscape},
		{"HTML in JSON", func(s string) string { return jsonRaw(html.EscapeString(s)) }},
		{"HTML in JSON of Go", func(s string) string { return jsonGo(html.EscapeString(s)) }},
		{"JSON in HTML", func(s string) string { return html.EscapeString(jsonRaw(s)) }},
		{"JSON of Go in HTML", func(s string) string { return html.EscapeString(jsonGo(s)) }},
		{"JSON in JSON in HTML", func(s string) string { return html.EscapeString(jsonRaw(jsonRaw(s))) }},
		{"JSON in HTML by number", func(s string) string { return strings.ReplaceAll(jsonRaw(s), `"`, "&#x22;") }},
	}
	for _, secret := range []string{
		`k0cZ\134%9Z~q`, `k0cZ\\134%9Z~q`, `correct\x5chorse`, `correct\u005chorse`, `correct\u005Chorse`, `\134correct\134134horse`, `a"b\u005c\x5c\134horse`, `back\slash\\134\n"q`,
		`k%25Zq"correct`, `k%25Zq\134"correct`, `corr&amp;ect"horse`, `corr&#38;ect\"horse`, `corr&amp;e%25ct"\x5chorse`, `"correct"&'horse'"`, `'correct'\''horse"`,
		`correct\<horse\\>"q`, `correct\é"horse\\éq`, `kn&u005c5c\u005c134u005cu005cq7`, `kx5c\x5c\134\134u005c<é"q7`,
	} {
		r := New(Options{Environ: []string{"X_TOKEN=" + secret}, Key: []byte("k")})
		mark := r.Text(secret)
		for _, f := range forms {
			text := f.do(secret)
			if got, want := r.Text("begin "+text+" end"), "begin "+mark+" end"; got != want {
				t.Errorf("%q, %s: %q is %q", secret, f.name, text, got)
			}
		}
	}
}
