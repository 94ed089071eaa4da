package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/command-dialect/dialect/lang/diag"
)

// found is a list over a text with an emoji before the fault, which is two UTF-16 units.
func found() (diag.List, Options) {
	wd, _ := os.Getwd()
	src := diag.NewSource("sub/q.dlct", []byte("Test with x\nClose 🙂é bad\nClose 🙂é bad\n"))
	at := strings.Index(string(src.Text), "bad")
	again := at + len("bad\nClose 🙂é ")
	l := diag.List{
		diag.Errorf(diag.UnboundNoun, "sub/q.dlct", src.Span(at, at+3), "nothing, and 100%%: <b>\x01").WithHint("one\ntwo"),
		diag.Errorf(diag.UnboundNoun, "sub/q.dlct", src.Span(again, again+3), "nothing, and 100%%: <b>\x01"),
		diag.Warnf(diag.DeprecatedLine, "routing.toml", diag.Span{}, "old"),
	}
	l[0].Related = []diag.Related{{File: "routing.toml", Message: "here"}}
	return l, Options{
		Sources: func(name string) *diag.Source {
			if name == src.Name {
				return src
			}
			return nil
		},
		Root: wd, Version: "test", Names: []string{"clean.dlct", "sub/q.dlct"},
	}
}

func TestLSP(t *testing.T) {
	l, o := found()
	var b bytes.Buffer
	if err := LSP(&b, l, o); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want one a file", len(lines))
	}
	var clean, q PublishParams
	if err := json.Unmarshal([]byte(lines[0]), &clean); err != nil || clean.Diagnostics == nil || len(clean.Diagnostics) != 0 || !strings.HasSuffix(clean.URI, "/clean.dlct") {
		t.Errorf("got %s", lines[0])
	}
	if err := json.Unmarshal([]byte(lines[1]), &q); err != nil || len(q.Diagnostics) != 2 {
		t.Fatalf("got %s", lines[1])
	}
	// "Close 🙂é " is 6 + 2 + 1 + 1 units.
	d := q.Diagnostics[0]
	if want := (Range{Position{1, 10}, Position{1, 13}}); d.Range != want || d.Severity != 1 || d.Source != "dialect" || len(d.Related) != 1 {
		t.Errorf("got %+v", d)
	}
}

func TestSARIF(t *testing.T) {
	l, o := found()
	var b bytes.Buffer
	if err := SARIF(&b, l, o); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Artifacts []struct{ Location struct{ URI string } }
			Results   []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct {
							URI   string
							Index int
						}
						Region *struct{ StartLine, StartColumn, EndColumn int }
					}
				}
				PartialFingerprints map[string]string
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("%v: %s", err, b.String())
	}
	r := log.Runs[0]
	seen := make(map[string]bool)
	for _, res := range r.Results {
		p := res.Locations[0].PhysicalLocation
		if r.Tool.Driver.Rules[res.RuleIndex].ID != res.RuleID || r.Artifacts[p.ArtifactLocation.Index].Location.URI != p.ArtifactLocation.URI {
			t.Errorf("an index is wrong: %+v", res)
		}
		if f := res.PartialFingerprints["dialect/v1"]; f == "" || seen[f] {
			t.Errorf("fingerprint %q", f)
		} else {
			seen[f] = true
		}
	}
	// Columns are code points here: 6 + 1 + 1 + 1, from 1.
	if p := r.Results[0].Locations[0].PhysicalLocation; p.ArtifactLocation.URI != "sub/q.dlct" || p.Region.StartLine != 2 || p.Region.StartColumn != 10 || p.Region.EndColumn != 13 {
		t.Errorf("got %+v", p)
	}
	if r.Results[2].Locations[0].PhysicalLocation.Region != nil {
		t.Error("a finding about a whole file has a region")
	}
}

func TestOthers(t *testing.T) {
	l, o := found()
	var b bytes.Buffer
	if err := GitHub(&b, l, o); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); first != "::error file=sub/q.dlct,line=2,endLine=2,col=10,endColumn=13,title=unbound-noun::nothing, and 100%25: <b>\ufffd%0Ahint: one%0Atwo" {
		t.Errorf("got %q", first)
	}
	b.Reset()
	if err := GitLab(&b, l, o); err != nil {
		t.Fatal(err)
	}
	var issues []struct {
		Fingerprint, Severity string
		Location              struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &issues); err != nil || len(issues) != 3 || issues[0].Fingerprint == issues[1].Fingerprint || issues[2].Location.Lines.Begin != 1 {
		t.Errorf("got %s", b.String())
	}
	b.Reset()
	if err := Checkstyle(&b, l, o); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Files []struct {
			Name   string `xml:"name,attr"`
			Faults []struct {
				Line int `xml:"line,attr"`
			} `xml:"error"`
		} `xml:"file"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil || len(doc.Files) != 3 || len(doc.Files[1].Faults) != 2 || doc.Files[1].Faults[0].Line != 2 {
		t.Errorf("%v: %s", err, b.String())
	}
	// The same finding on another line has the same fingerprint, whatever stands above it.
	if a, c := (Options{}).fingerprint(l[0], map[string]int{}), (Options{}).fingerprint(l[0], map[string]int{}); a != c {
		t.Errorf("%s, %s", a, c)
	}
	if got := (Options{Root: "/r"}).path(filepath.Join("..", "x")); !strings.HasSuffix(got, "x") {
		t.Errorf("got %s", got)
	}
	if err := SARIF(&b, nil, Options{}); err != nil {
		t.Error(err)
	}
}

// TestKeysAreHidden: no format has a signing key that a finding repeats.
func TestKeysAreHidden(t *testing.T) {
	const secret = "AUPdCAfj6so5RG6lhhSbidreiZv0jJlVPI5otE42qqZ9"
	l, o := found()
	l[0].Message, l[0].Hint = "no "+diag.KeyPrefix+"boss+9e38bc93+"+secret, "not "+diag.KeyPrefix+"boss+9e38bc93+"+secret
	l[0].Related[0].Message = l[0].Hint
	l[0].Fixes = []diag.Fix{{Message: "write it", Edits: []diag.Edit{{File: l[0].File, Span: l[0].Span, New: l[0].Hint}}}}
	for name, write := range map[string]func(io.Writer, diag.List, Options) error{"SARIF": SARIF, "GitHub": GitHub, "GitLab": GitLab, "Checkstyle": Checkstyle, "LSP": LSP} {
		var b bytes.Buffer
		if err := write(&b, l, o); err != nil || strings.Contains(b.String(), secret) || !strings.Contains(b.String(), diag.KeyPrefix+"...") {
			t.Errorf("%s: %v: %s", name, err, b.String())
		}
	}
}
