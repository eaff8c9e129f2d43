package store

import (
	"context"
	"errors"
)

// rereads is the number of times that [Reread] calls read.
const rereads = 5

// Reread returns a function that calls read, which looks up related rows one after the other, and calls it again if it
// returns [ErrNotFound]. A row that an earlier row refers to is missing only if another writer was faster, or if the
// database failed over in between. If a caller can pass a wrong name, read must return an error other than
// [ErrNotFound] for that.
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
