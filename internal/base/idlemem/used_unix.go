//go:build unix

package idlemem

import (
	"syscall"
	"time"
)

// used returns the processor time of the process, its own and the kernel's for it.
func used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
