package postgres

import "github.com/pintle-dev/pintle/internal/store"

// image is a writer's copy of a stack, and the changes that the members of a transaction made to it.
type image struct {
	*store.Image
	turn    int64 // of the stack, when the transaction began
	changes changes
}

func newImage() *image { return &image{Image: store.NewImage()} }
