package shell

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fed returns the text that a redirection puts into the standard input; nil for none.
func fed(r *syntax.Redirect) *syntax.Word {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return r.Hdoc
	case syntax.WordHdoc:
		return r.Word
	}
	return nil
}

// feeds returns what a redirection puts into the standard input, as far as it is known.
func (in *Intent) feeds(r *syntax.Redirect, st *state) string {
	if w := fed(r); w != nil {
		return in.literal(w, st).text
	}
	if r.Op == syntax.RdrIn && r.Word != nil {
		return in.file(in.literal(r.Word, st), st)
	}
	return ""
}

// printed returns what echo, printf or cat with a text of its own print, as far as it is known.
func (in *Intent) printed(st *state, list ...*syntax.Stmt) string {
	var b strings.Builder
	for i, s := range list {
		if !in.spend(16) {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		switch c := s.Cmd.(type) {
		case *syntax.Block:
			b.WriteString(in.printed(st, c.Stmts...))
		case *syntax.Subshell:
			b.WriteString(in.printed(st, c.Stmts...))
		case *syntax.BinaryCmd:
			y, ok := c.Y.Cmd.(*syntax.CallExpr)
			switch {
			case c.Op != syntax.Pipe && c.Op != syntax.PipeAll:
				b.WriteString(in.printed(st, c.X, c.Y))
			case ok && len(y.Args) > 0 && slices.Contains([]string{"cat", "tee"}, in.literal(y.Args[0], st).text):
				b.WriteString(in.printed(st, c.X))
			case ok && len(y.Args) == 2 && in.literal(y.Args[0], st).text == "base64":
				text, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(in.printed(st, c.X)))
				b.Write(text)
			default:
				b.WriteString(in.printed(st, c.Y))
			}
		case *syntax.CallExpr:
			b.WriteString(in.printedBy(c, s.Redirs, st))
		}
	}
	in.spend(b.Len())
	return b.String()
}

func (in *Intent) printedBy(c *syntax.CallExpr, redirs []*syntax.Redirect, st *state) string {
	args := in.fields(c.Args, st)
	if len(args) == 0 {
		return ""
	}
	switch list := texts(args[1:]); args[0].text {
	case "echo", "printf":
		for len(list) > 0 && strings.HasPrefix(list[0], "-") {
			list = list[1:]
		}
		for i := range list {
			list[i] = escaped(list[i])
		}
		if args[0].text == "printf" && len(list) > 0 {
			return format(list[0], list[1:])
		}
		return strings.Join(list, " ")
	case "cat":
		for _, r := range redirs {
			if text := in.feeds(r, st); text != "" {
				return text
			}
		}
		if len(args) > 1 {
			return in.file(args[1], st)
		}
		return st.stdin
	case "which", "type", "command", "whereis": // the path of a program is as good as its name
		if len(list) > 0 {
			return list[len(list)-1]
		}
	}
	return ""
}

