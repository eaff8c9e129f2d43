package main

import "syscall"

// maxBytes returns the peak memory, which Linux reports in KiB.
func maxBytes(used *syscall.Rusage) int64 { return used.Maxrss << 10 }
