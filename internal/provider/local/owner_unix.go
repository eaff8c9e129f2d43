//go:build unix

package local

import (
	"os"
	"syscall"
)

// trusted reports whether a directory belongs to someone whose programs may run a handler in dir: to the owner of dir, to this
// process's user, or to root. Anyone can put a virtual environment into a directory such as /tmp.
func trusted(path, dir string) bool {
	owner, ok := ownerOf(path)
	if !ok {
		return false
	}
	beside, ok := ownerOf(dir)
	return owner == 0 || int(owner) == os.Geteuid() || ok && owner == beside
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
