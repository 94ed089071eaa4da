package output

import (
	"io"

	"github.com/command-dialect/dialect/lang/diag"
)

// SARIF writes l as a SARIF 2.1.0 log (OASIS, 27 March 2020) of one run.
func SARIF(w io.Writer, l diag.List, o Options) error {
	type message struct {
		Text string `json:"text"`
	}
	type region struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	type artifact struct {
		URI   string `json:"uri"`
		Index int    `json:"index"`
	}
	type physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   *region  `json:"region,omitempty"`
	}
	type location struct {
		ID       int      `json:"id,omitempty"`
		Physical physical `json:"physicalLocation"`
		Message  *message `json:"message,omitempty"`
	}
	type replacement struct {
		Deleted  region   `json:"deletedRegion"`
		Inserted *message `json:"insertedContent,omitempty"`
	}
	type change struct {
		Artifact     artifact      `json:"artifactLocation"`
		Replacements []replacement `json:"replacements"`
	}
	type fix struct {
		Description message           `json:"description"`
		Changes     []change          `json:"artifactChanges"`
		Properties  map[string]string `json:"properties"`
	}
	type result struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      message           `json:"message"`
		Locations    []location        `json:"locations"`
		Related      []location        `json:"relatedLocations,omitempty"`
		Fixes        []fix             `json:"fixes,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	type rule struct {
		ID   string   `json:"id"`
		Full *message `json:"fullDescription,omitempty"`
	}
	type file struct {
		Location struct {
			URI string `json:"uri"`
		} `json:"location"`
	}
	type driver struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		Rules   []rule `json:"rules"`
	}
	type run struct {
		Tool struct {
			Driver driver `json:"driver"`
		} `json:"tool"`
		ColumnKind string   `json:"columnKind"`
		Artifacts  []file   `json:"artifacts"`
		Results    []result `json:"results"`
	}
	r := run{ColumnKind: "unicodeCodePoints", Artifacts: []file{}, Results: []result{}}
	r.Tool.Driver = driver{Name: "dialect", Version: o.Version, Rules: []rule{}}
	rules, files := make(map[diag.Code]int), make(map[string]int)
	place := func(name string, s diag.Span) physical {
		i, ok := files[name]
		if !ok {
			i = len(r.Artifacts)
			files[name] = i
			var f file
			f.Location.URI = o.reference(name)
			r.Artifacts = append(r.Artifacts, f)
		}
		p := physical{Artifact: artifact{o.reference(name), i}}
		if s.IsValid() {
			p.Region = &region{StartLine: s.Start.Line, StartColumn: s.Start.Column}
			if s.End.IsValid() {
				p.Region.EndLine, p.Region.EndColumn = s.End.Line, s.End.Column
			}
		}
		return p
	}
	seen := make(map[string]int)
	for _, d := range l {
		d = d.HideKeys()
		i, ok := rules[d.Code]
		if !ok {
			i = len(r.Tool.Driver.Rules)
			rules[d.Code] = i
			rl := rule{ID: string(d.Code)}
			if p, ok := diag.PageOf(d.Code); ok {
				rl.Full = &message{p.Text}
			}
			r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, rl)
		}
		level := map[diag.Severity]string{diag.Error: "error", diag.Warning: "warning", diag.Note: "note"}[d.Severity]
		res := result{
			RuleID: string(d.Code), RuleIndex: i, Level: level, Message: message{text(d)},
			Locations:    []location{{Physical: place(d.File, d.Span)}},
			Fingerprints: map[string]string{"dialect/v1": o.fingerprint(d, seen)},
		}
		for n, rel := range d.Related {
			res.Related = append(res.Related, location{n + 1, place(rel.File, rel.Span), &message{rel.Message}})
		}
		for _, x := range d.Fixes {
			f := fix{Description: message{x.Message}, Properties: map[string]string{"applicability": x.Applicability.String()}}
			for _, e := range x.Edits {
				at := place(e.File, e.Span)
				rep := replacement{Deleted: *at.Region}
				if e.New != "" {
					rep.Inserted = &message{e.New}
				}
				if n := len(f.Changes); n == 0 || f.Changes[n-1].Artifact != at.Artifact {
					f.Changes = append(f.Changes, change{Artifact: at.Artifact})
				}
				last := &f.Changes[len(f.Changes)-1]
				last.Replacements = append(last.Replacements, rep)
			}
			res.Fixes = append(res.Fixes, f)
		}
		r.Results = append(r.Results, res)
	}
	return WriteJSON(w, struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", []run{r}})
}
