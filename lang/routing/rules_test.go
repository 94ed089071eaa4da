package routing_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/routing"
)

const pinning = `extends = ["other.toml"]
[commands.test_it]
verb = "test"
noun = "it"
tool = "make test"
pins = ["Makefile", "sub/../absent", "other.toml", "/etc/shared"]
`

// A matrix is a function of the bytes that its loader reads once each, pinned files included.
func TestReadOnce(t *testing.T) {
	files := map[string]string{
		"/p/routing.toml": pinning, "/p/other.toml": "# other\n", "/p/Makefile": "test:\n", "/etc/shared": "s",
	}
	digest := func(path string) (string, map[string]int) {
		reads := make(map[string]int)
		m, list := routing.Load(path, "routing.toml", routing.Options{ReadFile: func(path string) ([]byte, error) {
			path = filepath.ToSlash(path)
			reads[path]++
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		}})
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Read {
			text, ok := files[filepath.ToSlash(f.Path)]
			if f.Absent == ok || string(f.Content) != text || f.Pin != slices.Contains([]string{"Makefile", "absent", "../etc/shared"}, f.Name) {
				t.Errorf("%+v", f)
			}
		}
		return m.SHA256, reads
	}
	before, reads := digest("/p/routing.toml")
	if want := map[string]int{"/p/routing.toml": 1, "/p/other.toml": 1, "/p/Makefile": 1, "/p/absent": 1, "/etc/shared": 1}; !reflect.DeepEqual(reads, want) {
		t.Errorf("read %v, want %v", reads, want)
	}
	seen := map[string]string{before: "nothing"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		old := files[name]
		for _, text := range []string{old + "\n", "#" + old} {
			if name == "/p/routing.toml" && text[0] == '#' {
				continue
			}
			files[name] = text
			sum, _ := digest("/p/routing.toml")
			if other, ok := seen[sum]; ok {
				t.Errorf("%s changed, and the digest is that of %s", name, other)
			}
			seen[sum] = name
		}
		files[name] = old
	}
	files["/p/absent"] = ""
	if sum, _ := digest("/p/routing.toml"); seen[sum] != "" {
		t.Error("an empty pinned file is the same as none")
	}
	// The place of the project is not in the digest.
	for _, name := range []string{"routing.toml", "other.toml", "Makefile", "absent"} {
		files["/q/"+name] = files["/p/"+name]
	}
	p, _ := digest("/p/routing.toml")
	if q, _ := digest("/q/routing.toml"); p != q {
		t.Error("another folder gives another digest")
	}
}

// What blocks or never ends is not read.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := exec.Command("mkfifo", fifo).Run(); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		for _, path := range []string{fifo, "/dev/zero", dir} {
			if text, err := routing.ReadFile(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s: %d bytes, %v", path, len(text), err)
			}
			_, list := routing.Load(path, "routing.toml", routing.Options{})
			if list.Err() == nil {
				t.Errorf("%s is a matrix", path)
			}
		}
		done <- nil
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a FIFO holds the loader")
	}
}

// A pin that cannot be read is an error, so that no line runs: the gate would refuse, and so would verify.
func TestUnreadablePin(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "routing.toml")
	if err := os.WriteFile(path, []byte("[commands.test_it]\nverb = \"test\"\nnoun = \"it\"\ntool = \"go\"\npins = [\"missing\", \"sub/..\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, list := routing.Load(path, "routing.toml", routing.Options{})
	if len(m.Read) != 3 || m.Read[1].Problem == "" || !m.Read[2].Absent {
		t.Errorf("%+v", m.Read)
	}
	if len(list) != 1 || list[0].Code != diag.BadValue || list[0].Severity != diag.Error || routing.Unread(list) ||
		!strings.Contains(list[0].Message, "pins names sub/.., which cannot be read: not a regular file") {
		t.Error(list)
	}
}

func TestVerifyRequire(t *testing.T) {
	const bindings = `
[commands.test_it]
verb = "test"
noun = "it"
tool = "x"
[commands.check_it]
verb = "check"
noun = "it"
tool = "x"
[commands.gate_quality]
verb = "gate"
noun = "quality"
composite = ["test_it", "check_it"]
`
	m, list := loadWith(t, `extends = ["a.toml"]`, map[string]string{"a.toml": "[verify]\nrequire = [\"test it\", \"gate_quality\", \"quality\"]\n" + bindings})
	if list.Err() != nil || !slices.Equal(m.Require, []string{"test it", "gate_quality", "quality"}) {
		t.Error(m.Require, list)
	}
	m, list = loadWith(t, "extends = [\"a.toml\"]\n[verify]\nrequire = []\n", map[string]string{"a.toml": "[verify]\nrequire = [\"test it\"]\n" + bindings})
	if list.Err() != nil || len(m.Require) != 0 {
		t.Error("the later file does not win:", m.Require, list)
	}
	for text, want := range map[string]struct {
		code    diag.Code
		message string
	}{
		`require = ["nothing"]`:                 {diag.UnknownMember, `binds nothing called "nothing"`},
		`require = ["it"]`:                      {diag.UnknownMember, `several bindings have the word "it": test_it, check_it`},
		`require = ["test_it", "gate results"]`: {diag.BadValue, "is the gate"},
		`require = "test_it"`:                   {diag.MatrixSyntax, "require"},
		`require = [1]`:                         {diag.MatrixSyntax, "require"},
		`requires = ["test_it"]`:                {diag.UnknownKey, "requires"},
	} {
		_, list := loadWith(t, "[verify]\n"+text+"\n"+bindings, nil)
		if len(list) != 1 || list[0].Code != want.code || !strings.Contains(list[0].Message, want.message) || list[0].Span.Start.Line != 2 {
			t.Errorf("%s: %+v", text, list)
		}
	}
}
