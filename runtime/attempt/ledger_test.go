package attempt

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/command-dialect/dialect/receipts"
)

// A deaf store never answers a question.
type deaf struct{ Store }

func (deaf) wait() error { select {} }

func (d deaf) Gate(context.Context, receipts.GateRequest) (receipts.Decision, error) {
	return receipts.Decision{}, d.wait()
}
func (d deaf) Validate(context.Context, ...string) (receipts.Decision, error) {
	return receipts.Decision{}, d.wait()
}
func (d deaf) Passed(context.Context, receipts.Hash, receipts.Datum, receipts.Datum, receipts.Tree) (receipts.Entry, bool, error) {
	return receipts.Entry{}, false, d.wait()
}
func (d deaf) Counted(context.Context, []receipts.Counting, string) (map[receipts.Counting]receipts.Entry, error) {
	return nil, d.wait()
}

// TestPatient asks a store that does not answer each question that a run asks it: none outlasts a run that was cut short.
func TestPatient(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	s := reflect.ValueOf(Store(patient{deaf{}, newLedger(Options{Store: deaf{}, Patience: time.Millisecond}, ended, t.Context())}))
	for _, name := range []string{"Gate", "Validate", "Passed", "Counted"} {
		m := s.MethodByName(name)
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < m.Type().NumIn() && !m.Type().IsVariadic(); i++ {
			args = append(args, reflect.Zero(m.Type().In(i)))
		}
		answered := make(chan error, 1)
		go func() {
			out := m.Call(args)
			err, _ := out[len(out)-1].Interface().(error)
			answered <- err
		}()
		select {
		case err := <-answered:
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s does not end", name)
		}
	}
}
