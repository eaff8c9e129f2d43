// Package secretfile checks that other users cannot read a file with secrets.
//
// A file of the process's own user must be accessible to that user only (mode 0600 or less). A file of root may also
// be readable by its group (0640 or less). This is how Kubernetes mounts the secrets of a pod whose user is not root,
// and how systemd provides credentials. PostgreSQL has the same rule for its keys.
package secretfile

import (
	"io/fs"
	"os"
)

// Private reports whether only permitted users can access the file. On Windows it always returns true, because files
// have no such bits and the access list of the directory protects them.
func Private(info fs.FileInfo) bool {
	owner, ok := ownerOf(info)
	if !ok {
		return true
	}
	return private(info.Mode().Perm(), owner, self())
}

// Like gives a file the owner, group and mode of the file that it will replace, which info describes, so that exactly
// the same users can read it. A process without the right to change owners remains the owner of the file, and its
// mode stays 0600. The file must be the process's own, with mode 0600. On Windows Like does nothing.
func Like(file *os.File, info fs.FileInfo) error { return like(file, info) }

// private decides by the permission bits, the owner and the reading user.
func private(mode fs.FileMode, owner, reader uint32) bool {
	if owner == 0 && reader != 0 {
		return mode&0o037 == 0
	}
	return mode&0o077 == 0
}
