package postgres

import "github.com/pintle-dev/pintle/internal/store"

// image is what a transaction knows of a stack, and what its members decided for it.
type image struct {
	*store.Image
	changes changes
}

func newImage() *image { return &image{Image: store.NewImage()} }
