package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/command-dialect/dialect/lang/diag"
	"github.com/command-dialect/dialect/lang/plan"
)

// lockOrder reports locks that composites take in different orders: two steps that run at the same time,
// in one run or in two, would each hold what the other one waits for.
//
// In the graph a lock leads to the bindings that take it, a composite to its members, and a binding to
// the lock that it takes. Composites have no cycles, so one that leads through two locks is what is
// looked for. It is found with Tarjan's algorithm for strongly connected components, which takes the
// graph once (https://en.wikipedia.org/wiki/Tarjan%27s_strongly_connected_components_algorithm).
func (l *loader) lockOrder() {
	type node struct {
		lock    string // or
		binding *Binding
	}
	takers := make(map[string][]*Binding)
	for _, b := range l.m.Bindings {
		if b.Exclusive != "" && b.Kind == plan.Composite {
			takers[b.Exclusive] = append(takers[b.Exclusive], b)
		}
	}
	index, low := make(map[node]int), make(map[node]int)
	var stack []node
	on := make(map[node]bool)
	var visit func(n node)
	visit = func(n node) {
		index[n] = len(index) + 1
		low[n] = index[n]
		stack = append(stack, n)
		on[n] = true
		next := func(m node) {
			if index[m] == 0 {
				visit(m)
				low[n] = min(low[n], low[m])
			} else if on[m] {
				low[n] = min(low[n], index[m])
			}
		}
		if n.binding == nil {
			for _, b := range takers[n.lock] {
				next(node{binding: b})
			}
		} else {
			for _, m := range n.binding.Members {
				if m.Exclusive != "" {
					next(node{lock: m.Exclusive})
				}
				next(node{binding: m})
			}
		}
		if low[n] != index[n] {
			return
		}
		at := len(stack) - 1
		for stack[at] != n {
			at--
		}
		var locks []string
		var bindings []*Binding
		for _, m := range stack[at:] {
			on[m] = false
			if m.binding == nil {
				locks = append(locks, fmt.Sprintf("%q", m.lock))
			} else if m.binding.Exclusive != "" {
				bindings = append(bindings, m.binding)
			}
		}
		stack = stack[:at]
		if len(locks) > 1 {
			l.differentOrders(locks, bindings)
		}
	}
	for _, b := range l.m.Bindings {
		if n := (node{lock: b.Exclusive}); b.Exclusive != "" && index[n] == 0 {
			visit(n)
		}
	}
}

func (l *loader) differentOrders(locks []string, bindings []*Binding) {
	slices.Sort(locks)
	slices.SortFunc(bindings, func(a, b *Binding) int { return strings.Compare(a.Name, b.Name) })
	const most = 5
	if len(locks) > most {
		locks = append(locks[:most], "...")
	}
	first := bindings[0]
	r := newReader(first.Source, &l.list)
	d := r.Errorf(diag.LockOrder, first.KeySpan("exclusive"), "composites take the locks %s in different orders: two that run at the same time would wait for each other for ever", strings.Join(locks, ", "))
	d.Hint = "have every composite take them in one order, or use one lock for all"
	for _, b := range bindings[1:min(len(bindings), most)] {
		d.Related = append(d.Related, diag.Related{File: b.Source.Name, Span: b.KeySpan("exclusive"), Message: fmt.Sprintf("%q takes another order", b.Name)})
	}
}
