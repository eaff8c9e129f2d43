package node

import (
	"context"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// storedParameters resolves references to the parameters that it has.
type storedParameters map[string]string

func (storedParameters) Wants(dynamic.Reference, bool) bool { return true }

func (s storedParameters) Resolve(_ context.Context, _, _ string, references []dynamic.Reference) (
	resolved map[string]value.Value, missing map[string]string, err error,
) {
	resolved, missing = map[string]value.Value{}, map[string]string{}
	for _, r := range references {
		if text, ok := s[r.Text]; ok {
			resolved[r.Text] = value.Str(text)
		} else {
			missing[r.Text] = "there is no such parameter"
		}
	}
	return resolved, missing, nil
}

// TestReferencesOfPlans checks that a Plan needs the values of the new properties, but not those of the old ones: as in an Update, a
// parameter that was deleted since must not keep its resource from changing.
func TestReferencesOfPlans(t *testing.T) {
	const kept, deleted, malformed = "{{resolve:ssm:kept}}", "{{resolve:ssm:deleted}}", "{{resolve:ssm:}}"
	for name, test := range map[string]struct {
		properties, old string
		wantOld         string // "" means an error
	}{
		"new and old":                              {kept, kept, "value"},
		"old, and deleted":                         {kept, deleted, deleted},
		"new, and deleted":                         {deleted, kept, ""},
		"new and old, deleted":                     {deleted, deleted, ""},
		"old, and not valid":                       {kept, malformed, malformed},
		"new, and not valid":                       {malformed, kept, ""},
		"old, deleted, and new without references": {"text", deleted, deleted},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlans(nil, nil).With(storedParameters{kept: "value"})
			q := engine.PlanQuestion{Dialect: wire.CloudFormation, Properties: value.Str(test.properties), Old: value.Str(test.old)}
			err := p.resolve(t.Context(), &q)
			if (err != nil) != (test.wantOld == "") {
				t.Fatalf("error %v", err)
			}
			if err == nil && q.Old.Text() != test.wantOld {
				t.Errorf("the old properties are %q, want %q", q.Old.Text(), test.wantOld)
			}
		})
	}
}
