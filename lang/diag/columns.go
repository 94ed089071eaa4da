package diag

import "unicode/utf8"

// Columns finds the columns of bytes of one line, for a caller that asks many times. Counting the
// characters before each of n bytes takes n times the length of the line, and a line may be 64 KiB long;
// Columns counts them once, keeps the count at about every columnStep bytes, and goes on from there.
type Columns struct {
	line  []byte
	marks []columnMark // element i is where the last character begins that begins at or before byte i*columnStep
}

type columnMark struct{ offset, characters int }

const columnStep = 64 // bytes

// Reset makes c answer for line, which must not change while it does.
func (c *Columns) Reset(line []byte) { c.line, c.marks = line, c.marks[:0] }

// Column returns the column of the byte at offset of the line, as [Source.Pos] does.
func (c *Columns) Column(offset int) int {
	offset = max(0, min(offset, len(c.line)))
	if len(c.marks) == 0 {
		c.count()
	}
	m := c.marks[offset/columnStep]
	return m.characters + utf8.RuneCount(c.line[m.offset:offset]) + 1
}

func (c *Columns) count() {
	at := columnMark{}
	for {
		_, size := utf8.DecodeRune(c.line[at.offset:]) // 0 at the end
		for len(c.marks)*columnStep < at.offset+max(size, 1) {
			c.marks = append(c.marks, at)
		}
		if size == 0 {
			return
		}
		at.offset += size
		at.characters++
	}
}
