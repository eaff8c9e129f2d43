//go:build !unix

package idlemem

import "time"

// used returns 0 because processor time is unknown here. The process looks idle from the start, so Rest runs once.
func used() time.Duration { return 0 }
