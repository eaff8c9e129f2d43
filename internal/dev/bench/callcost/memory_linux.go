package main

import "syscall"

// maxBytes is the peak of memory, which Linux tells in KiB.
func maxBytes(used *syscall.Rusage) int64 { return used.Maxrss << 10 }
