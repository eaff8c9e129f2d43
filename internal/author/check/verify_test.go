package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// A reader sees the side effects of optional requests, and then the provider's own Read is not asked.
func TestVerifyOptional(t *testing.T) {
	for bug, want := range map[string][]string{
		"optional": nil, "plan-applies": {"plan-changes"}, "read-touches": {"read-changes"}, "plan-never-replaces": {"plan-wrong"},
	} {
		t.Run(bug, func(t *testing.T) {
			c := processConfig(t, os.Args[0], bug)
			dir := c.Session.Provider.Env[notesVar]
			c.Verify = func(_ context.Context, id wire.PhysicalID, _ wire.Request) (json.RawMessage, error) {
				text, err := os.ReadFile(filepath.Join(dir, filepath.Base(string(id))))
				if os.IsNotExist(err) {
					return json.RawMessage("null"), nil
				}
				return text, err
			}
			c.Only = []string{"plan"}
			if bug == "read-touches" {
				c.Only = []string{"read"}
			}
			report := run(t, c)
			if got := found(report); !slices.Equal(got, want) {
				t.Errorf("found %v, want %v", got, want)
			}
			for _, step := range report.Outcomes[0].Steps {
				if c.Only[0] == "plan" && strings.HasPrefix(step.Request, "Read") {
					t.Errorf("the provider was asked: %s", step.Request)
				}
			}
		})
	}
}

// TestOptionalScenarios checks that a provider without optional requests gets none, and that the report says so if the user asks for them.
func TestOptionalScenarios(t *testing.T) {
	c := processConfig(t, os.Args[0], "")
	c.Only = []string{"life", "read", "plan"}
	report := run(t, c)
	var got []string
	for _, o := range report.Outcomes {
		got = append(got, fmt.Sprintf("%s: %s, %d requests", o.ID, o.Result, len(o.Steps)))
		if o.Result == check.NotRun && !strings.Contains(o.Reason, "declares no ") {
			t.Errorf("%s: %s", o.ID, o.Reason)
		}
	}
	if want := []string{"life: passed, 3 requests", "read: not run, 0 requests", "plan: not run, 0 requests"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(report.Incomplete()) != 2 {
		t.Errorf("%d scenarios are incomplete, want 2", len(report.Incomplete()))
	}
}
