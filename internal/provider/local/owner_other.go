//go:build !unix

package local

// trusted reports whether a directory belongs to someone whose programs may run a handler in dir. Here only the permissions of
// the directories above it say so.
func trusted(_, _ string) bool { return true }
