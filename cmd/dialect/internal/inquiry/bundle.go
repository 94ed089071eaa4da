package inquiry

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"golang.org/x/mod/sumdb/note"

	"github.com/command-dialect/dialect/cmd/dialect/internal/exit"
	"github.com/command-dialect/dialect/lang/regular"
	"github.com/command-dialect/dialect/receipts"
	"github.com/command-dialect/dialect/receipts/verify"
)

// OpenBundle reads and verifies a bundle. What does not hold is returned as refused,
// what cannot be read as an error.
func OpenBundle(stdin io.Reader, file string, keys note.Verifiers, kept *receipts.Checkpoint) (book *verify.Session, refused, err error) {
	in := stdin
	if file != "-" {
		f, err := regular.Open(file)
		if err != nil {
			return nil, nil, exit.Usagef("cannot read the bundle: %v", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, receipts.MaxBundle+1))
	var interrupted exit.Status
	switch {
	case errors.As(err, &interrupted):
		return nil, nil, err
	case err != nil:
		return nil, nil, exit.Usagef("cannot read the bundle: %v", err)
	}
	b, err := receipts.ParseBundle(text)
	if err != nil && claimsBundle(text) {
		return nil, err, nil
	}
	if err != nil {
		if file == "-" {
			file = "standard input"
		}
		return nil, nil, exit.Usagef("--bundle: cannot read %s: %v", file, err).Hint("`dialect receipts export --bundle g-... >FILE` writes one")
	}
	book, err = verify.OfBundle(b, keys, kept)
	return book, err, nil
}

// claimsBundle reports whether a text that is not a bundle says that it is one: then it was
// changed, and the user has named the right file.
func claimsBundle(text []byte) bool {
	var x struct {
		Schema string `json:"schema"`
	}
	return json.NewDecoder(bytes.NewReader(text)).Decode(&x) == nil && x.Schema == receipts.BundleSchema
}

// answerFromBundle answers the query from a bundle, without a store.
func (q *Question) answerFromBundle(stdin io.Reader, file, id string) (*verify.Result, error) {
	book, refused, err := OpenBundle(stdin, file, q.o.Keys, q.o.Kept)
	if err != nil {
		return nil, err
	}
	var unshown *verify.UnshownError
	var cut *verify.CutError
	switch {
	case errors.As(refused, &cut):
		return broken(verify.Missing, receipts.Cut, refused.Error()), nil
	case errors.As(refused, &unshown):
		q.unshown = true
		return broken(verify.Missing, receipts.Missing, refused.Error()), nil
	case refused != nil:
		return broken(verify.Tampered, receipts.Tampered, refused.Error()), nil
	}
	var res *verify.Result
	if id == "" {
		res, err = book.Verify(q.Query)
	} else {
		res, err = book.One(q.Query, id)
	}
	var lookup *verify.LookupError
	switch {
	case errors.As(err, &lookup) && lookup.Bad:
		return nil, badID(id, err)
	case errors.As(err, &lookup):
		return nil, exit.Usagef("%v in the bundle", err)
	case err != nil:
		return nil, err
	}
	q.culprit, q.several = culprit(res, book.Entry)
	q.statement, q.voucher = book.Notary()
	return res, nil
}
