package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
)

func TestReread(t *testing.T) {
	other := errors.New("other")
	for name, c := range map[string]struct {
		errs  []error // of consecutive calls; nil from then on
		want  error
		calls int
	}{
		"found":          {nil, nil, 1},
		"missing once":   {[]error{fmt.Errorf("an operation: %w", store.ErrNotFound)}, nil, 2},
		"another error":  {[]error{other}, other, 1},
		"always missing": {[]error{store.ErrNotFound, store.ErrNotFound, store.ErrNotFound, store.ErrNotFound, store.ErrNotFound}, store.ErrNotFound, 5},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			got, err := store.Reread(func(_ context.Context, in string) (string, error) {
				if calls++; calls <= len(c.errs) {
					return "", c.errs[calls-1]
				}
				return in, nil
			})(t.Context(), "row")
			if !errors.Is(err, c.want) || calls != c.calls || err == nil && got != "row" {
				t.Errorf("%q, %v after %d calls, want %v after %d", got, err, calls, c.want, c.calls)
			}
		})
	}
}
