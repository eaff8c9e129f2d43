// Package tests has the tests of package waiter. They are not beside it because of what they import: go mod tidy counts
// the tests of an imported package, and who imports waiter is to get nothing but this module.
package tests
