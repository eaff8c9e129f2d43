//go:build !linux

package local

import "time"

// Only Linux shows other processes without the help of a program. Other systems rely on the reports of runners.

func (*process) bornSince(time.Time) bool { return false }

func (*process) cpu() (time.Duration, bool) { return 0, false }
