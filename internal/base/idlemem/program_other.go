//go:build !linux

package idlemem

// unmapProgram does nothing on this system.
func unmapProgram() error { return nil }
