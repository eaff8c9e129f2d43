// Package imports checks the import rules between packages, and the package map in CONTRIBUTING.md. It contains only
// tests.
package imports
