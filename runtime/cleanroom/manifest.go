//go:build unix

package cleanroom

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/command-dialect/dialect/runtime/workspace"
)

// A manifest says what a setup left, and is kept beside it: JSON with the members below. The digest of its bytes names what was
// installed, as long as the files are those that it lists.
type manifest struct {
	Schema  string   `json:"schema"`            // dialect.setup/1
	Key     string   `json:"key"`               // see [Room.key], in hexadecimal
	Lowered []string `json:"lowered,omitempty"` // see [Installed]
	Files   []member `json:"files"`             // sorted by path
}

// A member is a file, link or empty directory. Its path begins with tree/, for what is in the project, or with home/.
type member struct {
	Path   []byte `json:"path"`             // with slashes; it need not be UTF-8
	Kind   string `json:"kind"`             // file, executable, link or directory
	Size   int64  `json:"size,omitempty"`   // in bytes, of a file
	SHA256 []byte `json:"sha256,omitempty"` // of a file
	Target []byte `json:"target,omitempty"` // of a link
}

const manifestSchema = "dialect.setup/1"

// maxManifest bounds a manifest, in bytes: a million files or so.
const maxManifest = 256 << 20

// maxPath bounds the path of a member, in bytes.
const maxPath = 4 << 10

var memberKinds = map[string]workspace.FileKind{
	"file": workspace.Regular, "executable": workspace.Executable, "link": workspace.Link, "directory": workspace.Repository,
}

func newManifest(key [32]byte, files []workspace.File, lowered []string) *manifest {
	m := &manifest{Schema: manifestSchema, Key: hex.EncodeToString(key[:]), Lowered: lowered}
	for _, f := range files {
		b := member{Path: []byte(f.Path), Size: f.Size}
		for kind, k := range memberKinds {
			if k == f.Kind {
				b.Kind = kind
			}
		}
		switch f.Kind {
		case workspace.Link:
			b.Target = []byte(f.Target)
		case workspace.Regular, workspace.Executable:
			b.SHA256 = f.SHA256[:]
		}
		m.Files = append(m.Files, b)
	}
	return m
}

// encode returns the bytes of a manifest.
func (m *manifest) encode() []byte {
	text, _ := json.Marshal(m) // it is plain data
	return append(text, '\n')
}

// parseManifest reads a manifest, with the files that it lists. What encode does not write is an error.
func parseManifest(text []byte) (*manifest, []workspace.File, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	m := new(manifest)
	if err := d.Decode(m); err != nil {
		return nil, nil, err
	}
	if _, err := d.Token(); err != io.EOF || m.Schema != manifestSchema {
		return nil, nil, errors.New("it is not the manifest of a setup")
	}
	files := make([]workspace.File, 0, len(m.Files))
	leaf := make(map[string]bool, len(m.Files))
	last := ""
	for _, b := range m.Files {
		f := workspace.File{Path: string(b.Path), Size: b.Size, Target: string(b.Target)}
		kind, known := memberKinds[b.Kind]
		f.Kind = kind
		place, _, in := strings.Cut(f.Path, "/")
		switch {
		case len(f.Path) > maxPath, !known, !in, place != "tree" && place != "home", strings.ContainsRune(f.Path, 0),
			path.Clean(f.Path) != f.Path, !filepath.IsLocal(filepath.FromSlash(f.Path)):
			return nil, nil, fmt.Errorf("%.100q cannot be in a manifest", f.Path)
		case f.Path <= last:
			return nil, nil, fmt.Errorf("%q is out of order", f.Path)
		}
		for dir, _ := split(f.Path); dir != ""; dir, _ = split(dir) {
			if leaf[dir] {
				return nil, nil, fmt.Errorf("%q is below a file", f.Path)
			}
		}
		last, leaf[f.Path] = f.Path, true
		regular := f.Kind == workspace.Regular || f.Kind == workspace.Executable
		switch {
		case f.Kind == workspace.Link:
			f.SHA256 = sha256.Sum256(b.Target)
		case regular:
			copy(f.SHA256[:], b.SHA256)
		}
		if b.Size < 0 || regular != (len(b.SHA256) == sha256.Size) || !regular && len(b.SHA256)+int(b.Size) > 0 ||
			(f.Kind == workspace.Link) != (len(b.Target) > 0) || bytes.IndexByte(b.Target, 0) >= 0 {
			return nil, nil, fmt.Errorf("%q is not as one of its kind is", f.Path)
		}
		files = append(files, f)
	}
	return m, files, nil
}
