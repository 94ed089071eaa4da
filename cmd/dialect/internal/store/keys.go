package store

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
)

// maxKeys bounds a file of public keys, and of a checkpoint, in bytes.
const maxKeys = 1 << 20

// ReadKeys parses the public keys that --key names, each by itself or by a file of them; nil for no names.
func ReadKeys(names []string) (note.Verifiers, error) {
	var texts []string
	for _, k := range names {
		if strings.Count(k, "+") >= 2 {
			texts = append(texts, k)
			continue
		}
		b, err := regular.Read(k, maxKeys)
		if err != nil {
			return nil, exit.Usagef("--key %s: it is neither a public key nor a file of them: %v", k, err)
		}
		texts = append(texts, strings.Fields(string(b))...)
	}
	switch {
	case len(names) == 0:
		return nil, nil
	case len(texts) == 0:
		return nil, exit.Usagef("--key: there is no key in %s", strings.Join(names, ", "))
	}
	v, err := receipts.ParseKeys(texts...)
	if err != nil {
		return nil, exit.Usagef("--key: %v", err)
	}
	return v, nil
}

// ReadCheckpoint reads the checkpoint that was kept in a file, for --since; nil for no name. A
// signature that is there must hold where there are keys.
func ReadCheckpoint(file string, keys note.Verifiers) (*receipts.Head, error) {
	if file == "" {
		return nil, nil
	}
	b, err := regular.Read(file, maxKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("--since: there is no file %s", file).Hint("`dialect receipts checkpoint >%s` makes one", file)
	}
	if err != nil {
		return nil, exit.Usagef("--since: %v", err)
	}
	h, _, err := receipts.ParseHead(b, keys)
	if err != nil {
		return nil, exit.Failf(exit.Refused, "--since %s: %v", file, err)
	}
	return &h, nil
}
