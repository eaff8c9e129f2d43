// Package resources has what the native resource types of AWS and of Alibaba Cloud share.
//
// A type is a [Table] of what may be declared of it and a [Maker], which creates, updates and removes: [New] makes a native type of
// both. Every thing says who has made it, its holder: the stack, the resource and the request of the Create. By that a request that
// is served twice knows what it has made, and a Delete removes nothing that another one has made. [Put], [Change], [Own] and [Drop]
// keep to that for what is a row of the catalog and nothing else.
package resources

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
)

// DefaultPatience is how long one request of a type may take: enough for the code of a function to be copied.
const DefaultPatience = 5 * time.Minute

// Maker makes the resources of a type.
type Maker interface {
	// Create makes what is declared. If the same request has made it before, it is brought to what is declared. With an error
	// the result has a physical id only if something of this very request is there.
	Create(ctx context.Context, c *Call) (native.Result, error)
	// Update changes what the call's physical id names, and returns all attributes.
	Update(ctx context.Context, c *Call) (native.Result, error)
	// Remove removes it if the resource has made it.
	Remove(ctx context.Context, c *Call) error
}

// ErrOff is the reason of what is served where there is no cloud.
var ErrOff = errors.New("local cloud emulation is off: start the server with --dev or --run-functions")
