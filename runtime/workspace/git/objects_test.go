package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestObjects has every object of repositories of many kinds be the same, read from the files and by git.
func TestObjects(t *testing.T) {
	hermetic(t)
	if !simple(t) {
		t.Skip("the system's configuration is left to git")
	}
	// Large files that differ a little, so that packs have deltas of deltas, and one that is incompressible.
	const begin = `git init -q "$@" . && for i in 1 2 3 4 5 6 7; do seq $i 5000 >a; mkdir -p d; seq 3000 >d/b$i; git add .; git commit -q -m "commit $i"; git tag -a -m "tag $i" t$i; done; `
	for name, c := range map[string]struct {
		script string
		unsure bool // git is asked for all
	}{
		"loose":               {begin, false},
		"packed":              {begin + "git gc -q --aggressive --prune=now", false},
		"deltas by name":      {begin + "git -c repack.useDeltaBaseOffset=false repack -q -a -d -f --depth=40", false},
		"several packs":       {begin + "git repack -q -d; echo x >x; git add x; git commit -q -m x; git repack -q -d; echo y >y; git add y; git commit -q -m y", false},
		"a multi-pack index":  {begin + "git repack -q -a -d; git multi-pack-index write; git pack-refs --all", false},
		"SHA-256":             {strings.Replace(begin, `"$@"`, "--object-format=sha256", 1) + "git gc -q", false},
		"a worktree":          {"cd .. && rmdir r && mkdir main && cd main && " + begin + "git gc -q && git worktree add -q ../r", false},
		"a detached HEAD":     {begin + "git checkout -q --detach HEAD~2", false},
		"an odd path":         {"cd .. && mv r 'r[a]*' && ln -s 'r[a]*' r && cd r && " + begin + "git gc -q", false},
		"of another":          {"cd .. && rmdir r && mkdir main && cd main && " + begin + "git clone -q --shared . ../r", true},
		"references as table": {"git init -q --ref-format=reftable . && echo a >a && git add a && git commit -q -m a || exit 77", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "r")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("bash", "-c", "set -e; set --; "+c.script)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				if cmd.ProcessState.ExitCode() == 77 {
					t.Skip("this git does not know it")
				}
				t.Fatalf("%v: %s", err, out)
			}
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				dir = real
			}
			r, err := Discover(context.Background(), nil, dir)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(args ...string) string {
				out, err := r.Git.Run(context.Background(), r.Root, Here(r.Root), nil, args...)
				if err != nil {
					t.Fatal(err)
				}
				return string(out)
			}
			head, ok := r.Head()
			if want := strings.TrimSpace(ask("rev-parse", "HEAD")); ok && r.Format.Format(head) != want || !ok && name != "references as table" {
				t.Errorf("HEAD is %s, %v, want %s", r.Format.Format(head), ok, want)
			}
			n := 0
			for line := range strings.Lines(ask("cat-file", "--batch-all-objects", "--batch-check")) {
				words := strings.Fields(line)
				id, err := r.Format.Parse(words[0])
				if err != nil {
					t.Fatal(err)
				}
				kind, content, ok := r.Object(id)
				if ok == c.unsure {
					t.Errorf("%s: read without git: %v", strings.TrimSpace(line), ok)
				}
				if ok && (kind != words[1] || strconv.Itoa(len(content)) != words[2]) {
					t.Errorf("%s %d, git says %s", kind, len(content), line)
				}
				n++
			}
			if n < 3 {
				t.Errorf("there were %d objects", n)
			}
			if _, _, ok := r.Object(ObjectID{1, 2, 3}); ok {
				t.Error("an object that is not there was found")
			}
		})
	}
}

