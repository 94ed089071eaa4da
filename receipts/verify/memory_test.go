package verify

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/command-dialect/dialect/receipts"
)

// TestMemory has a session read what is new, and no more, and give the answers of one
// that reads everything.
func TestMemory(t *testing.T) {
	f := memoryFile(t)
	m := newMaker(t)
	for i := range 40 {
		before := int64(len(m.log.recs))
		if i == 0 {
			before = 0
		}
		switch i % 5 {
		case 0:
			m.gate([]receipts.Hash{m.receipt()})
		case 1:
			m.receipt(failing)
		case 2:
			m.fill(i)
		case 3:
			m.consume(m.receipt())
		case 4:
			m.run(fmt.Sprint("r-", i))
		}
		s := m.remember(f, Options{})
		if got, want := s.audited(), int64(len(m.log.recs))-before; got != want {
			t.Fatalf("round %d: %d records were read; %d are new", i, got, want)
		}
		whole := m.open(Options{})
		if !slices.Equal(s.index.marks, whole.index.marks) || !slices.Equal(s.index.refs, whole.index.refs) {
			t.Fatalf("round %d: the index is another one", i)
		}
		for _, q := range []Query{asked(), asked(strict), asked(nothing)} {
			if got, want := told(ask(t, s, q)), told(ask(t, whole, q)); got != want {
				t.Fatalf("round %d: %s\nwant %s", i, got, want)
			}
		}
	}
	if s := m.remember(f, Options{}); s.audited() != 0 {
		t.Errorf("%d records were read", s.audited())
	}
}

