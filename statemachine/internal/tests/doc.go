// Package tests has the tests of package statemachine. They are in a package of their own because of their imports: go
// mod tidy counts the tests of an imported package, and programs that import statemachine should get only this module.
package tests
