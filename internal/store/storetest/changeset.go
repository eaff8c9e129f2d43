package storetest

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// changeSetOf returns a change set of a stack with most fields set.
func changeSetOf(key store.StackKey, name string) store.ChangeSet {
	return store.ChangeSet{
		Stack: key, ID: store.ChangeSetID("arn:aws:cloudformation:eu-west-1:000000000000:changeSet/" + name + "/" + strconv.Itoa(int(key))),
		Name: name, StackID: stackOf(key, name).Stack.ID, Kind: store.KindUpdate, State: store.ChangeSetAvailable, Reason: "why", Description: "what", Token: "token",
		Created: stackOf(key, "").Stack.Created, Base: 1, OnFailure: "DELETE", DisableRollback: true, IncludeNested: true,
		Body: &store.ChangeSetBody{
			Revision: store.Revision{
				Template: `{"Resources": {"Set": {}}}`, Inputs: []string{"P"}, Conditions: map[string]bool{"C": true},
				Parameters: value.Object(value.Member{Key: "P", Value: value.SecretStr("hush")}, value.Member{Key: "Q", Value: value.Strs("a", "b")}),
				Tags:       []store.Tag{{Key: "k", Value: "v"}}, NotificationARNs: []string{"arn:t"},
			},
			Capabilities: []string{"CAPABILITY_IAM"}, RoleARN: "arn:r",
			Changes: json.RawMessage(`[{"a":"<*****>"}]`),
		},
	}
}

func narrow(c store.ChangeSet) store.ChangeSet {
	c.Body = nil
	return c
}

// plans writes change sets of a stack.
func (b *bench) plans(key store.StackKey, sets ...store.ChangeSet) {
	b.t.Helper()
	b.put(store.Target{Stack: key}, func(*store.View) store.Delta { return store.Delta{ChangeSets: sets} })
}

