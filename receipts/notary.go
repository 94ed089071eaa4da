package receipts

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// The modes of a [Notary]: what keeps the asker from the notary.
const (
	NotaryNamespaces = "namespaces" // the asker was in namespaces of its own, with the notary masked
	NotaryLandlock   = "landlock"   // the asker was in a Landlock domain
	NotaryService    = "service"    // the notary was another user
	NotaryUnguarded  = "none"       // nothing
)

// minScopes is the first ABI of Landlock that keeps a process from signalling those outside of its domain.
const minScopes = 6

// MaxNamed is the greatest number of names in a list of a [Notary].
const MaxNamed = 50

// A Notary is the first record of a notary's session: the key of the session, and what that rests on. Identity is
// the signature of a key that outlives the session, and that the verifier names. It is a signature line of
// sumdb/note over the text of this same record without Identity, and a line end:
//
//	dialect.notary/1
//	{...}
//
// The session's private key is discarded when the session ends, so nobody can add records to it.
type Notary struct {
	Version  int    `json:"version"` // 1
	Origin   string `json:"origin"`  // of the store
	Session  string `json:"session"`
	Started  Time   `json:"started"`
	Key      string `json:"key"` // "NAME+HASH+KEY"
	Mode     string `json:"mode"`
	ABI      int    `json:"abi"`                // of Landlock; 0 for none
	Project  Datum  `json:"project"`            // path of its root
	Baseline string `json:"baseline,omitempty"` // the commit that the rules come from; absent outside of git
	Matrix   Hash   `json:"matrix,omitzero"`    // of the rules, as they were when the session began
	// InPlace says that commands ran in the working tree, which the asker could change under them.
	InPlace bool `json:"in_place,omitempty"`

	Shares    []Datum `json:"shares,omitempty"`    // what the clean checkouts showed of the machine
	Listeners []Datum `json:"listeners,omitempty"` // what could have run things for the asker outside of its domain
	Masks     []Datum `json:"masks,omitempty"`     // what its domain hid
	More      int     `json:"more,omitempty"`      // names that found no room

	Dialect  string `json:"dialect"` // version of the program
	System   string `json:"system"`
	Identity string `json:"identity,omitempty"` // absent: nobody vouches for the session
	Signer   string `json:"signer,omitempty"`   // as in [Receipt]
}

// Record returns the record of n, for which identity vouches; nil for nobody. Lists are cut at [MaxNamed].
func (n *Notary) Record(identity *Signer) (Record, error) {
	c := *n
	names(&c.Session, &c.Mode, &c.Baseline, &c.Dialect, &c.System, &c.Signer)
	c.Identity = ""
	texts := []*Datum{&c.Project}
	for _, list := range []*[]Datum{&c.Shares, &c.Listeners, &c.Masks} {
		*list = slices.Clone(*list)
		if more := len(*list) - MaxNamed; more > 0 {
			*list, c.More = (*list)[:MaxNamed], c.More+more
		}
		for i := range *list {
			texts = append(texts, &(*list)[i])
		}
	}
	for _, d := range texts {
		if len(d.Text) > MaxName {
			*d = d.Digest()
		}
	}
	rec, err := fit(KindNotary, &c, nil)
	if err != nil || identity == nil {
		return rec, err
	}
	if c.Identity, err = identity.line(string(rec.Text()) + "\n"); err != nil {
		return Record{}, err
	}
	return fit(KindNotary, &c, nil)
}

func (n *Notary) check() error {
	switch {
	case n.Version != 1:
		return fmt.Errorf("version %d; this is version 1", n.Version)
	case n.Session == "" || n.Key == "":
		return errors.New("a notary without a session or a key")
	case !slices.Contains([]string{NotaryNamespaces, NotaryLandlock, NotaryService, NotaryUnguarded}, n.Mode):
		return fmt.Errorf("unknown mode %q", n.Mode)
	case n.ABI < 0 || n.More < 0 || max(len(n.Shares), len(n.Listeners), len(n.Masks)) > MaxNamed:
		return errors.New("a number or a list that cannot be")
	case strings.ContainsAny(n.Identity, "\r\n"):
		return errors.New("an identity of several lines")
	}
	if err := CheckOrigin(n.Origin); err != nil {
		return err
	}
	if _, err := ParseKeys(n.Key); err != nil {
		return err
	}
	return errors.Join(checkNames(n.Session, n.Mode, n.Baseline, n.Dialect, n.System, n.Signer, n.Key), checkTexts(MaxText, n.Identity))
}

