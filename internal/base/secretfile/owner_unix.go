//go:build unix

package secretfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ownerOf returns the user that owns a file. It returns the process's own user if the owner is unknown.
func ownerOf(info fs.FileInfo) (uint32, bool) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Uid, true
	}
	return self(), true
}

func like(file *os.File, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	err := file.Chown(int(stat.Uid), int(stat.Gid))
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Chmod(info.Mode().Perm()) // after Chown, so that the old group never gets access
}

func self() uint32 { return uint32(os.Geteuid()) }
