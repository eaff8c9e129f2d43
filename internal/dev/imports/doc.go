// Package imports checks the import rules between packages, the number of methods of each type, and the package map in
// CONTRIBUTING.md. It contains only tests.
package imports
