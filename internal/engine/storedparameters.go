package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Stored reads the parameter store of an account and region: what there is under names, for every one of them. It is called
// outside of decisions, and may take its time. Errors tell what may pass.
type Stored func(ctx context.Context, account, region string, names []string) (map[string]template.Stored, error)

// wanting is the error of a decision that cannot be made before the parameter store was read. What is read goes into options,
// and then the decision is made again: the stack may have another one to be made by then.
type wanting struct {
	options         *Options
	account, region string
	names           []string
}

func (w *wanting) Error() string { return "the parameter store is to be read before" }

// maxReadings bounds how often the parameter store is read for one decision: a stack that changes under it each time is not
// waited for.
const maxReadings = 5

// decide runs a decision, and reads the parameter store for it as often as it wants that. It is read anew for each call, so
// that a client gets what there is now.
func (e *Engine) decide(ctx context.Context, target store.Target, decide store.Decide) error {
	for n := 1; ; n++ {
		err := e.store.Apply(ctx, target, decide)
		want, wants := errors.AsType[*wanting](err)
		switch {
		case !wants:
			return err
		case n > maxReadings:
			return invalid("The stack was changed by others while its parameters were read. Please try again.")
		case e.stored == nil:
			return invalid(unfetched(want.names))
		}
		stored, err := e.stored(ctx, want.account, want.region, want.names)
		if err != nil && e.env.fidelity != FidelityAWS {
			return invalid(unfetched(want.names) + " " + err.Error())
		} else if err != nil {
			return invalid(unfetched(want.names))
		}
		want.options.stored = make(map[string]template.Stored, len(want.names))
		for _, name := range want.names {
			want.options.stored[name] = stored[name]
		}
	}
}

func unfetched(names []string) string {
	return fmt.Sprintf("Unable to fetch parameters [%s] from parameter store for this account.", strings.Join(names, ", "))
}

// outside returns what a template is bound with that is not passed for it. The error is [wanting] if it has to be read. before is the
// revision that the stack has, nil for none; inputs are changed as keepResolved says.
func (m *machine) outside(
	in *Options, t *template.Template, inputs map[string]template.Input, previous map[string]value.Value, before *store.Revision,
) (template.Outside, error) {
	names := t.StoredNames(inputs, previous)
	unread := func(name string) bool { _, read := in.stored[name]; return !read }
	if !slices.ContainsFunc(names, unread) && before != nil && keepResolved(in, t, inputs, before) {
		names = append(names, t.StoredNames(inputs, previous)...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	if slices.ContainsFunc(names, unread) {
		return template.Outside{}, &wanting{options: in, account: m.stack.Account, region: m.stack.Region, names: names}
	}
	return template.Outside{Stored: in.stored}, nil
}

// keepResolved accepts, for a parameter that the parameter store has, the value that the stack resolved it to instead of its name: the
// parameter then keeps its name. A text that is a name in the store is always a name. It reports whether it changed an input.
// Source: recorded answers, D24 (2025-09-24).
func keepResolved(in *Options, t *template.Template, inputs map[string]template.Input, before *store.Revision) bool {
	resolved := template.NewOutside(before.Outside).Parameters
	changed := false
	for name, input := range inputs {
		declared, value := t.Parameter(name), resolved[name]
		if declared == nil || !declared.Stored() || value.IsNull() || input.UsePrevious {
			continue
		}
		if in.stored[input.Value].State == template.StoredMissing && input.Value == declared.Typed(value) {
			inputs[name] = template.Input{UsePrevious: true, Secret: input.Secret}
			changed = true
		}
	}
	return changed
}

// StoredValues returns what the parameter store had under the names that were passed for parameters, by the parameters' names:
// an object, null if there was nothing to be read. Those of NoEcho parameters are secret.
func StoredValues(r *store.Revision) value.Value {
	v, _ := r.Outside.Get("parameters")
	return v
}

// Hidden returns the secrets that a request was sent with and that are in no row. Its error says that they cannot be read;
// what is answered is withheld then. It is called outside of decisions.
type Hidden func(ctx context.Context, id wire.RequestID) ([]string, error)

// hide adds to an outcome what must not be shown of it.
func (e *Engine) hide(ctx context.Context, id wire.RequestID, outcome *Outcome) {
	if e.hidden == nil || outcome.Kind == Accepted {
		return
	}
	secrets, err := e.hidden(ctx, id)
	if err != nil {
		e.log.Warn("what a provider says is withheld: the secrets that it was given cannot be read to be looked for",
			"request", id, "error", err)
	}
	outcome.hidden, outcome.withheld = secrets, err != nil
}

// withheldText stands for what a provider said, if nobody knows what that gives away.
const withheldText = "what was said is withheld: it may hold secrets, which cannot be read now to be looked for"

// taken reads an answer. What in it holds a secret that no row knows of is a secret itself.
func (m *machine) taken(r *store.Request, outcome Outcome) answer {
	got := m.dialect.answer(outcome.Body, outcome.Size, r)
	if outcome.withheld {
		got.data = got.data.Tainted(value.OfAttribute)
		for _, text := range []*string{&got.reason, &got.problem, &got.explained} {
			if *text != "" {
				*text = withheldText
			}
		}
	}
	got.data = got.data.TaintedWith(outcome.hidden)
	return got
}
