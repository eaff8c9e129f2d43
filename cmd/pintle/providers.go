package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/internal/store"
)

// providerOptions are the flags that declare providers.
type providerOptions struct {
	named, builtin, allow []string
	// macros are those of templates.
	macros []string
}

func (o *providerOptions) flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.named, "provider", nil, "target of a provider, `NAME=TARGET`; may be repeated")
	flags.StringArrayVar(&o.macros, "macro", nil, "target of a macro, `NAME=TARGET`, or a Lambda function's ARN; may be repeated")
	flags.StringArrayVar(&o.builtin, "builtin", nil, "run a built-in provider, `[NAME=]aws`: AWS calls with this process's credentials")
	flags.StringArrayVar(&o.allow, "allow", nil, "calls that --builtin aws may make, `RULE` such as ssm:Get*, or @FILE with a list of rules; may be repeated")
}

// any reports whether a provider is declared by a flag.
func (o *providerOptions) any() bool {
	return len(o.named)+len(o.builtin)+len(o.allow)+len(o.macros) > 0
}

// read returns the providers that the flags declare.
func (o *providerOptions) read(w *workdir) ([]project.Provider, error) {
	named := pairs{}
	if err := named.setAll("provider", o.named); err != nil {
		return nil, err
	}
	var list []project.Provider
	for _, pair := range named {
		list = append(list, project.Provider{Name: pair.Name, Target: pair.Text})
	}
	if len(o.allow) > 0 && len(o.builtin) == 0 {
		return nil, usagef("add --builtin aws, or put allow under the provider in pintle.yaml", "--allow needs --builtin")
	}
	allow, err := o.rules(w)
	if err != nil {
		return nil, err
	}
	for _, word := range o.builtin {
		name, kind, ok := strings.Cut(word, "=")
		if !ok {
			kind = word
		}
		if err := project.CheckBuiltin(kind); err != nil || name == "" {
			return nil, usagef("use --builtin aws, or --builtin NAME=aws", "--builtin %q: unknown provider", word)
		}
		if slices.ContainsFunc(list, func(other project.Provider) bool { return other.Name == name }) {
			return nil, usagef("", "provider %s is set twice", name)
		}
		list = append(list, project.Provider{Name: name, Builtin: kind, Allow: allow})
	}
	return list, nil
}

func (o *providerOptions) rules(w *workdir) ([]project.Allow, error) {
	var rules []project.Allow
	for _, word := range o.allow {
		file, ok := strings.CutPrefix(word, "@")
		if !ok {
			rules = append(rules, project.Allow{Calls: word})
			continue
		}
		text, err := readFile(w.path(file), project.MaxSize)
		if err != nil {
			return nil, usageError(fmt.Errorf("--allow: %w", err))
		}
		list, err := project.ParseAllow(file, text)
		if err != nil {
			return nil, usageError(err)
		}
		rules = append(rules, list...)
	}
	return rules, nil
}

// provided is a provider that a command brings along.
type provided struct {
	name       string
	definition node.Definition
	shown      string // the target as it was written
}

// asWritten returns the target as written in the project file or flag.
func asWritten(declared project.Provider) string {
	if declared.Builtin != "" {
		return "builtin " + declared.Builtin
	}
	if declared.OnEvent == nil {
		return declared.Target
	}
	text := "onEvent " + declared.OnEvent.Target
	if declared.IsComplete != nil {
		text += ", isComplete " + declared.IsComplete.Target
	}
	return text
}

// macros returns the macros of the project and of flags, which win.
func (w *workdir) macros(p place, given providerOptions) ([]provided, error) {
	flags := pairs{}
	if err := flags.setAll("macro", given.macros); err != nil {
		return nil, err
	}
	var list []provided
	var problems []error
	add := func(dir string, declared project.Provider) {
		d, err := node.DefineMacro(dir, declared)
		if err != nil {
			problems = append(problems, err)
			return
		}
		list = append(list, provided{store.ServedMacro(declared.Name), d, declared.Target})
	}
	if p.project != nil {
		for _, declared := range p.project.Macros {
			if !slices.ContainsFunc(flags, func(given project.Pair) bool { return given.Name == declared.Name }) {
				add(p.project.Dir, declared)
			}
		}
	}
	for _, pair := range flags {
		add(w.cwd, project.Provider{Name: pair.Name, Target: pair.Text})
	}
	if problems != nil {
		return nil, usageError(errors.Join(problems...))
	}
	return list, nil
}

// providers returns the providers of the project and of flags, which win, and the macros behind them.
func (w *workdir) providers(p place, given providerOptions) ([]provided, error) {
	flags, err := given.read(w)
	if err != nil {
		return nil, err
	}
	var list []provided
	var problems []error
	var all []project.Provider
	if p.project != nil {
		for _, declared := range p.project.Providers {
			if !slices.ContainsFunc(flags, func(given project.Provider) bool { return given.Name == declared.Name }) {
				all = append(all, declared)
			}
		}
	}
	fromFlags := len(all)
	all = append(all, flags...)
	for i, declared := range all {
		dir := w.cwd
		if i < fromFlags {
			dir = p.project.Dir
		}
		d, err := node.Define(dir, declared, all)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		list = append(list, provided{declared.Name, d, asWritten(declared)})
	}
	macros, err := w.macros(p, given)
	if err != nil {
		problems = append(problems, err)
	}
	if problems != nil {
		return nil, usageError(errors.Join(problems...))
	}
	return append(list, macros...), nil
}
