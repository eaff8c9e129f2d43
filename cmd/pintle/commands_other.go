//go:build !unix

package main

// ignoreBackgroundReads does nothing: only Unix terminals have background processes.
func ignoreBackgroundReads() {}

// readInBackground reports false, for the same reason.
func readInBackground(error) bool { return false }
