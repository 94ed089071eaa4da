package hook

import (
	"crypto/sha256"
	"testing"

	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/runtime/archive"
	"github.com/command-dialect/dialect/runtime/blob"
)

// TestOutputBound: both streams of a command count to one bound, which is what the commands before left of it.
func TestOutputBound(t *testing.T) {
	dir := t.TempDir()
	stream := func(text string) receipts.Stream {
		sum := sha256.Sum256([]byte(text))
		if err := blob.Write(blob.Path(dir, sum), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return receipts.Stream{SHA256: sum, Bytes: int64(len(text))}
	}
	r := &receipts.Receipt{Stdout: stream("a failure\n"), Stderr: stream("another\n")}
	const all = len("a failure\n\nanother\n\n")
	for most := -1; most <= all; most++ {
		if text, ok := output(archive.Archive(dir), r, most); ok != (most >= all-1) || ok != (len(text) == all) {
			t.Errorf("with %d bytes left: %q, %v", most, text, ok)
		}
	}
	r.Stderr.SHA256 = sha256.Sum256(nil)
	if text, ok := output(archive.Archive(dir), r, 1<<10); ok {
		t.Errorf("of a lost stream: %q", text)
	}
}