// TestDamagedObjects changes each byte of the files of a small repository: an object is given out as it is, or not at all.
func TestDamagedObjects(t *testing.T) {
	hermetic(t)
	if !simple(t) {
		t.Skip("the system's configuration is left to git")
	}
	dir := t.TempDir()
	script := "git init -q . && seq 100 >a && git add a && git commit -q -m a && seq 101 >a && git commit -q -a -m b && git gc -q && echo z >z && git hash-object -w z"
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, err := Discover(context.Background(), nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Git.Run(context.Background(), r.Root, Here(r.Root), nil, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
	if err != nil {
		t.Fatal(err)
	}
	var ids []ObjectID
	for line := range strings.Lines(string(out)) {
		id, err := r.Format.Parse(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	var files []string
	for _, pattern := range []string{"pack/*.pack", "pack/*.idx", "??/*"} {
		found, _ := filepath.Glob(filepath.Join(r.Objects, pattern))
		files = append(files, found...)
	}
	if len(files) < 3 {
		t.Fatal(files)
	}
	refused := 0
	for _, name := range files {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(name, 0o644)
		for i := 0; i < len(whole); i += 1 + len(whole)/400 {
			for _, damaged := range [][]byte{append(append(bytes.Clone(whole[:i]), whole[i]^0x55), whole[i+1:]...), whole[:i]} {
				if err := os.WriteFile(name, damaged, 0o644); err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					kind, content, ok := r.Object(id)
					if ok && r.Format.Object(kind, content) != id {
						t.Fatalf("%s, damaged at %d: another object is given out", name, i)
					}
					if !ok {
						refused++
					}
				}
			}
		}
		if err := os.WriteFile(name, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

// FuzzApplied holds that no delta panics, or makes more than it says.
func FuzzApplied(f *testing.F) {
	f.Add([]byte("a base of some bytes"), []byte{20, 9, 0x90, 5, 4, 'n', 'e', 'w', '!'})
	f.Add([]byte{}, []byte{0, 0})
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		out, err := applied(base, delta)
		if err != nil {
			return
		}
		_, rest, _ := length(delta)
		if to, _, ok := length(rest); !ok || to != uint64(len(out)) {
			t.Errorf("%d bytes, the delta says %d", len(out), to)
		}
	})
}

// FuzzPack holds that no pair of an index and a pack panics or is read for ever.
func FuzzPack(f *testing.F) {
	id := FormatSHA1.Object("blob", []byte("hello"))
	var idx bytes.Buffer
	idx.WriteString("\xfftOc\x00\x00\x00\x02")
	for i := range 256 {
		n := uint32(0)
		if i >= int(id[0]) {
			n = 1
		}
		_ = binary.Write(&idx, binary.BigEndian, n)
	}
	idx.Write(id[:20])
	idx.Write([]byte{0, 0, 0, 0, 0, 0, 0, 12})
	pack := bytes.NewBufferString("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x35")
	z := zlib.NewWriter(pack)
	_, _ = z.Write([]byte("hello"))
	_ = z.Close()
	f.Add(idx.Bytes(), pack.Bytes())
	f.Add(idx.Bytes(), append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x65\x01"), pack.Bytes()[13:]...))
	f.Add(idx.Bytes(), append(append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x75"), id[:20]...), pack.Bytes()[13:]...))
	dir := f.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pack"), 0o755); err != nil {
		f.Fatal(err)
	}
	r := &Repository{Format: FormatSHA1, Objects: dir, direct: &direct{}}
	f.Fuzz(func(t *testing.T, idx, pack []byte) {
		for suffix, content := range map[string][]byte{".idx": idx, ".pack": pack} {
			if err := os.WriteFile(filepath.Join(dir, "pack", "pack-x"+suffix), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if kind, content, ok := r.Object(id); ok && (kind != "blob" || string(content) != "hello") {
			t.Errorf("%s %q", kind, content)
		}
	})
}

// TestHead reads the branch of HEAD by hand only where git, too, can read it in one way.
func TestHead(t *testing.T) {
	hermetic(t)
	if !simple(t) {
		t.Skip("the system's configuration is left to git")
	}
	const (
		begin  = `git init -q -b main . && echo 1 >a && git add a && git commit -q -m 1 && git branch old && git tag -a -m t t && echo 2 >a && git commit -q -a -m 2 && A=$(git rev-parse old) B=$(git rev-parse main); `
		header = `# pack-refs with: peeled fully-peeled sorted `
		packed = `rm .git/refs/heads/main .git/refs/heads/old; printf '%s\n' `
		write  = ` >.git/packed-refs`
	)
	for name, c := range map[string]struct {
		script string
		read   bool
	}{
		"loose":                        {"", true},
		"packed":                       {"git pack-refs --all", true},
		"no header":                    {packed + `"$B refs/heads/main" "$A refs/heads/old"` + write, true},
		"two lines":                    {packed + `"` + header + `" "$A refs/heads/main" "$B refs/heads/main"` + write, false},
		"two lines apart":              {packed + `"$A refs/heads/main" "$A refs/heads/old" "$B refs/heads/main"` + write, false},
		"not sorted, said to be":       {packed + `"` + header + `" "$A refs/heads/old" "$B refs/heads/main"` + write, false},
		"no line feed":                 {packed + `"$B refs/heads/main"` + write + "; truncate -s -1 .git/packed-refs", false},
		"another line":                 {packed + `"$B refs/heads/main" "x"` + write, false},
		"a second header":              {packed + `"` + header + `" "$B refs/heads/main" "` + header + `"` + write, false},
		"a link":                       {"cd .git/refs/heads && mv main x && ln -s refs/heads/x main", false},
		"a link, packed":               {"git pack-refs --all && ln -s refs/heads/x .git/refs/heads/main", false},
		"a folder that is a link":      {"cd .git/refs && mv heads x && ln -s x heads", false},
		"packed-refs is a link":        {"git pack-refs --all && cd .git && mv packed-refs x && ln -s x packed-refs", false},
		"HEAD is a link":               {"cd .git && rm HEAD && ln -s refs/heads/main HEAD", false},
		"a symbolic ref":               {"git symbolic-ref refs/heads/s refs/heads/main && echo 'ref: refs/heads/s' >.git/HEAD", false},
		"a name that no ref can have":  {"cp .git/refs/heads/main .git/refs/heads/x.lock && echo 'ref: refs/heads/x.lock' >.git/HEAD", false},
		"another such name":            {"cp .git/refs/heads/main '.git/refs/heads/x~1' && echo 'ref: refs/heads/x~1' >.git/HEAD", false},
		"a folder in place of the ref": {packed + `"$B refs/heads/main"` + write + "; mkdir .git/refs/heads/main", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command("bash", "-c", "set -e; "+begin+c.script)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			r, err := Discover(context.Background(), nil, dir)
			if err != nil {
				t.Fatal(err)
			}
			head, ok := r.Head()
			if ok != c.read {
				t.Errorf("read by hand: %s, %v", r.Format.Format(head), ok)
			}
			if !ok {
				return
			}
			out, err := r.Git.Run(context.Background(), r.Root, Here(r.Root), nil, "rev-parse", "HEAD")
			if err != nil || r.Format.Format(head) != strings.TrimSpace(string(out)) {
				t.Errorf("%s, git says %s, %v", r.Format.Format(head), out, err)
			}
		})
	}
}
