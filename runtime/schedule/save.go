package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A saved is a State as JSON.
type saved struct {
	Version  int      `json:"version"` // 1
	Shape    Shape    `json:"shape"`
	Rules    Rules    `json:"rules"`
	Progress progress `json:"progress"`
	Nodes    []status `json:"nodes"` // parents before their members
}

// Save returns all of the state as JSON, for [Load].
func (s *State) Save() ([]byte, error) {
	v := saved{Version: 1, Rules: s.rules, Progress: s.progress}
	for _, n := range s.lines {
		v.Shape.Nodes = append(v.Shape.Nodes, *n.Node)
	}
	for _, n := range s.all {
		v.Nodes = append(v.Nodes, n.status)
	}
	return json.Marshal(v)
}

// Load returns the state that [State.Save] wrote, after the actions before it were carried out:
// those that want no answer are not in it. The actions that it had not been told the end
// of are in [State.Pending].
func Load(text []byte) (*State, error) {
	var v saved
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	if v.Version != 1 {
		return nil, fmt.Errorf("schedule: a state of version %d, and this program knows version 1", v.Version)
	}
	if err := v.Shape.Check(); err != nil {
		return nil, err
	}
	s := New(v.Shape, v.Rules)
	damaged := errors.New("schedule: the state is damaged")
	if len(v.Nodes) != len(s.all) || len(s.byID) != len(s.all) {
		return nil, damaged
	}
	s.progress = v.Progress
	for i, n := range s.all {
		if n.status = v.Nodes[i]; n.Next < 0 {
			return nil, damaged
		}
	}
	if s.Line < 0 || s.Line > len(s.lines) {
		return nil, damaged
	}
	// A state in which nothing waits for an answer would never go on.
	if len(s.Open) == 0 && !s.Done && s.Seq > 0 {
		return nil, damaged
	}
	// A step waits for one thing at a time: an answer, or a slot.
	waits := make(map[string]bool)
	once := func(n *node) bool {
		if n == nil || n.Ended || waits[n.ID] {
			return false
		}
		waits[n.ID] = true
		return true
	}
	for _, id := range s.Queue {
		if n := s.byID[id]; !once(n) || n.Group {
			return nil, damaged
		}
	}
	taken := 0 // slots
	seen := make(map[int]bool)
	for _, a := range s.Open {
		if a.Seq < 1 || a.Seq > s.Seq || seen[a.Seq] {
			return nil, damaged
		}
		seen[a.Seq] = true
		n := s.byID[a.ID]
		ok := once(n)
		switch a.Op {
		case Start, Sync:
			ok = ok && !n.Group
			taken++
		case Gate:
			if last := len(s.lines) - 1; a.Final && a.ID == "" {
				ok = s.Line > last
			} else if a.Final {
				ok = ok && s.Line == last && n == s.lines[last] && n.Gate
			} else {
				ok = ok && n.Gate
				taken++
			}
		case Acquire:
		case Snapshot:
			ok = ok && n.Group
		default:
			ok = false
		}
		if !ok {
			return nil, damaged
		}
	}
	if s.Free != s.rules.Slots-taken || s.Free > 0 && s.ready() >= 0 {
		return nil, damaged
	}
	return s, nil
}
