package guard

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLeave: the socket of ssh-agent is left to the agent where that is asked for, and that of gpg-agent never.
func TestLeave(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ssh, gpg, way := filepath.Join(dir, "agent.1"), filepath.Join(dir, "S.gpg-agent.ssh"), filepath.Join(dir, "way")
	for _, name := range []string{ssh, gpg} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(gpg, way); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		socket string
		asked  bool
		want   string
		fails  bool
	}{
		{ssh, true, ssh, false}, {ssh, false, "", false}, {"", true, "", false}, {gpg, true, "", true}, {way, true, "", true}, {filepath.Join(dir, "none"), true, "", true},
	} {
		t.Setenv("SSH_AUTH_SOCK", c.socket)
		got, err := Options{SSHAgent: c.asked}.leave()
		if (err != nil) != c.fails || len(got) > 1 || (len(got) == 1) != (c.want != "") || len(got) == 1 && got[0] != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
