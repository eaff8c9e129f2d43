// Package secretfile checks that a file which holds secrets is unreadable for other users.
//
// A file of the process's own user must be its alone (mode 0600 or less). A file that root has put there for the process may be
// readable by its group too (0640 or less): so mount Kubernetes the secrets of a pod whose user is not root, and systemd its
// credentials. It is the rule that PostgreSQL has for its keys.
package secretfile

import (
	"io/fs"
	"os"
)

// Private reports whether nobody but those who should can reach the file. On Windows, where a file has no such bits and the
// access list of its directory protects it, every file is private.
func Private(info fs.FileInfo) bool {
	owner, ok := ownerOf(info)
	if !ok {
		return true
	}
	return private(info.Mode().Perm(), owner, self())
}

// Like gives a file the owner, group and mode of the file that it will replace, which info describes. So exactly the
// users that could read the old file can read the new one. A process without the right to change owners remains the
// owner of the file, and its mode stays 0600. The file must be the process's own, with mode 0600. On Windows Like
// does nothing.
func Like(file *os.File, info fs.FileInfo) error { return like(file, info) }

// private decides by the permission bits, the user that owns the file, and the one that reads it.
func private(mode fs.FileMode, owner, reader uint32) bool {
	if owner == 0 && reader != 0 {
		return mode&0o037 == 0
	}
	return mode&0o077 == 0
}
