package redact

// Streams has a [Writer] for each of the two streams of a command, to memory. What it passes on is in the order in which it came, by whole lines: the
// secrets are out of it before one stream is mixed with the other.
type Streams struct {
	of [2]*Writer
	at int // the stream that was written to last
}

// Streams returns a [Streams] to f, which must not keep the text.
func (r *Redactor) Streams(f func(stream int, text []byte)) *Streams {
	s := new(Streams)
	for i := range s.of {
		s.of[i] = r.Writer(toStream{f, i})
	}
	return s
}

type toStream struct {
	f      func(stream int, text []byte)
	stream int
}

func (t toStream) Write(p []byte) (int, error) { t.f(t.stream, p); return len(p), nil }

// Write writes to a stream.
func (s *Streams) Write(stream int, p []byte) {
	if s.at != stream {
		s.Pass()
		s.at = stream
	}
	_, _ = s.of[stream].Write(p)
}

// Pass is [Writer.Pass] of the stream that was written to last; it was called for the other.
func (s *Streams) Pass() { _ = s.of[s.at].Pass() }

// Cut is [Writer.Cut] of a stream.
func (s *Streams) Cut(stream int) { _, _ = s.of[stream].Cut() }

// Close writes what is held back.
func (s *Streams) Close() {
	s.Pass()
	for _, w := range s.of {
		_, _ = w.Close()
	}
}