// TestMemoryDoubted has the memory not be one of the log.
func TestMemoryDoubted(t *testing.T) {
	made := func(t *testing.T) (*maker, *os.File) {
		m, f := newMaker(t), memoryFile(t)
		disputed(m)
		m.remember(f, Options{})
		return m, f
	}
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("another origin, kept %v", kept), func(t *testing.T) {
			_, f := made(t)
			m := newMaker(t)
			m.log.origin = "dialect/other"
			m.gate([]receipts.Hash{m.receipt()})
			s := m.open(Options{Memory: recollect(t, f), MemoryKept: kept})
			res := ask(t, s, asked())
			switch {
			case kept && (res.Verdict != Tampered || !strings.Contains(told(res), "another store stood here")):
				t.Error(told(res))
			case !kept && (res.Verdict != Verified || !strings.Contains(strings.Join(res.Notes, ""), "another store stood here")):
				t.Errorf("%s, %q", told(res), res.Notes)
			}
		})
	}
	t.Run("ahead of the log", func(t *testing.T) {
		m, f := made(t)
		m.again(m.log.recs[:2])
		wantProblem(t, "rolled back", m.open(Options{Memory: recollect(t, f)}), "cut or rolled back")
	})
	t.Run("rewritten before it", func(t *testing.T) {
		m, f := made(t)
		m.again(slices.Delete(slices.Clone(m.log.recs), 2, 3))
		m.receipt()
		m.receipt()
		wantProblem(t, "rewritten", m.open(Options{Memory: recollect(t, f)}), "the root over")
	})
	t.Run("another name", func(t *testing.T) {
		_, f := made(t)
		if m, err := Recollect(f, "other"); err != nil || m.valid {
			t.Errorf("it counts: %v", err)
		}
	})
	t.Run("kept, so the log is", func(t *testing.T) {
		m, f := made(t)
		if res := ask(t, m.open(Options{Memory: recollect(t, f), MemoryKept: true}), asked()); !res.Kept {
			t.Error("not kept")
		}
		before := m.open(Options{Memory: recollect(t, f), MemoryKept: true})
		if res := ask(t, m.open(Options{Before: before, MemoryKept: true}), asked()); !res.Kept {
			t.Error("not kept by the next session of the process")
		}
		if res := ask(t, m.open(Options{Memory: recollect(t, f)}), asked()); res.Kept {
			t.Error("kept by a memory that the log's writers can write")
		}
	})
	t.Run("damaged", func(t *testing.T) {
		m, f := made(t)
		whole, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		// Its frames alone: the log is read anew, and has to begin with what the header says.
		if _, err := f.WriteAt([]byte{whole[2*headerSize+9] ^ 1}, 2*headerSize+9); err != nil {
			t.Fatal(err)
		}
		if mem := recollect(t, f); mem.Unread() {
			t.Error("its header is whole")
		}
		for _, kept := range []bool{true, false} {
			res := ask(t, m.open(Options{Memory: recollect(t, f), MemoryKept: kept}), asked())
			if res.Verdict != Verified || res.Kept != kept || len(res.Notes) > 0 {
				t.Errorf("kept %v: %s, %q, covered %v", kept, told(res), res.Notes, res.Kept)
			}
		}
		recs := m.log.recs
		m.again(slices.Concat(recs[1:], recs[:1]))
		if res := ask(t, m.open(Options{Memory: recollect(t, f), MemoryKept: true}), asked()); res.Verdict != Tampered || !strings.Contains(told(res), "are not those of the remembered checkpoint") {
			t.Error(told(res))
		}
		m.again(recs[:1])
		if res := ask(t, m.open(Options{Memory: recollect(t, f), MemoryKept: true}), asked()); res.Verdict != Tampered || !strings.Contains(told(res), "it was cut or rolled back") {
			t.Error(told(res))
		}
		// Its headers: somebody has to say whether that matters.
		for name, text := range map[string][]byte{"cut": whole[:headerSize-1], "of another version": slices.Concat([]byte("dialect.memory/9"), whole[16:headerSize], []byte("dialect.memory/9"), whole[headerSize+16:])} {
			if err := os.WriteFile(f.Name(), text, 0o600); err != nil {
				t.Fatal(err)
			}
			if !recollect(t, f).Unread() {
				t.Errorf("%s: it was read", name)
			}
		}
		if err := f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if recollect(t, f).Unread() {
			t.Error("nothing stands in an empty file")
		}
	})
	t.Run("an origin that a header has no room for", func(t *testing.T) {
		m, f := newMaker(t), memoryFile(t)
		m.log.origin = strings.Repeat("x", 129)
		m.gate([]receipts.Hash{m.receipt()})
		if res := ask(t, m.remember(f, Options{MemoryKept: true}), asked()); res.Verdict != Tampered {
			t.Error(told(res))
		}
	})
	t.Run("nothing is kept of a log with problems", func(t *testing.T) {
		m := newMaker(t)
		f := memoryFile(t)
		disputed(m)
		st, _ := m.log.State(context.Background())
		st.Root[0] ^= 1
		mem := recollect(t, f)
		s, err := Open(context.Background(), frozen{m.log, st}, Options{Memory: mem})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Save(mem); err != nil {
			t.Fatal(err)
		}
		if info, _ := f.Stat(); info.Size() > 0 {
			t.Errorf("%d bytes", info.Size())
		}
	})
}

// TestMemoryDamaged flips each bit of the headers, and some of the frames, and cuts the
// file anywhere: what is damaged does not count, and the next session makes it again.
func TestMemoryDamaged(t *testing.T) {
	m, f := newMaker(t), memoryFile(t)
	disputed(m)
	m.remember(f, Options{})
	m.fill(3)
	m.remember(f, Options{}) // both headers are there now
	whole, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	good := recollect(t, f)
	want := told(ask(t, m.open(Options{}), asked(strict)))
	look := func(what string, text []byte) {
		t.Helper()
		g := memoryFile(t)
		if _, err := g.Write(text); err != nil {
			t.Fatal(err)
		}
		mem := recollect(t, g)
		if mem.valid && (mem.crc != good.crc || mem.head != good.head) && mem.generation >= good.generation {
			t.Errorf("%s: it counts as %v", what, mem.head)
		}
		s := m.open(Options{Memory: mem})
		if got := told(ask(t, s, asked(strict))); got != want {
			t.Errorf("%s: %s\nwant %s", what, got, want)
		}
		if err := s.Save(mem); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if s := m.open(Options{Memory: recollect(t, g)}); s.audited() != 0 {
			t.Errorf("%s: %d records are not remembered after it was saved", what, s.audited())
		}
		g.Close()
	}
	for i := range whole {
		if inHeader := i%headerSize < edgeOffset+7*tlog.HashSize && i < 2*headerSize; !inHeader && (i < 2*headerSize || i%11 != 0) || i%3 != 0 && testing.Short() {
			continue
		}
		text := slices.Clone(whole)
		text[i] ^= 1 << (i % 8)
		look(fmt.Sprint("bit of byte ", i), text)
	}
	for n := 0; n < len(whole); n += 997 {
		look(fmt.Sprint("cut to ", n), whole[:n])
	}
}

