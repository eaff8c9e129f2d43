package resources

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// Reason is an error with the service's own text.
type Reason string

// Error implements error.
func (r Reason) Error() string { return string(r) }

// Reasonf returns a [Reason].
func Reasonf(format string, args ...any) error { return Reason(fmt.Sprintf(format, args...)) }

// Dialect returns the dialect of the call's stack.
func (c *Call) Dialect() wire.Dialect {
	if c.Partition == "" {
		return wire.ROS
	}
	return wire.CloudFormation
}

// Taken returns the service's error for a Create whose name is taken. holder has the existing object.
func (c *Call) Taken(name, holder string) error {
	switch {
	case c.Made(holder) && c.Dialect() == wire.ROS:
		return errors.New(name + " already exists: this resource has made it before, and it has to be deleted first")
	case c.Made(holder):
		return Reason("CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename " +
			name + " and update the stack again.")
	case holder != "":
		stack, _, _ := strings.Cut(holder, "|")
		return errors.New(name + " already exists in stack " + stack)
	}
	return errors.New(name + " already exists")
}

// Lost returns the service's error for an Update of a missing resource.
func (c *Call) Lost() error {
	if c.Dialect() == wire.ROS {
		return lostError{Reason("The resource of type " + c.Kind + " (" + c.Physical() + ") could not be found.")}
	}
	return lostError{Reason("Resource of type '" + c.Kind + "' with identifier '" + c.Physical() + "' was not found.")}
}

// lostError is the error of [Call.Lost].
type lostError struct{ Reason }

// Unwrap returns the reason.
func (e lostError) Unwrap() error { return e.Reason }

// Bad returns the service's error for an invalid property, such as "be a list".
func (c *Call) Bad(property, must string) error { return native.BadValue(c.Dialect(), property, must) }

// badName returns the error for an invalid declared name.
func (t *Table) badName(must string) error {
	if t.Dialect == wire.ROS {
		return native.BadValue(t.Dialect, t.Named, must)
	}
	return Reasonf("Property validation failure: [Value of property {/%s} must %s]", t.Named, must)
}
