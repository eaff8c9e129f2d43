//go:build unix && !linux

package main

import "syscall"

// maxBytes is the peak of memory, which macOS tells in bytes.
func maxBytes(used *syscall.Rusage) int64 { return used.Maxrss }
