package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// exporting returns a delta that creates a stack with exports, each with an output and a value.
func exporting(key store.StackKey, name string, exports ...string) store.Delta {
	d := stackOf(key, name)
	d.Exports = outputs(d.Stack, "of-"+name, exports...)
	return d
}

// outputs gives a stack an output for every export, and returns the exports.
func outputs(s *store.Stack, text string, names ...string) *[]store.Export {
	rows := make([]store.Export, len(names))
	members := make([]value.Member, len(names))
	s.Outputs = nil
	for i, name := range names {
		key := fmt.Sprint("Out", i)
		rows[i] = store.Export{Name: name, Output: key}
		s.Outputs = append(s.Outputs, store.Output{Key: key, ExportName: name})
		members[i] = value.Member{Key: key, Value: value.Str(text)}
		if strings.HasPrefix(name, "secret") {
			members[i].Value = value.SecretStr(text)
		}
	}
	s.OutputValues = value.Object(members...)
	return &rows
}

func asking(names ...string) *store.More { return &store.More{Exports: names} }

// importing creates a stack with imports.
func (b *bench) importing(key store.StackKey, name string, imports ...string) {
	b.t.Helper()
	d := stackOf(key, name)
	d.Imports = &imports
	b.create(d)
}

// list returns all exports, page by page.
func (b *bench) list(size int) []store.Exported {
	b.t.Helper()
	var all []store.Exported
	for after := ""; ; {
		page, err := b.Exports(context.Background(), "000000000000", "eu-west-1", after, size)
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, page...)
		if len(page) < size {
			return all
		}
		after = page[len(page)-1].Name
	}
}

