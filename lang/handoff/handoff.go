// Package handoff makes what an agent is given for a task. In comes a step of a plan; out goes a packet, for the command
// line of the agent and for its standard input. It starts nothing.
package handoff

import (
	"encoding/json"

	"github.com/command-dialect/dialect/lang/plan"
)

// A Packet is what an agent is given for a task: on its standard input as JSON, and in its
// command as {prompt}. What it says when it is done proves nothing; the gate receipt that it
// hands back does.
type Packet struct {
	Schema      string            `json:"schema"`         // "dialect.task/1"
	Task        string            `json:"task,omitempty"` // "RUN/STEP"; absent in {prompt}
	Objective   string            `json:"objective"`
	Evidence    string            `json:"evidence,omitempty"`
	Success     []string          `json:"success"`
	Constraints []string          `json:"constraints"`
	Contract    string            `json:"contract,omitempty"` // path of what has to be handed back
	Values      map[string]string `json:"values,omitempty"`   // the other values of the line
}

// Make returns the packet of the step s as JSON, for the task of that name. Values called objective, evidence, success and constraints
// are its fields; without an objective it is the line.
func Make(s *plan.Step, task string) []byte {
	h := Packet{Schema: "dialect.task/1", Task: task, Objective: s.Line.Text, Contract: s.Contract}
	for _, v := range s.Values {
		switch v.Name {
		case "objective":
			h.Objective = v.Text
		case "evidence":
			h.Evidence = v.Text
		case "success":
			h.Success = append(h.Success, v.Text)
		case "constraints":
			h.Constraints = append(h.Constraints, v.Text)
		default:
			if h.Values == nil {
				h.Values = make(map[string]string)
			}
			name := v.Name
			if name == "" {
				name = "args"
			}
			h.Values[name] = v.Text
		}
	}
	for _, name := range s.Require {
		h.Success = append(h.Success, "the last line of your answer is the id of a final gate (g-...) that covers "+name+", made by `dialect run` on the files as you leave them")
	}
	h.Constraints = append(h.Constraints, "change neither routing.toml nor what it pins, and no test or check to make it pass")
	if s.Budget.Timeout > 0 {
		h.Constraints = append(h.Constraints, "you are ended after "+s.Budget.Timeout.String())
	}
	b, _ := json.Marshal(h) // strings alone
	return b
}
