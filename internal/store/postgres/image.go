package postgres

import "github.com/pintle-dev/pintle/internal/store"

// image is what a writer knows of a stack, and what the members of a transaction decided for it.
type image struct {
	*store.Image
	turn    int64 // of the stack, when the transaction began
	changes changes
}

func newImage() *image { return &image{Image: store.NewImage()} }
