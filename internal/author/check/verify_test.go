package check_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/wire"
)

// reads returns the reader of a shelf: notes are there or not, and have the size that is given.
func reads(t *testing.T, c check.Config, size string) check.Reader {
	t.Helper()
	kept, ok := shelves.Load(c.Session.Provider.Target.Path())
	if !ok {
		t.Fatal("no such shelf")
	}
	s := kept.(*shelf)
	return func(_ context.Context, id wire.PhysicalID, r wire.Request) (json.RawMessage, error) {
		if r.ResponseURL != "" {
			t.Error("the reader gets the response URL")
		}
		if !owned(s, id) {
			return json.RawMessage("null"), nil
		}
		return json.RawMessage(size), nil
	}
}

// What a provider says is done and is not is found by a reader, and by nothing else.
func TestVerify(t *testing.T) {
	always := mistake{handle: func(_ *shelf, r wire.Request, _ map[string]any) (answer, error) {
		if r.PhysicalResourceID != "" {
			return answer{}, nil
		}
		return answer{"PhysicalResourceId": "done-" + owner(r)}, nil
	}}
	for name, test := range map[string]struct {
		mistake mistake
		size    string
		want    []string
	}{
		"correct":             {mistake{}, `{"Other": 1}`, nil},
		"always SUCCESS":      {always, `{}`, []string{"not-done"}},
		"other values remain": {mistake{}, `{"Size": 999}`, []string{"not-done"}},
		"deletes nothing": {mistake{handle: func(_ *shelf, r wire.Request, _ map[string]any) (answer, error) {
			if r.RequestType == wire.Delete {
				return answer{}, nil
			}
			return nil, nil //nolint:nilnil // it goes on
		}}, `{}`, []string{"not-deleted"}},
		"an Update deletes the old one": {mistake{handle: func(s *shelf, r wire.Request, p map[string]any) (answer, error) {
			if id, err := s.id(r, p); err == nil && r.RequestType == wire.Update && id != string(r.PhysicalResourceID) {
				s.mu.Lock()
				delete(s.notes, string(r.PhysicalResourceID))
				s.mu.Unlock()
			}
			return nil, nil //nolint:nilnil // it goes on
		}}, `{}`, []string{"update-deletes-old"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := webConfig(t, test.mistake)
			c.Verify = reads(t, c, test.size)
			c.Only = []string{"life", "update", "replacement", "replacement-rollback", "rollback"}
			got := found(run(t, c))
			if name == "always SUCCESS" {
				got = slices.DeleteFunc(got, func(rule string) bool { return rule == "not-replaced" || rule == "attributes-lost" })
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("found %v, want %v", got, test.want)
			}
		})
	}
}