func (b *bench) importers(name string) []string {
	b.t.Helper()
	names, err := b.Importers(context.Background(), "000000000000", "eu-west-1", name, "", 100)
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

func exported(d store.Delta, name string, importers ...string) store.Exported {
	for _, e := range *d.Exports {
		if e.Name == name {
			known := store.NewExported(e, d.Stack)
			known.Importers = importers
			return known
		}
	}
	return store.Exported{Name: name}
}

// refused applies a decision that the store must reject without writing anything.
func (b *bench) refused(what string, key store.StackKey, d store.Delta) {
	b.t.Helper()
	calls := 0
	err := b.Apply(context.Background(), store.Target{Stack: key}, func(v *store.View) (store.Delta, error) {
		if calls++; calls == 1 && (d.Exports != nil) {
			return store.Delta{}, asking("a", "b", "c")
		}
		s := v.Stack
		s.Reason = "refused"
		d.Stack = &s
		return d, nil
	})
	if err == nil || !strings.Contains(err.Error(), `port "`) {
		b.t.Errorf("%s: error %v", what, err)
	}
	if s := b.whole(key).Stack; s.Reason == "refused" {
		b.t.Errorf("%s: it is refused, and written", what)
	}
}

var exportTests = []test{
	{"seen and listed", func(t *testing.T, b *bench) {
		one, two := exporting(1, "one", "a", "secret-b", "é:c"), exporting(2, "two", "d")
		b.create(one)
		b.create(two)
		elsewhere := exporting(3, "three", "a")
		elsewhere.Stack.Region = "us-east-1"
		b.create(elsewhere)
		b.importing(4, "four", "a", "secret-b")
		b.importing(5, "five", "a")
		want := []store.Exported{exported(one, "a"), exported(two, "d"), exported(one, "secret-b"), exported(one, "é:c")}
		for _, size := range []int{1, 2, 3, 100} {
			same(t, fmt.Sprint("exports by ", size), b.list(size), want)
		}
		if list := b.list(100); len(list) == 4 && (!list[2].Value.Secret() || list[0].Value.HasSecret()) {
			t.Error("a secret is none any more, or what is none is one")
		}
		v := b.see(store.Target{Stack: 5}, asking("a", "d"), asking("secret-b", "none"))
		same(t, "seen", v.Exports, map[string]store.Exported{
			"a": exported(one, "a", "five", "four"), "d": exported(two, "d"), "secret-b": exported(one, "secret-b", "four"), "none": {Name: "none"},
		})
		same(t, "importers", b.importers("a"), []string{"five", "four"})
		same(t, "importers of nothing", b.importers("none"), []string(nil))
		page, err := b.Importers(context.Background(), "000000000000", "eu-west-1", "a", "five", 1)
		same(t, "second page", page, []string{"four"})
		isError(t, "second page", err, nil)
		v = b.see(store.Target{Name: store.StackName{Account: "000000000000", Region: "eu-west-1", Name: "new"}}, asking("a"))
		same(t, "seen by a stack that is not there", v.Exports, map[string]store.Exported{"a": exported(one, "a", "five", "four")})
	}},
	{"replaced", func(t *testing.T, b *bench) {
		b.create(exporting(1, "one", "a", "b"))
		b.importing(2, "two", "a", "b")
		b.put(store.Target{Stack: 2}, func(*store.View) store.Delta { return store.Delta{Imports: &[]string{"b"}} })
		same(t, "importers", b.importers("a"), []string(nil))
		next := exporting(1, "one", "b", "c")
		b.put(store.Target{Stack: 1}, func(v *store.View) store.Delta {
			s := v.Stack
			s.Outputs, s.OutputValues = next.Stack.Outputs, next.Stack.OutputValues
			return store.Delta{Stack: &s, Exports: next.Exports}
		})
		same(t, "exports", b.list(100), []store.Exported{exported(next, "b"), exported(next, "c")})
		b.create(exporting(3, "three", "a"))
		b.put(store.Target{Stack: 2}, func(*store.View) store.Delta { return store.Delta{Imports: &[]string{}} })
		b.put(store.Target{Stack: 1}, func(*store.View) store.Delta { return store.Delta{Exports: &[]store.Export{}} })
		same(t, "importers", b.importers("b"), []string(nil))
		same(t, "exports", b.list(100), []store.Exported{exported(exporting(3, "three", "a"), "a")})
	}},
	{"refused", func(t *testing.T, b *bench) {
		b.create(exporting(1, "one", "a", "b"))
		b.importing(2, "two", "a")
		b.refused("another one's name", 2, store.Delta{Exports: &[]store.Export{{Name: "b", Output: "O"}}})
		b.refused("an import of nothing", 2, store.Delta{Imports: &[]string{"a", "c"}})
		b.refused("an export that is in use", 1, store.Delta{Exports: &[]store.Export{{Name: "b", Output: "O"}}})
		for what, d := range map[string]store.Delta{
			"a name twice": {Exports: &[]store.Export{{Name: "c", Output: "O"}, {Name: "c", Output: "O"}}}, "no output": {Exports: &[]store.Export{{Name: "c"}}},
			"an import twice": {Imports: &[]string{"a", "a"}}, "an import without a name": {Imports: &[]string{""}},
		} {
			b.refused(what, 1, d)
		}
		if v := b.see(store.Target{Stack: 1}, asking("a")); len(v.Exports["a"].Importers) != 1 {
			t.Errorf("seen after all: %+v", v.Exports)
		}
	}},
	{"other stacks", func(t *testing.T, b *bench) {
		one := exporting(1, "one", "a")
		b.create(one)
		b.create(stackOf(2, "two"))
		gone := store.StackName{Account: "000000000000", Region: "eu-west-1", Name: "gone"}
		byID, elsewhere := nameOf(*one.Stack), nameOf(*one.Stack)
		byID.Name = string(one.Stack.ID)
		elsewhere.Name, elsewhere.Region = byID.Name, "another"
		v := b.see(store.Target{Stack: 2}, &store.More{Others: []store.StackName{nameOf(*one.Stack), gone, byID, elsewhere}})
		same(t, "others", v.Others, map[store.StackName]store.Stack{
			nameOf(*one.Stack): *one.Stack, gone: {}, byID: *one.Stack, elsewhere: {},
		})
	}},
	{"a name for many", func(t *testing.T, b *bench) {
		var mine atomic.Int32
		race(func(i int) {
			name := fmt.Sprint("s", i)
			got := false
			err := b.Apply(context.Background(), store.Target{Name: nameOf(*stackOf(1, name).Stack)}, func(v *store.View) (store.Delta, error) {
				e, asked := v.Exports["a"]
				if !asked {
					return store.Delta{}, asking("a")
				}
				if got = e.Stack == 0; got {
					return exporting(store.StackKey(i+1), name, "a"), nil
				}
				return stackOf(store.StackKey(i+1), name), nil
			})
			if err != nil {
				t.Error(err)
			}
			if got {
				mine.Add(1)
			}
		})
		if mine.Load() != 1 || len(b.list(100)) != 1 {
			t.Errorf("%d stacks export one name: %+v", mine.Load(), b.list(100))
		}
	}},
	{"an export while it is changed", func(t *testing.T, b *bench) { ExportRace(t, b.Store, b.Store) }},
}

// ExportRace has stacks import exports that others change and end, as far as their views allow it, through two stores
// on one database. It checks that the value of an import always equals that of its export.
func ExportRace(t *testing.T, first, second store.Store) {
	stores := []store.Store{first, second}
	const exporters, importers, changes = 3, 8, 30
	names := make([]string, exporters)
	for i := range exporters {
		names[i] = fmt.Sprint("e", i)
		d := exporting(store.StackKey(i+1), fmt.Sprint("exporter-", i), names[i])
		mustApply(t, first, store.Target{Name: nameOf(*d.Stack)}, func(*store.View) (store.Delta, error) { return d, nil })
	}
	for i := range importers {
		d := stackOf(store.StackKey(100+i), fmt.Sprint("importer-", i))
		mustApply(t, first, store.Target{Name: nameOf(*d.Stack)}, func(*store.View) (store.Delta, error) { return d, nil })
	}
	var changing, importing sync.WaitGroup
	var done atomic.Bool
	for i := range exporters {
		changing.Go(func() {
			for changed := 0; changed < changes && !t.Failed(); {
				free := false
				mustApply(t, stores[changed%2], store.Target{Stack: store.StackKey(i + 1)}, func(v *store.View) (store.Delta, error) {
					e, asked := v.Exports[names[i]]
					if !asked {
						return store.Delta{}, asking(names[i])
					}
					if free = len(e.Importers) == 0; !free {
						return store.Delta{}, nil
					}
					s := v.Stack
					if changed%3 == 0 {
						return store.Delta{Stack: &s, Exports: outputs(&s, "")}, nil
					}
					return store.Delta{Stack: &s, Exports: outputs(&s, fmt.Sprint(changed), names[i])}, nil
				})
				if free {
					changed++
				}
			}
		})
	}
	for i := range importers {
		importing.Go(func() {
			for round := 0; !done.Load() && !t.Failed(); round++ {
				target, s := store.Target{Stack: store.StackKey(100 + i)}, stores[(i+round)%2]
				mustApply(t, s, target, func(v *store.View) (store.Delta, error) { return imports(v, names, i+round) })
				if err := agree(stores[round%2], target.Stack); err != nil {
					t.Error(err)
				}
				mustApply(t, s, target, func(v *store.View) (store.Delta, error) { return imports(v, names, -1) })
			}
		})
	}
	changing.Wait()
	done.Store(true)
	importing.Wait()
}

// imports decides to import one of some names if it is exported, or none if turn is negative. It records the value.
func imports(v *store.View, names []string, turn int) (store.Delta, error) {
	if v.Exports == nil && turn >= 0 {
		return store.Delta{}, asking(names...)
	}
	s, list := v.Stack, []string{}
	s.Reason = ""
	if turn >= 0 {
		if e := v.Exports[names[turn%len(names)]]; e.Stack != 0 {
			list, s.Reason = []string{e.Name}, e.Name+"="+e.Value.Text()
		}
	}
	return store.Delta{Stack: &s, Imports: &list}, nil
}

// agree reports an import whose value differs from the value at the time of the import.
func agree(s store.Store, key store.StackKey) error {
	return s.Apply(context.Background(), store.Target{Stack: key}, func(v *store.View) (store.Delta, error) {
		for _, pair := range strings.Fields(v.Stack.Reason) {
			name, want, _ := strings.Cut(pair, "=")
			e, asked := v.Exports[name]
			if !asked {
				return store.Delta{}, asking(name)
			}
			if e.Stack == 0 || e.Value.Text() != want {
				return store.Delta{}, fmt.Errorf("stack %d has imported %s, of which there is %+v", key, pair, e)
			}
		}
		return store.Delta{}, nil
	})
}

func mustApply(t *testing.T, s store.Store, target store.Target, decide store.Decide) {
	t.Helper()
	if err := s.Apply(context.Background(), target, decide); err != nil {
		t.Error(err)
	}
}
