//go:build !linux

package sqlite_test

// fullChild is only implemented on Linux.
func fullChild(string) {}
