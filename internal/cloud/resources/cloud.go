// Package resources has the code that the native resource types of AWS and Alibaba Cloud share.
//
// A type is a [Table] of its properties and a [Maker], which creates, updates and removes resources. [New] combines
// both into a native type. Every object records its holder: the stack, the resource and the request of the Create. If
// a request is served twice, the second attempt finds the object by its holder. A Delete removes no object that
// another resource created. [Put], [Change], [Own] and [Drop] implement this for resources that exist only as rows of
// the catalog.
package resources

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
)

// DefaultPatience is how long one request of a type may take. It is long enough to copy the code of a function.
const DefaultPatience = 5 * time.Minute

// Maker creates, updates and removes the resources of a type.
type Maker interface {
	// Create creates the declared resource. If the same request created it before, Create updates it as declared.
	// With an error, the result has a physical ID only if this request left something behind.
	Create(ctx context.Context, c *Call) (native.Result, error)
	// Update changes the resource with the call's physical ID, and returns all attributes.
	Update(ctx context.Context, c *Call) (native.Result, error)
	// Remove removes the resource if this stack resource created it.
	Remove(ctx context.Context, c *Call) error
}

// ErrOff is the error for requests on a server without local cloud emulation.
var ErrOff = errors.New("local cloud emulation is off: start the server with --dev or --run-functions")
