package pintle_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pintle-dev/pintle"
)

// A provider of directories: the physical ID is the path, so a changed path makes another directory and the service
// then deletes the old one, if it is empty.
func ExampleMain() {
	pintle.Main(pintle.HandlerFunc(func(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
		var props struct{ Path string }
		if err := r.Decode(&props); err != nil {
			return pintle.Answer{}, err
		}
		switch r.Type {
		case pintle.Create, pintle.Update:
			if props.Path == "" {
				return pintle.Answer{}, errors.New("the property Path is missing")
			}
			if err := os.MkdirAll(props.Path, 0o755); err != nil {
				return pintle.Answer{}, err
			}
			return pintle.Answer{
				ID:         pintle.PhysicalID(props.Path),
				Attributes: map[string]any{"Path": props.Path},
			}, nil
		case pintle.Delete:
			err := os.Remove(string(r.ID))
			if errors.Is(err, fs.ErrNotExist) { // what is gone is deleted
				err = nil
			}
			return pintle.Answer{}, err
		}
		return pintle.Answer{}, fmt.Errorf("unknown request %q", r.Type)
	}))
}
