//go:build unix && !linux

package main

import "syscall"

// maxBytes returns the peak memory, which macOS reports in bytes.
func maxBytes(used *syscall.Rusage) int64 { return used.Maxrss }
