package store

import (
	"context"
	"errors"
)

// rereads is how often [Reread] starts again.
const rereads = 5

// Reread returns a function that calls read, which looks up rows one after the other, and calls it again if one of them is missing. A row
// to which an earlier one has led is missing only if another writer was quicker, or if the database has failed over in between. A read that
// a caller may ask for by a wrong name must turn [ErrNotFound] into an error of its own.
func Reread[In, Out any](read func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (out Out, err error) {
		for range rereads {
			if out, err = read(ctx, in); !errors.Is(err, ErrNotFound) {
				break
			}
		}
		return out, err
	}
}
