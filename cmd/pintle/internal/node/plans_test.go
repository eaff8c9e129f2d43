package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/local"
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

// TestDeclaredPlans checks that a provider without a schema does not plan, and that one that could not be asked is an error.
func TestDeclaredPlans(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for name, test := range map[string]struct {
		ctx    context.Context
		schema string
		err    error
		plans  bool
		want   string // the error
	}{
		"plans":              {schema: `{"resourceTypes": {"Custom::Thing": {"plans": true}}}`, plans: true},
		"does not plan":      {schema: `{"resourceTypes": {"Custom::Thing": {}}}`},
		"an invalid schema":  {schema: `{}`},
		"no schema":          {err: fmt.Errorf("%w: exit status 3", local.ErrNoSchema)},
		"no process":         {err: noSchema("no process of this server runs it")},
		"removed":            {err: local.ErrUnknown},
		"killed":             {err: fmt.Errorf("%w: signal: killed", local.ErrSchemaUnread), want: "the provider did not answer the schema command: signal: killed"},
		"cannot be built":    {err: &local.BuildError{Provider: "P", Dir: "/p", Err: errors.New("exit status 1")}, want: "build provider P: go build in /p: exit status 1"},
		"there was no time":  {ctx: ended, err: context.Canceled, want: "there was no time left to ask its provider for its schema"},
		"another's provider": {err: errors.New("unused")},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := test.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			p := NewPlans(func(wire.ServiceToken) (string, bool) { return "P", name != "another's provider" },
				func(context.Context, string) (json.RawMessage, error) { return json.RawMessage(test.schema), test.err })
			declared, err := p.Plans(ctx, "arn:aws:lambda:us-east-1:123456789012:function:P")
			if (err != nil) != (test.want != "") || err != nil && err.Error() != test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if plans := declared != nil && declared("Custom::Thing"); plans != test.plans {
				t.Errorf("plans %t, want %t", plans, test.plans)
			}
		})
	}
}
