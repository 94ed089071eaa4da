package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A reportData is everything that one run found out; its JSON form is for
// scripts that keep figures of several runs.
type reportData struct {
	Machine machine      `json:"machine"`
	Rounds  int          `json:"rounds"`
	Missing []string     `json:"missing"` // peers that are not on PATH
	Cases   []caseResult `json:"cases"`
}

type machine struct {
	CPUs int    `json:"cpus"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	Go   string `json:"go"`
}

type caseResult struct {
	Name    string    `json:"name"`
	Rounds  int       `json:"rounds"`
	Samples []sample  `json:"subjects"` // the baseline, which ratios are to, comes first
	Budgets []verdict `json:"budgets"`
}

// A kind says which figure a budget bounds, and in which unit.
type kind string

const (
	ratio      kind = "ratio"      // time over the baseline's, at most
	throughput kind = "throughput" // the baseline's time over the subject's, at least
	difference kind = "difference" // ms beyond the baseline's time, at most
	duration   kind = "duration"   // ms, at most
	memory     kind = "memory"     // MB of peak resident set, at most
	ahead      kind = "ahead"      // faster than the baseline, a peer
)

// A budget is a promise about a subject of a case.
type budget struct {
	subject   string
	kind      kind
	limit     float64
	yardstick string // name of a subject; empty for duration and memory
	floor     string // name of the subject that does no more than what cannot be left out; empty for none
}

// missed is the result of a budget that does not hold.
const missed = "MISSED"

// A verdict is a budget and what became of it.
type verdict struct {
	Subject   string  `json:"subject"`
	Kind      kind    `json:"kind"`
	Limit     float64 `json:"limit"`
	Yardstick string  `json:"yardstick,omitempty"`
	Value     float64 `json:"value"`
	Result    string  `json:"result"` // "met", "MISSED", or "not measured"
	Floor     *least  `json:"floor,omitempty"`
}

// A least is what a budget's value would be if dialect did nothing of its own, and what that time goes to.
type least struct {
	Value float64 `json:"value"`
	Parts []part  `json:"parts"`
	Own   float64 `json:"own"` // what dialect takes beyond it: ms, of memory MB
}

type part struct {
	Of string  `json:"of"`
	MS float64 `json:"ms"`
}

// value returns the figure that a budget bounds, for a subject that took s where its baseline took y.
func (b budget) value(s, y sample) float64 {
	switch b.kind {
	case ratio, ahead:
		return s.Median / y.Median
	case throughput:
		return y.Median / s.Median
	case difference:
		return s.Median - y.Median
	case memory:
		return float64(s.RSS) / 1e6
	default:
		return s.Median
	}
}

// leastOf makes the floor of a budget from the subjects that find finds; nil if it has none, or it was not measured.
func (b budget) leastOf(s, y sample, find func(string) (sample, bool)) *least {
	last, ok := find(b.floor)
	if !ok {
		return nil
	}
	l := &least{Value: b.value(last, y), Own: s.Median - last.Median}
	if b.kind == memory {
		l.Own = b.value(s, y) - l.Value
		return l
	}
	before := 0.0
	for _, f := range floors {
		if got, ok := find(f.subject); ok {
			l.Parts = append(l.Parts, part{f.part, got.Median - before})
			before = got.Median
		}
		if f.subject == b.floor {
			break
		}
	}
	return l
}

// judge compares samples with budgets.
func judge(name string, rounds int, samples []sample, budgets []budget) caseResult {
	c := caseResult{Name: name, Rounds: rounds, Samples: samples, Budgets: []verdict{}}
	find := func(name string) (sample, bool) {
		for _, s := range samples {
			if s.Name == name && s.Failed == "" {
				return s, true
			}
		}
		return sample{}, false
	}
	for _, b := range budgets {
		v := verdict{Subject: b.subject, Kind: b.kind, Limit: b.limit, Yardstick: b.yardstick, Result: "not measured"}
		s, ok := find(b.subject)
		y, yok := find(b.yardstick)
		if b.yardstick == "" {
			yok = true
		}
		if ok && yok {
			v.Value = b.value(s, y)
			v.Floor = b.leastOf(s, y, find)
			met := v.Value <= b.limit
			if b.kind == throughput {
				met = v.Value >= b.limit
			}
			v.Result = missed
			if met {
				v.Result = "met"
			}
		}
		c.Budgets = append(c.Budgets, v)
	}
	return c
}

// String returns the budget as a sentence: "dialect: 1.12 x bare loop (at most 1.2)".
func (v verdict) String() string {
	value := func(text string) string {
		if v.Result == "not measured" {
			return "?"
		}
		return text
	}
	switch v.Kind {
	case ratio:
		return fmt.Sprintf("%s: %s x %s, at most %.4g", v.Subject, value(fmt.Sprintf("%.2f", v.Value)), v.Yardstick, v.Limit)
	case ahead:
		return fmt.Sprintf("%s: %s x %s, to be ahead", v.Subject, value(fmt.Sprintf("%.2f", v.Value)), v.Yardstick)
	case throughput:
		return fmt.Sprintf("%s: %s of the throughput of %s, at least %.4g", v.Subject, value(fmt.Sprintf("%.2f", v.Value)), v.Yardstick, v.Limit)
	case difference:
		return fmt.Sprintf("%s: %s ms beyond %s, at most %.4g", v.Subject, value(fmt.Sprintf("%.2f", v.Value)), v.Yardstick, v.Limit)
	case memory:
		return fmt.Sprintf("%s: %s MB resident, at most %.4g", v.Subject, value(fmt.Sprintf("%.1f", v.Value)), v.Limit)
	default:
		return fmt.Sprintf("%s: %s ms, at most %.4g", v.Subject, value(fmt.Sprintf("%.1f", v.Value)), v.Limit)
	}
}

// least says of a missed budget how far it could be met, and what the time goes to; empty where that was not measured.
func (v verdict) least() string {
	if v.Floor == nil || v.Result != missed {
		return ""
	}
	var b strings.Builder
	switch v.Kind {
	case memory:
		return fmt.Sprintf("floor %.1f MB: the program once it has started, most of it pages of its file; what it does takes %.1f MB", v.Floor.Value, v.Floor.Own)
	case ratio, ahead:
		fmt.Fprintf(&b, "floor %.2f x: ", v.Floor.Value)
	default:
		fmt.Fprintf(&b, "floor %.2f ms: ", v.Floor.Value)
	}
	for i, p := range v.Floor.Parts {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %.2f ms", p.Of, p.MS)
	}
	fmt.Fprintf(&b, "; dialect itself %.2f ms", v.Floor.Own)
	return b.String()
}

// spread says between what the rounds lay.
func (s sample) spread() string { return fmt.Sprintf("%.2f %.2f", s.Min, s.Max) }

// missed returns the budgets that were missed, by name.
func (r *reportData) missed() (list []string) {
	for _, c := range r.Cases {
		for _, v := range c.Budgets {
			if v.Result == missed {
				list = append(list, c.Name+": "+v.String())
			}
		}
	}
	return list
}

// broken reports whether a subject that is there could not run.
func (r *reportData) broken() bool {
	for _, c := range r.Cases {
		for _, s := range c.Samples {
			if s.Failed != "" {
				return true
			}
		}
	}
	return false
}

func (r *reportData) json(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func (r *reportData) text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d CPUs, %s/%s, %s; medians; the first line of a case is its baseline\n", r.Machine.CPUs, r.Machine.OS, r.Machine.Arch, r.Machine.Go)
	for _, c := range r.Cases {
		rounds := fmt.Sprintf("%d rounds", c.Rounds)
		if c.Rounds == 1 {
			rounds = "1 round"
		}
		fmt.Fprintf(&b, "\n%-42s %9s %19s %7s %7s\n", c.Name+" ("+rounds+")", "ms", "from to", "ratio", "RSS MB")
		for _, s := range c.Samples {
			label := strings.TrimSpace(s.Name + " " + s.Version)
			if s.Failed != "" {
				fmt.Fprintf(&b, "  %s could not run: %s\n", label, strings.ReplaceAll(s.Failed, "\n", "\n    "))
				continue
			}
			line := fmt.Sprintf("  %-40s %9.2f %19s", label, s.Median, s.spread())
			if y := c.Samples[0]; y.Failed == "" {
				line += fmt.Sprintf(" %7.2f", s.Median/y.Median)
			}
			if s.RSS > 0 {
				line += fmt.Sprintf(" %7.1f", float64(s.RSS)/1e6)
			}
			b.WriteString(line + "\n")
		}
		for _, v := range c.Budgets {
			fmt.Fprintf(&b, "  %-12s %s\n", v.Result, v)
			if text := v.least(); text != "" {
				fmt.Fprintf(&b, "  %-12s %s\n", "", text)
			}
		}
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "\nnot on PATH, and so not compared: %s (make bench-peers installs what can be had)\n", strings.Join(r.Missing, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
