package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// exportName identifies an export.
type exportName struct{ account, region, name string }

// export is the exporter of a name, and its importers.
type export struct {
	stack     store.StackKey
	output    string
	importers []store.StackKey
}

// fillOutside adds to a view the rows outside its stack that the decision requested.
func (s *Store) fillOutside(v *store.View, target store.Target, scope store.Scope) {
	account, region := target.Home(&v.Stack)
	if len(scope.Exports) > 0 {
		v.Exports = make(map[string]store.Exported)
	}
	for _, name := range scope.Exports {
		v.Exports[name] = s.exported(exportName{account, region, name})
	}
	if len(scope.Others) > 0 {
		v.Others = make(map[store.StackName]store.Stack)
	}
	for _, name := range scope.Others {
		v.Others[name] = store.Stack{}
		if st := s.stacks[s.live[name]]; st != nil {
			v.Others[name] = st.row
			continue
		}
		if st := s.stacks[s.ids[wire.StackID(name.Name)]]; st != nil && st.row.Live && st.row.Account == name.Account && st.row.Region == name.Region {
			v.Others[name] = st.row
		}
	}
}

func (s *Store) exported(name exportName) store.Exported {
	e, ok := s.exports[name]
	if !ok {
		return store.Exported{Name: name.name}
	}
	known := store.NewExported(store.Export{Name: name.name, Output: e.output}, &s.stacks[e.stack].row)
	known.Importers = s.importers(name)
	return known
}

func (s *Store) importers(name exportName) []string {
	var names []string
	for _, key := range s.exports[name].importers {
		names = append(names, s.stacks[key].row.Name)
	}
	slices.Sort(names)
	return names
}

// refuseExports returns the error with which a database would reject exports and imports.
func (s *Store) refuseExports(view *store.View, d *store.Delta) error {
	own := view.Stack
	if d.Stack != nil {
		own = *d.Stack
	}
	kept := make(map[string]bool)
	if d.Exports != nil {
		for _, e := range *d.Exports {
			kept[e.Name] = true
			if taken, ok := s.exports[exportName{own.Account, own.Region, e.Name}]; ok && taken.stack != own.Key {
				return store.ErrExport(e.Name)
			}
		}
		for name, e := range s.exports {
			others := slices.DeleteFunc(slices.Clone(e.importers), func(key store.StackKey) bool {
				return key == own.Key && d.Imports != nil && !slices.Contains(*d.Imports, name.name)
			})
			if e.stack == own.Key && !kept[name.name] && len(others) > 0 {
				return store.ErrExport(name.name)
			}
		}
	}
	if d.Imports != nil {
		for _, name := range *d.Imports {
			e, ok := s.exports[exportName{own.Account, own.Region, name}]
			if ended := d.Exports != nil && e.stack == own.Key; (!ok || ended) && !kept[name] {
				return store.ErrExport(name)
			}
		}
	}
	return nil
}

func (s *Store) writeExports(st *stack, d *store.Delta) {
	own := st.row
	named := func(name string) exportName { return exportName{own.Account, own.Region, name} }
	if d.Exports != nil {
		fresh := make(map[exportName]export)
		for _, e := range *d.Exports {
			fresh[named(e.Name)] = export{stack: own.Key, output: e.Output, importers: s.exports[named(e.Name)].importers}
		}
		for name, e := range s.exports {
			if _, stays := fresh[name]; e.stack == own.Key && !stays {
				delete(s.exports, name)
			}
		}
		for name, e := range fresh {
			s.exports[name] = e
		}
	}
	if d.Imports == nil {
		return
	}
	for _, name := range st.imports {
		if e, ok := s.exports[named(name)]; ok {
			e.importers = slices.DeleteFunc(slices.Clone(e.importers), func(key store.StackKey) bool { return key == own.Key })
			s.exports[named(name)] = e
		}
	}
	st.imports = slices.Clone(*d.Imports)
	for _, name := range st.imports {
		e := s.exports[named(name)]
		e.importers = append(slices.Clip(e.importers), own.Key)
		s.exports[named(name)] = e
	}
}

// Exports implements [store.Store].
func (s *Store) Exports(ctx context.Context, account, region, after string, limit int) (page []store.Exported, err error) {
	err = s.do(ctx, func() error {
		for name := range s.exports {
			if name.account == account && name.region == region && name.name > after {
				e := s.exported(name)
				e.Importers = nil
				page = append(page, e)
			}
		}
		slices.SortFunc(page, func(a, b store.Exported) int { return cmp.Compare(a.Name, b.Name) })
		page = first(page, limit)
		return nil
	})
	return page, err
}

// Importers implements [store.Store].
func (s *Store) Importers(ctx context.Context, account, region, name, after string, limit int) (page []string, err error) {
	err = s.do(ctx, func() error {
		for _, importer := range s.importers(exportName{account, region, name}) {
			if importer > after {
				page = append(page, importer)
			}
		}
		page = first(page, limit)
		return nil
	})
	return page, err
}
