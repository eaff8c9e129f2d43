package main

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/base/filewatch"
	"github.com/pintle-dev/pintle/internal/provider/buildinputs"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
)

// sourceList is the providers of a project, and the files they are made of.
type sourceList struct {
	known map[string]*source // by the providers' names
}

// source is one provider.
type source struct {
	definition node.Definition
	group      filewatch.Group
	found      bool // the group is that of the files as they were when they were last looked at
	built      bool // something of it is built from source
	provided   bool // the engine has it as it is
	replaces   bool // the engine has it as it was
}

// sourcePrefix is in the names of groups, so that none is that of a file.
const sourcePrefix = "provider\x00"

// use takes up which providers there are now. It reports whether the files of any have to be found out.
func (l *sourceList) use(list []provided) (news bool) {
	for name := range l.known {
		if !slices.ContainsFunc(list, func(p provided) bool { return p.name == name }) {
			delete(l.known, name)
		}
	}
	for _, p := range list {
		old := l.known[p.name]
		if old == nil || !reflect.DeepEqual(old.definition, p.definition) {
			l.known[p.name] = &source{definition: p.definition, replaces: old != nil && (old.provided || old.replaces)}
			news = true
		}
	}
	return news
}

// unknown returns the names of the providers whose files have to be found out.
func (l *sourceList) unknown() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(l.known)) {
		if !l.known[name].found {
			names = append(names, name)
		}
	}
	return names
}

// find finds out of which files a provider is made. With an error it has found some of them.
func (l *sourceList) find(ctx context.Context, name string) error {
	s := l.known[name]
	programs, err := s.definition.Programs(name)
	if err != nil {
		return err
	}
	s.group, s.found, s.built = filewatch.Group{Name: sourcePrefix + name}, true, false
	for _, program := range programs {
		group, problem := buildinputs.Files(ctx, s.group.Name, program.Target)
		s.group.Files, s.group.Trees = append(s.group.Files, group.Files...), append(s.group.Trees, group.Trees...)
		s.built = s.built || program.Target.Kind() == local.GoPackage
		if problem != nil {
			err = problem
		}
	}
	return err
}

// groups returns the files of all providers that have any.
func (l *sourceList) groups() []filewatch.Group {
	var groups []filewatch.Group
	for _, name := range slices.Sorted(maps.Keys(l.known)) {
		if g := l.known[name].group; len(g.Files)+len(g.Trees) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// named returns the name for people of a provider or of a group.
func (l *sourceList) named(name string) (string, bool) {
	for known, s := range l.known {
		if known == name || s.group.Name == name {
			if macro, ok := strings.CutPrefix(known, store.ServedMacro("")); ok {
				return "macro " + macro, true
			}
			return "provider " + known, true
		}
	}
	return "", false
}

// changed takes note of groups that hold something else than they did.
func (l *sourceList) changed(groups []string) {
	for _, s := range l.known {
		if slices.Contains(groups, s.group.Name) {
			s.found = false // it may need other packages now
			s.provided, s.replaces = false, s.provided || s.replaces
		}
	}
}

// fresh returns those providers that the engine does not have, or has as they were.
func (l *sourceList) fresh(list []provided) []provided {
	return slices.DeleteFunc(slices.Clone(list), func(p provided) bool {
		s := l.known[p.name]
		return s != nil && s.provided
	})
}

// done records that the engine has the current version of a provider. It returns the change from the previous one.
func (l *sourceList) done(p provided) string {
	s := l.known[p.name]
	if s == nil {
		return ""
	}
	before := s.replaces
	s.provided, s.replaces = true, false
	switch {
	case !before:
		return ""
	case s.built:
		return "rebuilt"
	}
	return "restarted"
}
