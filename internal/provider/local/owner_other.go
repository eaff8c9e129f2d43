//go:build !unix

package local

// trusted reports whether a directory belongs to a user whose programs may run a handler in dir. On this system it does
// not check owners.
func trusted(_, _ string) bool { return true }