// tear writes over the header that counts, as a crash in the midst of its write does.
func tear(t *testing.T, f *os.File) {
	t.Helper()
	if _, err := f.WriteAt([]byte("torn"), int64(recollect(t, f).slot)*headerSize+40); err != nil {
		t.Fatal(err)
	}
}

// TestMemoryTorn has the last write of a header be torn: the header before it counts, or
// none where its frames were written over.
func TestMemoryTorn(t *testing.T) {
	m, f := newMaker(t), memoryFile(t)
	disputed(m)
	m.remember(f, Options{})
	for range 2 {
		m.fill(3)
		m.remember(f, Options{})
		tear(t, f)
		if s := m.remember(f, Options{}); s.audited() != 3 {
			t.Errorf("%d records were read, want the last 3", s.audited())
		}
	}
	n := newMaker(t)
	n.log.origin = "dialect/other"
	disputed(n)
	n.remember(f, Options{}) // over the frames of the other store
	tear(t, f)
	if mem := recollect(t, f); mem.valid {
		t.Errorf("the header of %s counts", mem.head.Origin)
	}
}

// TestMemoryRemade has frames be damaged, and what is written in their place be cut short: what the header says of the log still counts.
func TestMemoryRemade(t *testing.T) {
	for _, saves := range []int{1, 2} { // the header is in each of the two blocks
		m, f := newMaker(t), memoryFile(t)
		for range saves {
			m.fill(3)
			m.remember(f, Options{})
		}
		if _, err := f.WriteAt([]byte{0xff}, 2*headerSize+8); err != nil {
			t.Fatal(err)
		}
		mem := recollect(t, f)
		s := m.open(Options{Memory: mem, MemoryKept: true})
		if s.audited() != int64(3*saves) {
			t.Fatalf("%d records were read", s.audited())
		}
		clear(s.edge) // without which there is no header
		if err := s.Save(mem); err == nil {
			t.Fatal("it was saved")
		}
		m.again(m.log.recs[:2])
		s = m.open(Options{Memory: recollect(t, f), MemoryKept: true})
		if len(s.Problems()) != 1 || !strings.Contains(s.Problems()[0].Message, "it was cut or rolled back") {
			t.Errorf("after %d: %+v", saves, s.Problems())
		}
	}
}

func FuzzRecollect(f *testing.F) {
	m, file := newMaker(f), memoryFile(f)
	disputed(m)
	m.remember(file, Options{})
	whole, err := os.ReadFile(file.Name())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:2*headerSize])
	huge := slices.Clone(whole)
	for slot := range 2 { // a length that nothing answers for
		copy(huge[slot*headerSize+32:], []byte{0, 0, 0, 0xff})
	}
	f.Add(huge)
	want := told(ask(f, m.open(Options{}), asked(strict)))
	f.Fuzz(func(t *testing.T, text []byte) {
		g := memoryFile(t)
		if _, err := g.Write(text); err != nil {
			t.Fatal(err)
		}
		mem, err := Recollect(g, "store")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, whole) {
			s, err := Open(context.Background(), m.log, Options{Memory: mem})
			if err != nil {
				t.Fatal(err)
			}
			if mem.valid && s.start*frameSize > int64(len(text)) {
				t.Errorf("%d bytes hold %d records", len(text), s.start)
			}
			// A right digest over other frames cannot be made by chance.
			if got := told(ask(t, s, asked(strict))); !mem.valid && got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
	})
}

