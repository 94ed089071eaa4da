package workspace

import (
	"bytes"
	"crypto/sha256"
)

// read fills in what the content of a file or link says, unless an earlier walk
// knows it. A file is streamed, whatever its size. Its status is the same before
// and after, or the error is errChanged.
func (w *walk) read(s *scratch, d *folder, name string, e *entry) error {
	if old := w.known[e.path]; old != nil && old.settled && old.status == e.status {
		e.size, e.sum, e.raw, e.id, e.traits, e.settled = old.size, old.sum, old.raw, old.raw, old.traits, true
		return nil
	}
	e.settled = statTrusted && e.status.ctime < w.start.Add(-settling).UnixNano()
	if e.kind == kindLink {
		target, err := d.readlink(name)
		if err != nil {
			return err
		}
		e.size = int64(len(target))
		e.sum = sha256.Sum256([]byte(target))
		e.raw = w.format.object("blob", []byte(target))
		e.id = e.raw
		return nil
	}
	h, err := d.open(name)
	if err != nil {
		return err
	}
	defer h.close()
	e.size = e.status.size
	s.sum.Reset()
	s.blob.Reset()
	s.blob.Write(objectHeader("blob", e.size))
	for at := int64(0); ; {
		n, err := h.read(s.buf)
		if err != nil {
			return err
		}
		at += int64(n)
		if at > e.size || n == 0 && at < e.size {
			return errChanged
		}
		part := s.buf[:n]
		s.sum.Write(part)
		s.blob.Write(part)
		e.traits |= traitsOf(part)
		if at == e.size {
			break
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
	after, err := h.stat()
	if err != nil {
		return err
	}
	if after != e.status {
		return errChanged
	}
	s.sum.Sum(e.sum[:0])
	s.blob.Sum(e.raw[:0])
	e.id = e.raw
	return nil
}

func traitsOf(b []byte) traits {
	var t traits
	if bytes.IndexByte(b, '\r') >= 0 {
		t |= hasCR
	}
	if bytes.IndexByte(b, 0) >= 0 {
		t |= hasNUL
	}
	if bytes.IndexByte(b, '$') >= 0 {
		t |= hasDollar
	}
	return t
}
