package process

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/runtime/blob"
	"github.com/command-dialect/dialect/runtime/redact"
)

// Sizes of the recorder, in bytes.
const (
	readSize = 64 << 10 // one read, the capacity of a pipe on Linux
	// logTail is how much of the end of a stream is kept once its log is cut.
	logTail = 256 << 10
)

// A recorder keeps what a command writes. Its take and add methods are called by
// the platform's reader.
type recorder struct {
	command *Command
	streams [2]capture
	tail    ring
	chunks  []chunk // of which the tail consists
	kept    int     // bytes of them
	total   int64   // bytes recorded of both streams
	dropped bool    // something past MaxOutput was thrown away
}

// A chunk is what came at once of one stream.
type chunk struct {
	stream Stream
	n      int // bytes
}

func (r *recorder) init(c *Command) {
	r.command = c
	r.tail.limit = c.TailBytes
	if c.TailBytes == 0 {
		r.tail.limit = DefaultTailBytes
	}
	maxLog := c.MaxLog
	if maxLog <= 0 {
		maxLog = DefaultMaxLog
	}
	for i := range r.streams {
		s := &r.streams[i]
		s.dir, s.redact = c.LogDir, c.Redact
		s.end.limit = int(min(maxLog/4, logTail))
		s.straight = maxLog - int64(s.end.limit)
		s.margin = min(s.straight, int64(c.Redact.Hold()))
	}
}

// admit takes note of p, bytes of stream s that just arrived: it shows them to the
// listener and puts them into the tail. It returns those that are to be recorded
// by [capture.write]: fewer than p if the output limit is reached, which over then
// reports. Calls must not overlap.
func (r *recorder) admit(s Stream, p []byte) []byte {
	cut := false
	if limit := r.command.MaxOutput; limit > 0 && int64(len(p)) > limit-r.total {
		p, cut = p[:limit-r.total], !r.streams[s].ended
		r.dropped, r.streams[s].ended = true, true
	}
	if len(p) > 0 {
		r.total += int64(len(p))
		r.keepTail(s, p)
		if r.command.Output != nil {
			r.command.Output(s, p)
		}
	}
	if cut && r.command.Cut != nil {
		r.command.Cut(s)
	}
	return p
}

// keepTail puts p into the tail.
func (r *recorder) keepTail(s Stream, p []byte) {
	r.tail.write(p)
	if last := len(r.chunks) - 1; last >= 0 && r.chunks[last].stream == s {
		r.chunks[last].n += len(p)
	} else {
		r.chunks = append(r.chunks, chunk{s, len(p)})
	}
	r.kept += len(p)
	for most := max(r.tail.limit, 0); r.kept > most; {
		n := min(r.kept-most, r.chunks[0].n)
		r.kept -= n
		if r.chunks[0].n -= n; r.chunks[0].n == 0 {
			r.chunks = r.chunks[1:]
		}
	}
}

// public returns the tail. The secrets are taken out of each stream of it before it is mixed with the other.
func (r *recorder) public() (out []byte) {
	tail := r.tail.bytes()
	var of [len(r.streams)][]byte
	at := 0
	for _, p := range r.chunks {
		of[p.stream] = append(of[p.stream], tail[at:at+p.n]...)
		at += p.n
	}
	var lost [len(r.streams)]int // bytes of a stream that could belong to a secret whose beginning is not in the tail
	for s := range of {
		if int64(len(of[s])) < r.streams[s].n {
			lost[s] = r.command.Redact.Rest(of[s])
		}
	}
	clean := r.command.Redact.Streams(func(_ int, text []byte) { out = append(out, text...) })
	for _, p := range r.chunks {
		n := min(lost[p.stream], p.n)
		lost[p.stream] -= n
		clean.Write(int(p.stream), tail[n:p.n])
		tail = tail[p.n:]
	}
	for s := range r.streams {
		if r.streams[s].ended {
			clean.Cut(s)
		}
	}
	clean.Close()
	return out
}

// full returns what to wait for before more is read; nil for nothing.
func (r *recorder) full() <-chan struct{} {
	if r.command.Hold == nil {
		return nil
	}
	return r.command.Hold()
}

