package redact

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"html"
	"io"
	"slices"
	"strconv"
)

// A Syntax separates the text of a document from its markup. Secrets are replaced in the text only: replacing a digit or a
// common word in the markup would make the document unreadable.
type Syntax func(doc []byte, hide func(text string) string) []byte

// Text is the syntax of a text of no markup: all of it is words.
func Text(doc []byte, hide func(string) string) []byte { return []byte(hide(string(doc))) }

// JSON is the syntax of JSON documents, as package encoding/json writes them. The values of the keys own are the document's own.
func JSON(own ...string) Syntax {
	return func(doc []byte, hide func(string) string) []byte {
		var out []byte
		var key string
		last := 0 // what lies before it is in out
		for at := 0; at < len(doc); at++ {
			switch doc[at] {
			case ',', '{', '}', ']':
				key = ""
				continue
			case '"':
			default:
				continue
			}
			from := at
			for at++; at < len(doc) && doc[at] != '"'; at++ {
				if doc[at] == '\\' {
					at++
				}
			}
			var text string
			if at >= len(doc) || json.Unmarshal(doc[from:at+1], &text) != nil { // not JSON
				return append(out, hide(string(doc[last:]))...)
			}
			if at+1 < len(doc) && doc[at+1] == ':' {
				key = text
				continue
			}
			if public := hide(text); public != text && !slices.Contains(own, key) {
				quoted, _ := json.Marshal(public) // a string has no error
				out = append(append(out, doc[last:from]...), quoted...)
				last = at + 1
			}
		}
		return append(out, doc[last:]...)
	}
}

// Markup is the syntax of XML and HTML, as packages encoding/xml and html write them: elements with their attributes in double quotes,
// and the text between them. Attributes whose names are in own, and style sheets, are the document's own; so is what holds a number alone.
func Markup(own ...string) Syntax {
	return func(doc []byte, hide func(string) string) []byte {
		var out []byte
		words := func(raw []byte) {
			text := html.UnescapeString(string(raw))
			public := hide(text)
			if public == text {
				out = append(out, raw...)
				return
			}
			var b bytes.Buffer
			_ = xml.EscapeText(&b, []byte(public)) // a Buffer has no error
			out = append(out, b.Bytes()...)
		}
		for rest := doc; len(rest) > 0; {
			n := bytes.IndexByte(rest, '<')
			if n < 0 {
				n = len(rest)
			}
			words(rest[:n])
			rest = rest[n:]
			end := tagEnd(rest)
			if tag := rest[:end]; bytes.HasPrefix(tag, []byte("<?")) || bytes.HasPrefix(tag, []byte("<!")) || bytes.HasPrefix(tag, []byte("<meta ")) {
				out = append(out, tag...)
			} else {
				attributes(tag, func(name string, raw []byte) {
					if _, err := strconv.ParseFloat(string(raw), 64); name == "" || err == nil || slices.Contains(own, name) {
						out = append(out, raw...)
					} else {
						words(raw)
					}
				})
				if bytes.HasPrefix(tag, []byte("<style")) {
					if n := bytes.Index(rest, []byte("</style")); n > 0 {
						out = append(out, rest[end:n]...)
						end = n
					}
				}
			}
			rest = rest[end:]
		}
		return out
	}
}

// tagEnd returns the length of the tag that s begins with; that of s if the tag has no end.
func tagEnd(s []byte) int {
	quoted := false
	for i, c := range s {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '>' && !quoted:
			return i + 1
		}
	}
	return len(s)
}

// attributes calls part with each value of an attribute in a tag, and with what lies between them, which has no name.
func attributes(tag []byte, part func(name string, raw []byte)) {
	for {
		n := bytes.Index(tag, []byte(`="`))
		if n < 0 {
			part("", tag)
			return
		}
		name := tag[bytes.LastIndexAny(tag[:n], " \n\t")+1 : n]
		part("", tag[:n+2])
		tag = tag[n+2:]
		n = bytes.IndexByte(tag, '"')
		if n < 0 {
			n = len(tag)
		}
		part(string(name), tag[:n])
		tag = tag[n:]
	}
}

// Document returns a document of that syntax without its secrets.
func (r *Redactor) Document(doc []byte, s Syntax) []byte {
	if r == nil || len(doc) == 0 {
		return doc
	}
	if public := r.Bytes(doc); len(public) == len(doc) && &public[0] == &doc[0] {
		return doc // as nearly always
	}
	return s(doc, r.Text)
}

// Through writes what write writes, a document of that syntax, to w, without its secrets; nothing if write fails.
func (r *Redactor) Through(w io.Writer, s Syntax, write func(w io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	_, err := w.Write(r.Document(b.Bytes(), s))
	return err
}