// escaped returns a text with what its backslashes stand for, as printf and $'...' have it; the same text if that cannot be read.
func escaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	plain, err := strconv.Unquote(`"` + strings.NewReplacer(`\'`, `'`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`)
	if err != nil {
		return strings.ReplaceAll(text, `\n`, "\n")
	}
	return plain
}

// format returns what printf prints, which begins anew while arguments are left.
func format(text string, args []string) string {
	var b strings.Builder
	for first := true; (first || len(args) > 0) && b.Len() < maxText; first = false {
		left := len(args)
		for i := 0; i < len(text); i++ {
			switch {
			case text[i] != '%' || i+1 == len(text):
				b.WriteByte(text[i])
				continue
			case text[i+1] == '%':
				b.WriteByte('%')
			case len(args) > 0:
				b.WriteString(args[0])
				args = args[1:]
			}
			i++
		}
		if len(args) == left {
			break
		}
	}
	return b.String()
}

// A word is the text of one; known is false if a part of it is known only when it runs.
type word struct {
	text  string
	known bool
	file  string // what is in the file that it names, where a command of the same line prints that
}

// hidden reports whether nothing is known of a word: it may be none, which a shell leaves out, or a program that runs the rest.
func (w word) hidden() bool { return w.text == "" && !w.known }

// literal returns the text of a word that is not split. The folder of the shell is ".", that of the user "~".
func (in *Intent) literal(w *syntax.Word, st *state) word {
	out := in.expand(w, st)
	out.text = strings.ReplaceAll(out.text, itemEnd, " ")
	return out
}

// fields returns the words that words become: expansions are split, and lists in braces are, as far as these are plain.
func (in *Intent) fields(words []*syntax.Word, st *state) (list []word) {
	for _, w := range words {
		if text := w.Lit(); strings.Contains(text, "{") && strings.Contains(text, ",") {
			for _, f := range braces(text) {
				list = append(list, word{text: unescape(f), known: true})
			}
			continue
		}
		out := in.expand(w, st)
		if !strings.Contains(out.text, itemEnd) {
			list = append(list, out)
			continue
		}
		for f := range strings.SplitSeq(out.text, itemEnd) {
			if f != "" {
				list = append(list, word{f, out.known, out.file})
			}
		}
	}
	return list
}

// braces returns the words that A{B,C}D stands for, if it has one such list, else the text itself.
func braces(text string) []string {
	i, j := strings.IndexByte(text, '{'), strings.IndexByte(text, '}')
	if i < 0 || j < i || strings.ContainsAny(text[j+1:], "{}") || strings.Contains(text[i+1:j], "{") {
		return []string{text}
	}
	var list []string
	for item := range strings.SplitSeq(text[i+1:j], ",") {
		list = append(list, text[:i]+item+text[j+1:])
	}
	return list
}

// expand returns the text of a word, with [itemEnd] where a shell splits it.
func (in *Intent) expand(w *syntax.Word, st *state) word {
	var b strings.Builder
	known, file := true, ""
	var parts func(list []syntax.WordPart, quoted bool)
	// put writes what an expansion gives.
	put := func(text string, quoted bool) {
		if !quoted {
			text = strings.Join(strings.FieldsFunc(" "+text+" ", func(r rune) bool { return strings.ContainsRune(" \t\n"+itemEnd, r) }), itemEnd)
		}
		b.WriteString(text)
	}
	parts = func(list []syntax.WordPart, quoted bool) {
		for _, p := range list {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(unescape(p.Value))
			case *syntax.SglQuoted:
				text := p.Value
				if p.Dollar {
					text = escaped(text)
				}
				b.WriteString(text)
			case *syntax.DblQuoted:
				parts(p.Parts, true)
			case *syntax.ParamExp:
				value, here, sure := in.parameter(p, st)
				switch name := p.Param.Value; {
				case here && name == "IFS" && value == " " && !quoted:
					b.WriteString(itemEnd)
				case here:
					known = known && sure
					put(value, quoted)
				case b.Len() > 0 || !plainParameter(p):
					known = false
				case name == "HOME":
					b.WriteString("~")
				case name == "PWD":
					b.WriteString(".")
				default:
					known = false
				}
			case *syntax.CmdSubst:
				if b.Len() > 0 || !isHere(p) {
					known = false
					put(strings.TrimRight(in.printed(st, p.Stmts...), "\n"), quoted)
					continue
				}
				b.WriteString(".")
			case *syntax.ProcSubst:
				known, file = false, in.printed(st, p.Stmts...)
			default:
				known = false
			}
		}
	}
	parts(w.Parts, false)
	in.spend(b.Len())
	return word{b.String(), known, file}
}

func plainParameter(p *syntax.ParamExp) bool {
	return p.Exp == nil && p.Index == nil && p.Slice == nil && p.Repl == nil && !p.Length && !p.Excl
}

// parameter returns what a parameter or variable is, as far as the command line says so; sure says that it is just that.
func (in *Intent) parameter(p *syntax.ParamExp, st *state) (value string, here, sure bool) {
	if p.Param == nil || p.Slice != nil || p.Repl != nil || p.Length || p.Excl {
		return "", false, false
	}
	if i, ok := p.Index.(*syntax.Word); p.Index != nil && (!ok || i.Lit() != "@" && i.Lit() != "*") {
		return "", false, false
	}
	value, here, sure = in.value(st, p.Param.Value)
	if p.Exp == nil || p.Exp.Word == nil {
		return value, here, sure && p.Exp == nil
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !here {
			return in.literal(p.Exp.Word, st).text, true, false // it may be set elsewhere
		}
		return value, here, sure
	}
	return "", false, false
}

// isHere reports whether a substitution gives a folder of the repository that the shell is in.
func isHere(s *syntax.CmdSubst) bool {
	if len(s.Stmts) != 1 {
		return false
	}
	c, ok := s.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 {
		return false
	}
	var words []string
	for _, w := range c.Args {
		words = append(words, w.Lit())
	}
	text := strings.Join(words, " ")
	return text == "pwd" || text == "git rev-parse --show-toplevel"
}

// unescape takes the backslashes out that quote one character.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func hasBlank(text string) bool { return strings.ContainsAny(text, " \t\n") }

func texts(words []word) (list []string) {
	for _, w := range words {
		list = append(list, w.text)
	}
	return list
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
