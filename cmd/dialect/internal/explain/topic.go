package explain

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/command-dialect/dialect/stdlib"
)

// TopicList returns the names and titles of the pages of `dialect help TOPIC`: those that answer a task, then the
// reference.
func TopicList() string {
	var b strings.Builder
	list, width, reference := stdlib.Topics(), 0, false
	for _, t := range list {
		width = max(width, len(t.Name))
	}
	b.WriteString("Help topics (dialect help TOPIC):\n")
	for _, t := range list {
		if t.Reference && !reference {
			reference = true
			b.WriteString("\nReference:\n")
		}
		b.WriteString("  " + t.Name + strings.Repeat(" ", width-len(t.Name)+2) + t.Title + "\n")
	}
	return b.String()
}

// A Topic is a page of documentation, as Markdown.
type Topic []byte

// FindTopic returns the page called name, whatever its case.
func FindTopic(name string) (Topic, bool) {
	text, ok := stdlib.TopicPage(strings.ToLower(name))
	return text, ok
}

// WriteText writes the page for a terminal. Headings are underlined, code is indented, tables get even columns, and
// a link to another page names the command that prints it. Comments and pictures are left out. Paragraphs and items of lists are
// wrapped anew.
func (t Topic) WriteText(w io.Writer) error {
	var b strings.Builder
	var rows [][]string
	code, blank := false, true
	put := func(line string) {
		if line != "" || !blank { // what is left out leaves no second blank line
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		blank = line == ""
	}
	first, indent, prose := "", "", []string(nil) // a paragraph, and what stands before its first line and the others
	flush := func() {
		if rows != nil {
			layout(rows, put)
			rows = nil
		}
		if prose != nil {
			wrapTo(first, indent, inline(strings.Join(prose, " ")), put)
			first, indent, prose = "", "", nil
		}
	}
	for line := range strings.Lines(string(t)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			code = !code
		case code && line == "":
			b.WriteString("\n")
		case line == "":
			flush()
			put("")
		case code:
			put("    " + line)
		case strings.HasPrefix(line, "|"):
			if prose != nil {
				flush()
			}
			if cells := split(line); !separates(cells) {
				rows = append(rows, cells)
			}
		case strings.HasPrefix(line, "<!--"), strings.HasPrefix(line, "!["):
			flush()
		case strings.HasPrefix(line, "#"):
			flush()
			level := len(line) - len(strings.TrimLeft(line, "#"))
			text := inline(strings.TrimSpace(line[level:]))
			put(text)
			if mark := min(level, 3); mark < 3 {
				put(strings.Repeat("?=-"[mark:mark+1], utf8.RuneCountInString(text)))
			}
		case marker(line) != "":
			flush()
			first = marker(line)
			indent, prose = strings.Repeat(" ", len(first)), []string{line[len(first):]}
		case prose == nil && strings.HasPrefix(line, "    "):
			flush()
			put(line)
		default:
			if rows != nil {
				flush()
			}
			prose = append(prose, strings.TrimSpace(line))
		}
	}
	flush()
	_, err := io.WriteString(w, b.String())
	return err
}

// marker returns what stands before the text of an item of a list, such as "  - " and "12. ", and nothing of another line.
func marker(line string) string {
	rest := strings.TrimLeft(line, " ")
	digits := strings.TrimLeft(rest, "0123456789")
	switch {
	case digits != rest && strings.HasPrefix(digits, ". "):
		rest = digits[1:]
	case strings.HasPrefix(rest, "- "), strings.HasPrefix(rest, "* "):
		rest = rest[1:]
	default:
		return ""
	}
	return line[:len(line)-len(strings.TrimLeft(rest, " "))]
}

// split returns the cells of a row.
func split(row string) (cells []string) {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	for _, c := range strings.Split(strings.ReplaceAll(row, `\|`, "\x00"), "|") {
		cells = append(cells, inline(strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|"))))
	}
	return cells
}

// separates reports whether cells are those of the line below the head of a table.
func separates(cells []string) bool {
	return strings.Trim(strings.Join(cells, ""), "-: ") == ""
}

// maxWidth is the width of what is printed, in runes: up to it a table is printed as one.
const maxWidth = 100

// layout puts a table: in columns where these are narrow, the last of two columns wrapped; else row by row, what follows
// the first cell indented, with the heads of the columns.
func layout(rows [][]string, put func(string)) {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	total := 0
	for _, w := range widths {
		total += w + 2
	}
	head := rows[0]
	switch {
	case total <= maxWidth:
		for _, row := range rows {
			line := "  "
			for i, c := range row {
				line += c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2)
			}
			if strings.TrimSpace(line) != "" { // a head without words
				put(line)
			}
		}
	case len(widths) == 2 && widths[0] <= maxWidth/3:
		for _, row := range rows {
			if strings.TrimSpace(strings.Join(row, "")) != "" {
				wrapTo("  "+row[0]+strings.Repeat(" ", widths[0]-utf8.RuneCountInString(row[0])+2), strings.Repeat(" ", widths[0]+4), row[1], put)
			}
		}
	default:
		for _, row := range rows[1:] {
			wrapTo("  ", "  ", row[0], put)
			var rest []string
			for i, c := range row[1:] {
				if name := head[min(i+1, len(head)-1)]; name != "" && len(head) > 2 && c != "" {
					c = name + ": " + c
				}
				if c != "" {
					rest = append(rest, c)
				}
			}
			wrapTo("      ", "      ", strings.Join(rest, "; "), put)
		}
	}
}

// wrapTo puts text in lines of at most maxWidth runes, the first after first, the others after indent.
func wrapTo(first, indent, text string, put func(string)) {
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > maxWidth {
			put(line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	put(line)
}

// inline takes the marks out of a line that a terminal cannot show. Text between backquotes stays as it is.
func inline(line string) string {
	parts := strings.Split(line, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer(`\*`, "*", `\<`, "<", `\_`, "_", `\[`, "[", "**", "").Replace(parts[i])
	}
	return links(strings.Join(parts, "`"))
}

// links replaces [text](target): a page of this folder by its command, another target by itself.
func links(line string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(line, '[')
		middle := strings.Index(line[max(open, 0):], "](")
		if open < 0 || middle < 0 {
			return b.String() + line
		}
		middle += open
		end := strings.IndexByte(line[middle:], ')')
		if end < 0 {
			return b.String() + line
		}
		end += middle
		text, target := line[open+1:middle], line[middle+2:end]
		b.WriteString(line[:open])
		file, _, _ := strings.Cut(target, "#")
		file = strings.TrimLeft(file, "./")
		switch page, ok := strings.CutSuffix(file, ".md"); {
		case file == "":
			b.WriteString(text)
		case ok && page == text:
			b.WriteString("`dialect help " + page + "`")
		case ok && !strings.Contains(page, "/"):
			b.WriteString(text + " (`dialect help " + page + "`)")
		case file == text, strings.HasSuffix(file, "/"+text):
			b.WriteString(file)
		default:
			b.WriteString(text + " (" + file + ")")
		}
		line = line[end+1:]
	}
}