// TestMemoryParts has a memory of many parts, where records that name hundreds of others lie across their borders: what is
// recalled is the index that an audit makes.
func TestMemoryParts(t *testing.T) {
	m, f := newMaker(t), memoryFile(t)
	for range 6 {
		hs := make([]receipts.Hash, 0, receipts.MaxMembers)
		for range receipts.MaxMembers {
			hs = append(hs, m.receipt())
		}
		m.consume(hs...)
	}
	audited := m.remember(f, Options{})
	recalled := m.open(Options{Memory: recollect(t, f)})
	if info, err := f.Stat(); err != nil || info.Size() < 2*readPart || recalled.audited() != 0 {
		t.Fatal(err, info.Size(), recalled.audited())
	}
	if !slices.Equal(recalled.index.marks, audited.index.marks) || !slices.Equal(recalled.index.refs, audited.index.refs) {
		t.Error("what is recalled is not what was audited")
	}
}

// TestMemoryGeneration has a header with a right digest say that there is no later generation.
func TestMemoryGeneration(t *testing.T) {
	m, f := newMaker(t), memoryFile(t)
	disputed(m)
	mem := recollect(t, f)
	mem.generation = math.MaxUint64 - 1
	if err := m.open(Options{}).Save(mem); err != nil {
		t.Fatal(err)
	}
	m.fill(3)
	for range 3 { // which would go on from generation 0, below that of the header
		m.remember(f, Options{})
	}
	if s := m.open(Options{Memory: recollect(t, f)}); s.audited() != 0 {
		t.Errorf("%d records are not remembered", s.audited())
	}
}

// TestMemoryLength has a header with a right digest say that there are 4 GB of frames.
func TestMemoryLength(t *testing.T) {
	m, f := newMaker(t), memoryFile(t)
	disputed(m)
	s := m.open(Options{})
	mem := recollect(t, f)
	mem.valid, mem.head, mem.length = true, receipts.Checkpoint{Origin: origin, Count: s.head.Count - 1}, maxMemory-4096
	s.start = s.head.Count - 1
	if err := s.Save(mem); err != nil {
		t.Skip(err) // a file system without holes that large
	}
	if err := f.Truncate(2 * headerSize); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	mem = recollect(t, f)
	again, err := Open(context.Background(), m.log, Options{Memory: mem})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 || mem.valid || again.start != 0 {
		t.Errorf("%d bytes are allocated, and it counts: %v", n, mem.valid)
	}
}

// TestAskReadsLittle: with a memory a question reads the records that it rests on, however many others the log has, of the run of its gate, too.
func TestAskReadsLittle(t *testing.T) {
	m := newMaker(t)
	m.fill(2000)
	m.gate([]receipts.Hash{m.receipt()})
	f := memoryFile(t)
	m.remember(f, Options{})
	s := m.open(Options{Memory: recollect(t, f)})
	if res := ask(t, s, asked()); res.Verdict != Verified || len(s.entries) > 20 {
		t.Errorf("%s, of %d records", told(res), len(s.entries))
	}
}

// TestMemoryStrange: a record that is not of the strict form and names a signer does not stand before the last one that this signer has signed.
func TestMemoryStrange(t *testing.T) {
	boss, keys := newSigner(t)
	m := newMaker(t)
	m.sign = boss
	m.gate([]receipts.Hash{m.receipt()})
	m.signCheckpoint(boss)
	odd := bytes.Replace(m.log.recs[0].Body, []byte("{"), []byte(`{"odd":1,`), 1)
	m.put(Raw{Seq: 2, Kind: m.log.recs[0].Kind, Body: odd})
	f := memoryFile(t)
	o := Options{Keys: keys}
	if s := m.remember(f, o); len(s.Problems()) > 0 || s.index.at(2).signer != s.index.at(0).signer {
		t.Fatalf("%v; the record does not name the signer", s.Problems())
	}
	m.log.note = nil
	o.Memory = recollect(t, f)
	if p := m.open(o).Problems(); len(p) != 1 || !strings.Contains(p[0].Message, "no signed checkpoint covers it") { // before anything is asked
		t.Errorf("without its checkpoint: %v", p)
	}
}
