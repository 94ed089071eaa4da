package workspace

import (
	"bytes"
	"crypto/sha256"

	"github.com/command-dialect/dialect/runtime/workspace/git"
)

// read fills in what the content of a file or link says, unless an earlier walk
// knows it. A file is streamed, whatever its size. Its status is the same before
// and after, or the error is errChanged.
func (w *walk) read(s *scratch, d *folder, name string, e *entry) error {
	if w.known.recall(e, &s.known) {
		s.recalled++
		return nil
	}
	e.settled = statTrusted && e.status.ctime < w.start.Add(-settling).UnixNano()
	if e.kind == kindLink {
		target, err := d.readlink(name)
		if err != nil {
			return err
		}
		e.target = target
		e.size = int64(len(target))
		e.sum = sha256.Sum256([]byte(target))
		e.raw = w.format.Object("blob", []byte(target))
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
	s.blob.Write(git.ObjectHeader("blob", e.size))
	var look observer
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
		look.see(part)
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
	e.traits = look.traits()
	s.sum.Sum(e.sum[:0])
	s.blob.Sum(e.raw[:0])
	e.id = e.raw
	return nil
}

// An observer learns the traits of a content that is read piece by piece.
type observer struct {
	found    traits
	begun    bool
	last     byte
	cr, crlf int // counts
}

func (o *observer) see(b []byte) {
	if len(b) == 0 {
		return
	}
	if !o.begun {
		// What git-lfs takes for a pointer: it reads no more of a file, and is lenient with white space and further lines.
		start := b[:min(len(b), 1024)]
		if bytes.Contains(start, []byte("version ")) && bytes.Contains(start, []byte("sha256:")) &&
			(bytes.Contains(start, []byte("git-lfs")) || bytes.Contains(start, []byte("hawser")) || bytes.Contains(start, []byte("git-media"))) {
			o.found |= isPointer
		}
	}
	if o.found&hasNUL == 0 && bytes.IndexByte(b, 0) >= 0 {
		o.found |= hasNUL
	}
	if o.found&hasDollar == 0 && (bytes.Contains(b, []byte("$I")) || b[len(b)-1] == '$') {
		o.found |= hasDollar
	}
	split := o.begun && o.last == '\r' && b[0] == '\n'
	if split {
		o.crlf++
	}
	n := bytes.Count(b, []byte{'\r'})
	if o.cr += n; n == 0 && !split {
		if o.found&hasLoneLF == 0 && bytes.IndexByte(b, '\n') >= 0 {
			o.found |= hasLoneLF
		}
	} else {
		pairs := bytes.Count(b, []byte("\r\n"))
		o.crlf += pairs
		if split {
			pairs++
		}
		if bytes.Count(b, []byte{'\n'}) > pairs {
			o.found |= hasLoneLF
		}
	}
	o.begun, o.last = true, b[len(b)-1]
}

func (o *observer) traits() traits {
	t := o.found
	if o.cr > 0 {
		t |= hasCR
	}
	if o.cr > o.crlf {
		t |= hasLoneCR
	}
	return t
}