// over reports whether more was written than MaxOutput allows.
func (r *recorder) over() bool { return r.dropped }

// finish completes the logs and puts what was recorded into res. Nothing may be
// recorded any more.
func (r *recorder) finish(res *Result) {
	if res.Stop != "" || res.Signal != "" { // what was written last may be a part of a write: the command was ended in the midst of it
		for i := range r.streams {
			if s := &r.streams[i]; !s.ended && s.n > 0 {
				if s.ended = true; r.command.Cut != nil {
					r.command.Cut(Stream(i))
				}
			}
		}
	}
	for i, out := range [...]*Output{&res.Stdout, &res.Stderr} {
		if err := r.streams[i].finish(out); err != nil {
			res.Notes = append(res.Notes, fmt.Sprintf("the log of %v was not kept: %v", Stream(i), err))
		}
	}
	res.Tail = r.public()
	if r.dropped {
		res.Notes = append(res.Notes, fmt.Sprintf("output past %d bytes was not recorded", r.command.MaxOutput))
	}
}

// discard removes temporary files, if finish was not reached.
func (r *recorder) discard() {
	for i := range r.streams {
		r.streams[i].dropLog()
	}
}

// A capture hashes one stream, keeps its first bytes and writes its log.
//
// The log begins as a temporary file once there is more than fits into head, and
// gets its name by rename at the end. It is not synced: the digest is the
// evidence, the log only its illustration.
type capture struct {
	n    int64
	hash hash.Hash // nil until the first byte
	head []byte

	dir      string // empty: keep no log
	redact   *redact.Redactor
	file     *os.File       // nil until head is full
	log      *redact.Writer // to file
	err      error          // why the log was given up
	straight int64          // bytes that go to the file as they come; the rest goes to end
	end      ring

	// A secret that begins before the border and ends after it must not stay in parts. So
	// the log may end earlier than after straight bytes, by up to margin.
	margin int64
	cut    hash.Hash // state of hash after straight-margin bytes
	border []byte    // the bytes from there to straight
	ended  bool      // at the end of the stream more was thrown away
}

// write records p. Calls for one capture must not overlap.
func (c *capture) write(p []byte) {
	if len(p) == 0 {
		return
	}
	if c.hash == nil {
		c.hash = sha256.New()
	}
	if c.dir != "" && c.err == nil && c.n+int64(len(p)) > c.straight-c.margin {
		if room := c.straight - c.margin - c.n; room >= 0 {
			c.record(p[:room])
			c.cut = c.clone()
			p = p[room:]
		}
		if room := min(c.straight-c.n, int64(len(p))); room > 0 {
			c.border = append(c.border, p[:room]...)
			c.record(p[:room])
			p = p[room:]
		}
	}
	c.record(p)
}

func (c *capture) record(p []byte) {
	c.hash.Write(p)
	if c.dir != "" && c.err == nil {
		c.keepLog(p)
	}
	if room := HeadBytes - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(room, len(p))]...)
	}
	c.n += int64(len(p))
}

func (c *capture) clone() hash.Hash {
	h, err := c.hash.(hash.Cloner).Clone()
	if err != nil { // sha256 does not fail
		c.fail(err)
		return nil
	}
	return h
}

// keepLog writes p to the log. It is called before p is in head and in n.
func (c *capture) keepLog(p []byte) {
	if c.n >= c.straight {
		c.end.write(p)
		return
	}
	if c.file == nil {
		if c.n+int64(len(p)) <= HeadBytes {
			return // head holds it all
		}
		if c.create(); c.err != nil {
			return
		}
	}
	if _, err := c.log.Write(p); err != nil {
		c.fail(err)
	}
}

// create opens the temporary file and writes what was seen so far, which is in
// head.
func (c *capture) create() {
	f, err := blob.Temp(c.dir)
	if err == nil {
		c.file, c.log = f, c.redact.Writer(f)
		_, err = c.log.Write(c.head[:min(int64(len(c.head)), c.straight)])
	}
	if err != nil {
		c.fail(err)
	}
}

func (c *capture) fail(err error) {
	c.dropLog()
	c.err = err
	c.end = ring{}
}

