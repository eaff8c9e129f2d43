//go:build !linux

package sqlite_test

// fullChild is a process that only Linux has.
func fullChild(string) {}
