package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// placed returns a stack in an account and a region.
func placed(key store.StackKey, account, region string) store.Delta {
	d := stackOf(key, fmt.Sprint("s", key))
	d.Stack.Account, d.Stack.Region = account, region
	return d
}

// holding returns a stack with instances of the roles, numbered from 1.
func holding(key store.StackKey, account string, roles ...store.Role) store.Delta {
	d := placed(key, account, "eu-west-1")
	for n, role := range roles {
		d.Instances = append(d.Instances, store.Instance{
			Stack: key, Number: n + 1, Logical: wire.LogicalID(fmt.Sprint("R", n+1)), Role: role, Verb: store.VerbCreate,
			Body: &store.InstanceBody{Type: "Custom::Thing", Properties: value.Object()},
		})
	}
	return d
}

// numbers formats instances by stack and number.
func numbers(rows []store.Instance) string {
	var list []string
	for _, i := range rows {
		list = append(list, fmt.Sprintf("%d.%d", i.Stack, i.Number))
	}
	return strings.Join(list, " ")
}

var browseTests = []test{
	{"regions", func(t *testing.T, b *bench) {
		ctx := context.Background()
		none, err := b.Regions(ctx, nil, 9)
		checkRow(t, "no stacks", none, nil, err)
		for key, at := range [][2]string{{"2", "b"}, {"1", "b"}, {"1", "a"}, {"2", "b"}, {"3", "c"}} {
			b.create(placed(store.StackKey(key+1), at[0], at[1]))
		}
		for _, page := range []struct {
			accounts []string
			limit    int
			want     string
		}{
			{nil, 9, "1a 1b 2b 3c"}, {nil, 2, "1a 1b"}, {[]string{"1", "3"}, 9, "1a 1b 3c"}, {[]string{}, 9, ""},
			{[]string{"2"}, 1, "2b"}, {nil, 0, ""}, {[]string{"9"}, 9, ""},
		} {
			rows, err := b.Regions(ctx, page.accounts, page.limit)
			var got []string
			for _, r := range rows {
				got = append(got, r.Account+r.Name)
			}
			if got := strings.Join(got, " "); got != page.want || err != nil {
				t.Errorf("%+v: got %q, error %v", page, got, err)
			}
		}
	}},
	{"stack by key", func(t *testing.T, b *bench) {
		d := placed(4, "1", "a")
		b.create(d)
		got, err := b.StackOf(context.Background(), 4)
		checkRow(t, "stack", got, *d.Stack, err)
		_, err = b.StackOf(context.Background(), 5)
		isError(t, "no stack", err, store.ErrNotFound)
	}},
	{"instances by number", func(t *testing.T, b *bench) {
		ctx := context.Background()
		d := holding(1, "1", store.RoleCurrent, store.RoleGone, store.RoleCondemned, store.RoleOrphan)
		b.create(d)
		b.create(holding(2, "1", store.RoleCurrent))
		rows, err := b.InstancesAfter(ctx, 1, 0, 9)
		checkRow(t, "all", rows, d.Instances, err)
		for _, page := range []struct {
			after, limit int
			want         string
		}{{0, 2, "1.1 1.2"}, {2, 2, "1.3 1.4"}, {4, 2, ""}, {0, 0, ""}} {
			rows, err := b.InstancesAfter(ctx, 1, page.after, page.limit)
			if got := numbers(rows); got != page.want || err != nil {
				t.Errorf("%+v: got %q, error %v", page, got, err)
			}
		}
		rows, err = b.InstancesOf(ctx, 1, []wire.LogicalID{"R3", "R2", "R1", "R9", "\x00"})
		checkRow(t, "of logical ids", rows, []store.Instance{d.Instances[0], d.Instances[2]}, err)
		rows, err = b.InstancesOf(ctx, 1, nil)
		checkRow(t, "of none", rows, nil, err)
	}},
	{"open requests", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		b.asks(1, store.Request{ID: "r1", Logical: "B", State: store.RequestWaiting, Due: start},
			store.Request{ID: "r2", Logical: "A", State: store.RequestWaiting, Due: start},
			store.Request{ID: "r3", Logical: "C", State: store.RequestWaiting, Due: start},
			store.Request{ID: "r4", Logical: "A", State: store.RequestSettled})
		for limit, want := range map[int]string{9: "r2 r1 r3", 2: "r2 r1", 0: ""} {
			rows, err := b.OpenRequests(context.Background(), 1, limit)
			var ids []wire.RequestID
			for _, r := range rows {
				ids = append(ids, r.ID)
				if r.Body != nil {
					t.Errorf("%s has its body", r.ID)
				}
			}
			if got := join(ids); got != want || err != nil {
				t.Errorf("%d: got %q, want %q, error %v", limit, got, want, err)
			}
		}
	}},
	{"left behind", func(t *testing.T, b *bench) {
		b.create(holding(2, "1", store.RoleOrphan, store.RoleCurrent, store.RoleRetained))
		b.create(holding(1, "2", store.RoleGone, store.RoleOrphan))
		b.create(holding(3, "1", store.RoleRetained))
		for _, page := range []struct {
			accounts []string
			after    store.InstancePlace
			limit    int
			want     string
		}{
			{nil, store.InstancePlace{}, 9, "1.2 2.1 2.3 3.1"}, {nil, store.InstancePlace{Stack: 2, Number: 1}, 1, "2.3"},
			{[]string{"1"}, store.InstancePlace{}, 2, "2.1 2.3"}, {[]string{"1"}, store.InstancePlace{Stack: 2, Number: 3}, 9, "3.1"},
			{[]string{}, store.InstancePlace{}, 9, ""}, {nil, store.InstancePlace{}, 0, ""},
		} {
			rows, err := b.LeftBehind(context.Background(), page.accounts, page.after, page.limit)
			if got := numbers(rows); got != page.want || err != nil {
				t.Errorf("%+v: got %q, error %v", page, got, err)
			}
			for _, i := range rows {
				if i.Body == nil || i.Body.Type != "Custom::Thing" {
					t.Errorf("%d.%d has no body", i.Stack, i.Number)
				}
			}
		}
	}},
	{"audit trail", func(t *testing.T, b *bench) {
		b.create(placed(1, "1", "a"))
		b.create(placed(2, "2", "a"))
		for n, key := range []store.StackKey{1, 2, 1, 1} {
			b.clock.Advance(time.Second)
			b.put(store.Target{Stack: key}, func(v *store.View) store.Delta {
				return store.Delta{Audit: []store.Audit{{Time: v.Now, Text: fmt.Sprint("e", n+1)}}}
			})
		}
		read := func(accounts []string, before store.AuditPlace, limit int) (string, []store.AuditRow) {
			rows, err := b.AuditTrail(context.Background(), accounts, before, limit)
			if err != nil {
				t.Error(err)
			}
			var list []string
			for _, row := range rows {
				list = append(list, fmt.Sprintf("%d:%s", row.Stack, row.Audit.Text))
			}
			return strings.Join(list, " "), rows
		}
		got, rows := read(nil, store.AuditPlace{}, 9)
		if got != "1:e4 1:e3 2:e2 1:e1" || len(rows) != 4 {
			t.Fatalf("all: %s", got)
		}
		if got, _ := read(nil, rows[1].Place, 9); got != "2:e2 1:e1" {
			t.Errorf("after two: %s", got)
		}
		if got, _ := read([]string{"1"}, store.AuditPlace{}, 2); got != "1:e4 1:e3" {
			t.Errorf("of one account: %s", got)
		}
		if got, _ := read([]string{}, store.AuditPlace{}, 9); got != "" {
			t.Errorf("of no account: %s", got)
		}
	}},
}
