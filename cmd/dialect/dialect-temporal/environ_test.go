package main_test

import "testing"

// Commands do not learn by what the worker reaches the server.
func TestEnviron(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{
		"routing.toml": "[commands.c]\nverb = \"check\"\nnoun = \"it\"\ntool = \"sh look.sh\"\neffect = \"read\"\n",
		"look.sh":      "! env | grep ^TEMPORAL_\n",
		"c.dlct":       "Check it\n",
	})
	l.env = []string{"TEMPORAL_GRPC_META_TOKEN=of the worker"}
	l.worker()
	p := l.run("c.dlct")
	if got := l.wait(p); got != 0 {
		t.Errorf("status %d\n%s%s", got, &p.out, &p.err)
	}
}
