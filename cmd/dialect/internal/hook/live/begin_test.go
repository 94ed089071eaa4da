//go:build unix

package live

import (
	"strings"
	"testing"
	"time"
)

// TestFromNothing takes a project that knows nothing of dialect to a held agent in the two commands that the documentation names.
func TestFromNothing(t *testing.T) {
	each(t, func(t *testing.T, c client, dialect string) {
		p := repository(t, dialect, "")
		p.client, p.model = c, newModel(t, c.tool, c.args, []step{
			do("touch broken"), say("All done."), do("dialect run quality.dlct"), do("rm broken; echo x > fixed.txt"), do("dialect run quality.dlct"), say("Mended, and it passes.")})
		c.setup(t, p, p.model.server.URL)
		p.put(t, "home/.bash_profile", "export "+p.environ()[1]+"\n")
		p.put(t, "project/Makefile", "test:\n\tsh check.sh\n.PHONY: test\n")
		p.must(t, "rm", "routing.toml", "quality.dlct")
		p.must(t, "git", "add", "-A")
		p.must(t, "git", "commit", "-qm", "one")

		begin := time.Now()
		first, second := p.must(t, dialect, "init"), p.must(t, dialect, "hook", "install", c.name)
		if n := strings.Count(second, "\n"); n > 2 {
			t.Errorf("%d lines:\n%s", n, second)
		}
		p.prompt(t)
		t.Logf("%.0f s\n$ dialect init\n%s$ dialect hook install %s\n%s$ %s %s\n$ dialect hook log\n%s", time.Since(begin).Seconds(), first, c.name, second,
			c.name, strings.Join(c.command("'"+firstPrompt+"'"), " "), p.must(t, dialect, "hook", "log"))
		want(t, p, "stop not-checked", "stop verified")
		if p.told(held+" not checked since the last edit.") != 2 || p.told("run: dialect run quality.dlct") != 2 {
			t.Error("the agent did not get the reason and the command")
		}
	})
}
