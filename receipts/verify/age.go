package verify

import (
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// aged refuses members that ran longer ago than the query accepts. A repeated result is as old as the receipt that it repeats: when
// it was written again nothing ran. Only that receipt is looked at: one that repeats a result names the run of it, and no other repetition.
func (s *Session) aged(q Query, res *Result) {
	if q.MaxAge <= 0 {
		return
	}
	var repeated []receipts.Hash
	leaves := res.Leaves()
	for _, m := range leaves {
		if r := receipt(m.Entry); !r.Reused.IsZero() {
			repeated = append(repeated, r.Reused)
		}
	}
	var first map[receipts.Hash]*receipts.Entry
	if len(repeated) > 0 {
		first = s.bySHA(repeated...)
	}
	for _, m := range leaves {
		r := receipt(m.Entry)
		ran, since := r, ""
		if !r.Reused.IsZero() {
			ran, since = nil, ", and its result was repeated since"
			if e := first[r.Reused]; e != nil {
				ran = receipt(e)
			}
			if ran == nil || !ran.Reused.IsZero() {
				res.no(Stale, receipts.TooOld, m.SHA, "%s repeats the result of %s, whose time is not known here; at most %v is accepted", q.describeLeaf(m), r.Reused.Short(), q.MaxAge)
				continue
			}
		} else if m.Entry == res.Gate {
			continue // its own time is that of the record that was asked about
		}
		switch age := q.Now.Sub(ran.Timestamp.Time); {
		case age > q.MaxAge:
			res.no(Stale, receipts.TooOld, m.SHA, "%s ran %v ago%s; at most %v is accepted", q.describeLeaf(m), age.Round(time.Millisecond), since, q.MaxAge)
		case age < -time.Minute:
			res.no(Stale, receipts.TooOld, m.SHA, "%s is dated %v in the future: a clock was changed", q.describeLeaf(m), (-age).Round(time.Second))
		}
	}
}
