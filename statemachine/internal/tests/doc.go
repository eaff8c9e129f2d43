// Package tests has the tests of package statemachine. They are not beside it because of what they import: go mod tidy counts
// the tests of an imported package, and who imports statemachine is to get nothing but this module.
package tests