var changeSetTests = []test{
	{"round trip", func(t *testing.T, b *bench) {
		ctx := context.Background()
		b.create(stackOf(1, "one"))
		b.create(stackOf(2, "two"))
		first, second := changeSetOf(1, "first"), changeSetOf(1, "another")
		second.Body.Revision.Template = stackOf(1, "").Revisions[0].Template // a text that is kept already
		b.plans(1, first)
		b.plans(1, second)
		b.plans(2, changeSetOf(2, "first"))
		third := changeSetOf(2, "third") // every field is set
		third.State, third.Operation = store.ChangeSetExecuted, 1
		third.Body.Changes = nil
		fill(&third)
		fill(third.Body)
		fill(&third.Body.Revision)
		b.plans(2, third)
		for _, want := range []store.ChangeSet{first, second, third} {
			got, err := b.ChangeSet(ctx, want.ID)
			checkRow(t, "change set", got, want, err)
			if secret, _ := got.Body.Revision.Parameters.Get("P"); !secret.Secret() {
				t.Error("a secret parameter came back open")
			}
		}
		list, err := b.ChangeSets(ctx, 1)
		checkRow(t, "change sets", list, []store.ChangeSet{narrow(first), narrow(second)}, err)
		same(t, "change sets in a view", b.whole(1).ChangeSets, map[store.ChangeSetID]store.ChangeSet{
			first.ID: narrow(first), second.ID: narrow(second),
		})
	}},
	{"with its stack", func(t *testing.T, b *bench) {
		d := stackOf(1, "one")
		want := changeSetOf(1, "first")
		d.ChangeSets = []store.ChangeSet{want}
		b.create(d)
		got, err := b.ChangeSet(context.Background(), want.ID)
		checkRow(t, "change set", got, want, err)
	}},
	{"nothing", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		_, err := b.ChangeSet(context.Background(), "nobody")
		isError(t, "change set", err, store.ErrNotFound)
		for key := store.StackKey(1); key <= 2; key++ {
			list, err := b.ChangeSets(context.Background(), key)
			checkRow(t, "change sets", list, nil, err)
		}
	}},
	{"changed without its body", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		want := changeSetOf(1, "first")
		b.plans(1, want)
		want.State, want.Operation, want.Reason = store.ChangeSetExecuted, 2, ""
		b.plans(1, narrow(want))
		got, err := b.ChangeSet(context.Background(), want.ID)
		checkRow(t, "change set", got, want, err)
	}},
	{"dropped", func(t *testing.T, b *bench) {
		ctx := context.Background()
		b.create(stackOf(1, "one"))
		b.create(stackOf(2, "two"))
		first, other := changeSetOf(1, "first"), changeSetOf(2, "first")
		b.plans(1, first)
		b.plans(2, other)
		again := changeSetOf(1, "first") // reuses the name of the dropped one
		again.ID += "/again"
		b.put(store.Target{Stack: 1}, func(*store.View) store.Delta {
			return store.Delta{DropChangeSets: []store.ChangeSetID{first.ID, other.ID, "nobody"}, ChangeSets: []store.ChangeSet{again}}
		})
		_, err := b.ChangeSet(ctx, first.ID)
		isError(t, "a dropped change set", err, store.ErrNotFound)
		list, err := b.ChangeSets(ctx, 1)
		checkRow(t, "what is left", list, []store.ChangeSet{narrow(again)}, err)
		got, err := b.ChangeSet(ctx, other.ID)
		checkRow(t, "that of another stack", got, other, err)
	}},
	{"refused", func(t *testing.T, b *bench) {
		ctx := context.Background()
		b.create(stackOf(1, "one"))
		b.create(stackOf(2, "two"))
		first := changeSetOf(1, "first")
		b.plans(1, first)
		change := func(f func(*store.ChangeSet)) store.ChangeSet {
			c := changeSetOf(1, "next")
			f(&c)
			return c
		}
		for _, bad := range []struct {
			what string
			row  store.ChangeSet
		}{
			{"the stack of another decision", changeSetOf(2, "next")},
			{"no id", change(func(c *store.ChangeSet) { c.ID = "" })},
			{"no name", change(func(c *store.ChangeSet) { c.Name = "" })},
			{"no state", change(func(c *store.ChangeSet) { c.State = "" })},
			{"executed by nothing", change(func(c *store.ChangeSet) { c.State = store.ChangeSetExecuted })},
			{"available and executed", change(func(c *store.ChangeSet) { c.Operation = 2 })},
			{"new without a body", narrow(changeSetOf(1, "next"))},
			{"a name that is taken", change(func(c *store.ChangeSet) { c.Name = "first" })},
		} {
			err := b.Apply(ctx, store.Target{Stack: 1}, func(*store.View) (store.Delta, error) {
				return store.Delta{ChangeSets: []store.ChangeSet{bad.row}}, nil
			})
			if err == nil {
				t.Errorf("%s was written", bad.what)
			}
		}
		stolen := first
		stolen.Stack = 2
		err := b.Apply(ctx, store.Target{Stack: 2}, func(*store.View) (store.Delta, error) {
			return store.Delta{ChangeSets: []store.ChangeSet{stolen}}, nil
		})
		if err == nil {
			t.Error("a change set went from one stack to another")
		}
		list, err := b.ChangeSets(ctx, 1)
		checkRow(t, "what is left", list, []store.ChangeSet{narrow(first)}, err)
	}},
	{"freed name", func(t *testing.T, b *bench) {
		ctx := context.Background()
		b.create(stackOf(1, "one"))
		first := changeSetOf(1, "same")
		b.plans(1, first)
		second := changeSetOf(1, "same")
		second.ID += "2"
		first.State, first.Operation = store.ChangeSetExecuted, 2
		first.FreeName()
		b.plans(1, narrow(first), second)
		for _, want := range []store.ChangeSet{first, second} {
			got, err := b.ChangeSet(ctx, want.ID)
			checkRow(t, "change set", got, want, err)
			if got.GivenName() != "same" {
				t.Errorf("%s was created as %q", got.ID, got.GivenName())
			}
		}
		list, err := b.ChangeSets(ctx, 1)
		checkRow(t, "change sets", list, []store.ChangeSet{narrow(first), narrow(second)}, err)
	}},
	{"order", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		for _, name := range []string{"c", "a", "b"} {
			b.plans(1, changeSetOf(1, name))
		}
		touched := narrow(changeSetOf(1, "c"))
		touched.Reason = "touched"
		b.plans(1, touched)
		list, err := b.ChangeSets(context.Background(), 1)
		var names []string
		for _, c := range list {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != "c a b" || err != nil {
			t.Errorf("got %q, error %v; want them by age", got, err)
		}
	}},
	{"narrow views have none", func(t *testing.T, b *bench) {
		b.create(graph(1))
		b.plans(1, changeSetOf(1, "first"))
		if got := b.see(store.Target{Request: "top"}).ChangeSets; len(got) > 0 {
			t.Errorf("a narrow view holds %d change sets", len(got))
		}
		more := b.see(store.Target{Request: "top"}, &store.More{Whole: true})
		if len(more.ChangeSets) != 1 || more.ChangeSets[changeSetOf(1, "first").ID].Name != "first" {
			t.Errorf("a view that became whole holds %v", more.ChangeSets)
		}
	}},
}
