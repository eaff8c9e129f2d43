//go:build !linux

package idlemem

// unmapProgram does nothing here.
func unmapProgram() error { return nil }
