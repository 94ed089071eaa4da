package diag

import "unicode/utf8"

// Columns finds the columns of bytes of one line, for a caller that asks many times. Counting the
// characters before each of n bytes takes n times the length of the line, and a line may be 64 KiB long;
// Columns counts them once, keeps the count at about every columnStep bytes, and goes on from there.
type Columns struct {
	line  []byte
	marks []columnMark // element i is where the last character begins that begins at or before byte i*columnStep
}

type columnMark struct {
	offset     int
	characters int // before it
	wide       int // those of them that take two code units in UTF-16
}

const columnStep = 64 // bytes

// Reset makes c answer for line, which must not change while it does.
func (c *Columns) Reset(line []byte) { c.line, c.marks = line, c.marks[:0] }

// Column returns the column of the byte at offset of the line, as [Source.Pos] does.
func (c *Columns) Column(offset int) int {
	m, rest := c.before(offset)
	return m.characters + utf8.RuneCount(rest) + 1
}

// UTF16 returns the column of the byte at offset of the line as [Source.UTF16Column] does.
func (c *Columns) UTF16(offset int) int {
	m, rest := c.before(offset)
	return m.characters + m.wide + utf16Units(rest)
}

// utf16Units returns how many UTF-16 code units text has; a byte that is not UTF-8 counts as one.
func utf16Units(text []byte) (n int) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		n++
		if r >= 0x10000 {
			n++
		}
		text = text[size:]
	}
	return n
}

// before returns the last mark before offset, and the bytes from there to offset.
func (c *Columns) before(offset int) (columnMark, []byte) {
	offset = max(0, min(offset, len(c.line)))
	if len(c.marks) == 0 {
		c.count()
	}
	m := c.marks[offset/columnStep]
	return m, c.line[m.offset:offset]
}

func (c *Columns) count() {
	at := columnMark{}
	for {
		r, size := utf8.DecodeRune(c.line[at.offset:]) // 0 at the end
		for len(c.marks)*columnStep < at.offset+max(size, 1) {
			c.marks = append(c.marks, at)
		}
		if size == 0 {
			return
		}
		at.offset += size
		at.characters++
		if r >= 0x10000 {
			at.wide++
		}
	}
}
