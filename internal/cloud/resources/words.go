package resources

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// Reason is an error in the service's own words.
type Reason string

// Error implements error.
func (r Reason) Error() string { return string(r) }

// Reasonf returns a [Reason].
func Reasonf(format string, args ...any) error { return Reason(fmt.Sprintf(format, args...)) }

// Dialect is that of the call's stack.
func (c *Call) Dialect() wire.Dialect {
	if c.Partition == "" {
		return wire.ROS
	}
	return wire.CloudFormation
}

// Taken is the reason of a Create whose name is another's, in the words of the service. holder has what is there.
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

// Lost is the reason of an Update of what is not there, in the words of the service.
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

// Bad is the reason of a request whose property must be something else, e.g. "be a list", in the words of the service.
func (c *Call) Bad(property, must string) error { return native.BadValue(c.Dialect(), property, must) }

// badName is the reason of a declaration of a name.
func (t *Table) badName(must string) error {
	if t.Dialect == wire.ROS {
		return native.BadValue(t.Dialect, t.Named, must)
	}
	return Reasonf("Property validation failure: [Value of property {/%s} must %s]", t.Named, must)
}
