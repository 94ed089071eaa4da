//go:build linux

package regular

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// aclOf is an ACL: the owner may read and write, one user may what named says, the group may do nothing, others may read.
func aclOf(named uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2) // version
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 6, ^uint32(0)}, {0x02, named, 1}, {0x04, 0, ^uint32(0)}, {0x10, 4, ^uint32(0)}, {0x20, 4, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

// inherit has a new file take over from the file at path, and returns what it is then.
func inherit(t *testing.T, path string, perm fs.FileMode) (fs.FileInfo, []byte) {
	t.Helper()
	from, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := Inherit(to, from, perm); err != nil {
		t.Fatal(err)
	}
	info, err := to.Stat()
	if err != nil {
		t.Fatal(err)
	}
	acl := make([]byte, 1000)
	n, err := syscall.Getxattr(path+".new", aclName, acl)
	if err != nil {
		n = 0
	}
	return info, acl[:n]
}

// TestInherit keeps owner, group and ACL as root, and not the bits of a group that another user cannot give.
func TestInherit(t *testing.T) {
	const variable = "DIALECT_TEST_INHERIT"
	if dir := os.Getenv(variable); dir != "" {
		for name, want := range map[string]fs.FileMode{"640": 0o600, "644": 0o604, "604": 0o600, "664": 0o604, "600": 0o600, "own": 0o644} {
			info, _ := inherit(t, filepath.Join(dir, name), permOf(t, filepath.Join(dir, name)))
			if info.Mode().Perm() != want {
				t.Errorf("%s: %o, want %o", name, info.Mode().Perm(), want)
			}
		}
		// Of a file with an ACL the bits of the group are the mask: the group may have had less.
		if path := filepath.Join(dir, "acl"); permOf(t, path) == 0o644 {
			if info, _ := inherit(t, path, 0o644); info.Mode().Perm() != 0o600 {
				t.Errorf("with an ACL: %o, want 600", info.Mode().Perm())
			}
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	dir, err := os.MkdirTemp("", "inherit")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, perm := range map[string]fs.FileMode{"640": 0o640, "644": 0o644, "604": 0o604, "664": 0o664, "600": 0o600, "own": 0o644} {
		path, gid := filepath.Join(dir, name), 100
		if name == "own" {
			gid = 65534
		}
		if err := errors.Join(os.WriteFile(path, nil, perm), os.Chmod(path, perm), os.Chown(path, 65534, gid)); err != nil {
			t.Fatal(err)
		}
	}
	withACL := filepath.Join(dir, "acl")
	if err := errors.Join(os.WriteFile(withACL, nil, 0o644), os.Chown(withACL, 65534, 100)); err != nil {
		t.Fatal(err)
	}
	if syscall.Setxattr(withACL, aclName, aclOf(0), 0) != nil || os.Chmod(withACL, 0o644) != nil {
		_ = os.Chmod(withACL, 0o600) // no ACLs here
	}
	path := filepath.Join(dir, "root")
	if err := errors.Join(os.WriteFile(path, nil, 0o640), os.Chown(path, 1234, 100), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	info, acl := inherit(t, path, 0o751)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 100 || info.Mode().Perm() != 0o751 || len(acl) > 0 {
		t.Errorf("%d:%d %o, ACL %x", st.Uid, st.Gid, info.Mode().Perm(), acl)
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	defer exe.Close()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestInherit$", "-test.v")
	cmd.Dir, cmd.Env = "/", []string{variable + "=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestInherit")) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

func permOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// TestInheritACL keeps an ACL, and takes away one that only the folder gave.
func TestInheritACL(t *testing.T) {
	dir := t.TempDir()
	old, plain := filepath.Join(dir, "old"), filepath.Join(dir, "plain")
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.WriteFile(plain, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setxattr(old, aclName, aclOf(0), 0); err != nil {
		t.Skip("no ACLs here: ", err)
	}
	if err := syscall.Setxattr(dir, "system.posix_acl_default", aclOf(6), 0); err != nil {
		t.Fatal(err)
	}
	if info, acl := inherit(t, old, 0o644); info.Mode().Perm() != 0o644 || !bytes.Equal(acl, aclOf(0)) {
		t.Errorf("%o, %x", info.Mode().Perm(), acl)
	}
	if info, acl := inherit(t, plain, 0o644); info.Mode().Perm() != 0o644 || len(acl) > 0 {
		t.Errorf("%o, %x", info.Mode().Perm(), acl)
	}
}
