//go:build !linux

package frugal

// unmapProgram does nothing here.
func unmapProgram() error { return nil }
