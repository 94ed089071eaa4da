package regular

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// aclName is the attribute that has the ACL of a file; see acl(5).
const aclName = "system.posix_acl_access"

// inheritACL gives to the ACL of from, or none, and reports whether from has one, and whether to has the same. A folder can give each new
// file one.
func inheritACL(to, from *os.File) (has, ok bool) {
	at := func(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
	acl := make([]byte, 64<<10) // no attribute is longer
	n, err := syscall.Getxattr(at(from), aclName, acl)
	switch {
	case err == nil:
		return true, syscall.Setxattr(at(to), aclName, acl[:n], 0) == nil
	case errors.Is(err, syscall.EOPNOTSUPP):
		return false, true
	case errors.Is(err, syscall.ENODATA):
		err = syscall.Removexattr(at(to), aclName)
		return false, err == nil || errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.EOPNOTSUPP)
	}
	return true, false
}
