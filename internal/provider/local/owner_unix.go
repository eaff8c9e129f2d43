//go:build unix

package local

import (
	"os"
	"syscall"
)

// trusted reports whether a directory belongs to a user whose programs may run a handler in dir: the owner of dir, this
// process's user, or root. Anyone can create a virtual environment in a directory such as /tmp.
func trusted(path, dir string) bool {
	owner, ok := ownerOf(path)
	if !ok {
		return false
	}
	expected, ok := ownerOf(dir)
	return owner == 0 || int(owner) == os.Geteuid() || ok && owner == expected
}

func ownerOf(path string) (uid uint32, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}
