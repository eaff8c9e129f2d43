//go:build unix

package secretfile

import (
	"io/fs"
	"os"
	"syscall"
)

// ownerOf returns the user that owns a file. What is no file of the system counts as the process's own.
func ownerOf(info fs.FileInfo) (uint32, bool) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Uid, true
	}
	return self(), true
}

func self() uint32 { return uint32(os.Geteuid()) }