// Vouched returns the name of the one of keys that vouches for n, and the key of its session; no name if none does.
func (n *Notary) Vouched(keys note.Verifiers) (by string, session note.Verifiers) {
	if n.Identity == "" || keys == nil {
		return "", nil
	}
	c := *n
	c.Identity = ""
	rec, _, err := recordOf(KindNotary, &c)
	if err != nil {
		return "", nil
	}
	signed, err := note.Open([]byte(string(rec.Text())+"\n\n"+n.Identity+"\n"), keys)
	if err != nil {
		return "", nil
	}
	session, err = ParseKeys(n.Key)
	if err != nil {
		return "", nil
	}
	return signed.Sigs[0].Name, session
}

// Named returns the name of the session's key where it is one of keys itself; empty where it is not.
func (n *Notary) Named(keys note.Verifiers) string {
	v, err := note.NewVerifier(n.Key)
	if err != nil {
		return ""
	}
	if _, err := keys.Verifier(v.Name(), v.KeyHash()); err != nil {
		return ""
	}
	return v.Name()
}

// Level is the highest level that a record of the session can have: what its mode holds.
func (n *Notary) Level() int {
	switch {
	case n.Mode == NotaryService, (n.Mode == NotaryNamespaces || n.Mode == NotaryLandlock) && n.ABI >= minScopes:
		return LevelNotary
	}
	return LevelHash
}

// A Closing is the last record of a notary's session: nothing was cut off a log that ends with it.
type Closing struct {
	Version   int    `json:"version"` // 1
	Session   string `json:"session"`
	Count     int64  `json:"count"` // of the records before this one
	Timestamp Time   `json:"timestamp"`
	Signer    string `json:"signer,omitempty"` // as in [Receipt]
}

// Record returns the record of c.
func (c *Closing) Record() (Record, error) {
	d := *c
	names(&d.Session, &d.Signer)
	return fit(KindClosing, &d, nil)
}

func (c *Closing) check() error {
	switch {
	case c.Version != 1:
		return fmt.Errorf("version %d; this is version 1", c.Version)
	case c.Session == "":
		return errors.New("a closing of no session")
	case c.Count < 1 || c.Count > MaxRecords:
		return errors.New("a count that cannot be")
	}
	return checkNames(c.Session, c.Signer)
}

// A notaryKeys are keys whose signatures count up to [LevelNotary].
type notaryKeys struct{ note.Verifiers }

// OfNotaries returns keys that the caller names as those of notaries: what they claim counts up to [LevelNotary]. The
// claims of other keys count up to [LevelKey].
func OfNotaries(keys note.Verifiers) note.Verifiers {
	if keys == nil {
		return nil
	}
	return notaryKeys{keys}
}

// OfUsers returns keys as ordinary keys: their claims count up to [LevelKey].
func OfUsers(keys note.Verifiers) note.Verifiers {
	if k, ok := keys.(notaryKeys); ok {
		return k.Verifiers
	}
	return keys
}

// AreNotaries reports whether keys were named as those of notaries.
func AreNotaries(keys note.Verifiers) bool {
	_, ok := keys.(notaryKeys)
	return ok
}

// bothKeys knows the keys of two lists.
type bothKeys struct{ first, second note.Verifiers }

func (b bothKeys) Verifier(name string, hash uint32) (note.Verifier, error) {
	if v, err := b.first.Verifier(name, hash); err == nil {
		return v, nil
	}
	return b.second.Verifier(name, hash)
}

// WithSession returns keys, which are those of notaries, and beside them those of a session that one of them vouches for.
func WithSession(keys, session note.Verifiers) note.Verifiers {
	return notaryKeys{bothKeys{keys, session}}
}
