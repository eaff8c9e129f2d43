package main

import (
	"context"
	"slices"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// noteKept reports the parameters that keep their value in an update although the template has a new default for them. A default that
// cannot be compared is not reported: it is only a note.
func (o *rollout) noteKept(ctx context.Context, stack stacks.Stack) {
	current, err := o.want.parsed()
	if err != nil {
		return
	}
	kept := map[string]string{} // by name, the value
	for _, p := range stack.Parameters {
		declared := current.Parameter(p.Name)
		given := slices.ContainsFunc(o.want.parameters, func(set project.Pair) bool { return set.Name == p.Name })
		if declared != nil && declared.Default != nil && !declared.NoEcho && *declared.Default != p.Text && !given {
			kept[p.Name] = p.Text
		}
	}
	if len(kept) == 0 {
		return
	}
	text, err := o.stacks.Template(ctx, stack.ID)
	if err != nil {
		return
	}
	previous, err := readAs(o.want.language, text)
	if err != nil {
		return
	}
	for _, name := range sortedKeys(kept) {
		was, is := previous.Parameter(name), current.Parameter(name)
		if was != nil && was.Default != nil && !was.NoEcho && *was.Default != *is.Default {
			o.say("note: parameter %s keeps its value %s, although the template's default is now %s: to use that, add --parameter %s",
				name, quote(kept[name]), quote(*is.Default), quote(name+"="+*is.Default))
		}
	}
}