func (c *capture) dropLog() {
	if c.file != nil {
		c.file.Close()
		os.Remove(c.file.Name())
		c.file = nil
	}
}

// finish fills out and gives the log its name. The error is about the log only.
func (c *capture) finish(out *Output) error {
	out.Bytes = c.n
	if c.ended || c.n > int64(len(c.head)) {
		out.Head = c.redact.Head(c.head)
	} else {
		out.Head = c.redact.Bytes(c.head)
	}
	if c.hash == nil {
		out.SHA256 = sha256.Sum256(nil)
		out.LogSHA256 = out.SHA256
		return nil
	}
	c.hash.Sum(out.SHA256[:0])
	out.LogSHA256 = out.SHA256
	if c.dir == "" || c.err != nil {
		return c.err
	}
	sum, cut := out.SHA256, false
	if c.n > c.straight {
		end := c.end.bytes()
		lost := c.n-c.straight > int64(len(end))
		if lost {
			end = c.redact.Part(end, true, c.ended)
		}
		if c.file == nil {
			if c.create(); c.err != nil {
				return c.err
			}
		}
		if lost {
			cut = true
			dropped, err := c.log.Cut()
			if err != nil {
				c.fail(err)
				return err
			}
			left := c.n - c.straight - int64(len(end)) + int64(dropped)
			c.cut.Write(c.border[:len(c.border)-dropped])
			marker := fmt.Appendf(nil, "\n[dialect: %d bytes left out here]\n", left)
			c.cut.Write(marker)
			c.cut.Write(end)
			c.cut.Sum(sum[:0])
			end = append(marker, end...)
		}
		if _, err := c.log.Write(end); err != nil {
			c.fail(err)
			return err
		}
	}
	var redacted bool
	switch {
	case c.file != nil:
		var err error
		dropped := 0
		if c.ended {
			dropped, err = c.log.Cut()
		}
		if err == nil {
			redacted, err = c.log.Close()
		}
		if redacted = redacted || dropped > 0; err == nil && redacted {
			if _, err = c.file.Seek(0, io.SeekStart); err == nil {
				sum, err = sumOf(c.file)
			}
		}
		if err != nil {
			c.fail(err)
			return err
		}
	case c.n == int64(len(c.head)) && string(out.Head) != string(c.head):
		redacted, c.head, sum = true, out.Head, sha256.Sum256(out.Head)
		c.redact = nil // once is enough
	}
	path, err := c.keep(sum)
	if err != nil {
		c.fail(err)
		return err
	}
	out.Log, out.LogSHA256, out.Cut, out.Redacted = path, sum, cut, redacted
	return nil
}

// keep gives the log its name, and returns it.
func (c *capture) keep(sum [32]byte) (string, error) {
	path := blob.Path(c.dir, sum)
	if c.file == nil {
		// The same few bytes are written again and again ("ok", a banner).
		if same, err := regular.ReadOwn(path, int64(len(c.head))); err == nil && string(same) == string(c.head) {
			return path, nil
		}
		if c.create(); c.err != nil {
			return "", c.err
		}
	}
	if _, err := c.log.Close(); err != nil {
		c.dropLog()
		return "", err
	}
	f := c.file
	c.file = nil
	return path, blob.Place(f, path)
}

// A ring holds the last bytes of what was written to it, up to limit. It grows as
// they come.
type ring struct {
	limit int
	buf   []byte
	at    int // where the oldest byte is, once len(buf) == limit
}

func (r *ring) write(p []byte) {
	if r.limit <= 0 {
		return
	}
	if len(p) >= r.limit {
		r.buf = append(r.buf[:0], p[len(p)-r.limit:]...)
		r.at = 0
		return
	}
	if room := r.limit - len(r.buf); room > 0 {
		n := min(room, len(p))
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.at:], p)
		p = p[n:]
		r.at = (r.at + n) % r.limit
	}
}

// bytes returns the content in order. The ring must not be written any more.
func (r *ring) bytes() []byte {
	if r.at == 0 {
		return r.buf
	}
	out := make([]byte, 0, len(r.buf))
	out = append(out, r.buf[r.at:]...)
	return append(out, r.buf[:r.at]...)
}
