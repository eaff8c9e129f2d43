package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/author/scaffold"
)

// newOptions are the flags of new.
type newOptions struct {
	module, dir, clone string
	aws                bool
}

// authorCommands are the commands for authors of providers that need neither an engine nor the provider.
type authorCommands struct {
	*shell
}

func (a *authorCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.newCommand(), a.recordCommand(), a.statemachineCommand(),
	}
}

func (a *authorCommands) newCommand() *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create a project for a provider in Go",
		Long: `Create a starter project: a provider in Go, its test, a template that uses it, and a
pintle.yaml. It builds, passes its test and is ready to deploy.

  pintle new site                    into ./site, module example.com/site
  pintle new github.com/you/site     into ./site, module github.com/you/site

While the module ` + scaffold.SDK + ` is not published, go.mod refers to
a clone of it: the one that this program was built from, or the one in --pintle.`,
		Args: cobra.ExactArgs(1),
		RunE: runE(func(_ context.Context, args []string) error { return a.create(&o, args[0]) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.module, "module", "", "`PATH` of the Go module")
	flags.StringVar(&o.dir, "dir", "", "`DIR` to write to (default: the last element of NAME); it must be empty or not exist")
	flags.StringVar(&o.clone, "pintle", "", "`DIR` of a clone of "+scaffold.SDK+", to be used instead of a published version")
	flags.BoolVar(&o.aws, "aws", false, "add a CloudFormation template and a CDK construct for the provider as a Lambda function, and a build of its zip file")
	return cmd
}

func (a *authorCommands) create(o *newOptions, name string) error {
	c := scaffold.Config{Name: name, Module: o.module, AWS: o.aws}
	switch source := a.source(); {
	case o.clone != "":
		if c.Clone = a.path(o.clone); !isClone(c.Clone) {
			return usagef("clone it, and use the directory of the clone", "--pintle %s is not a clone of %s", o.clone, scaffold.SDK)
		}
	case source != "":
		c.Clone = source
	default:
		if r := buildRelease(); r.published() {
			c.Version = r.Version
		} else {
			return usagef("use the directory of a clone: --pintle DIR", "the source of module %s was not found: it is not "+
				"published, and the source of this program is not on this machine", scaffold.SDK)
		}
	}
	p, err := scaffold.New(c)
	if err != nil {
		return usageError(err)
	}
	dir := o.dir
	if dir == "" {
		dir = p.Name()
	}
	switch err := p.Write(a.path(dir)); {
	case errors.Is(err, scaffold.ErrNotEmpty):
		return usagef("use another name, or another directory with --dir", "%s already exists and is not empty", dir)
	case err != nil:
		return failed(err)
	}
	fmt.Fprintf(a.stdout, "wrote %s: %s\n", dir, strings.Join(p.Files(), ", "))
	next := "cd " + quote(dir)
	if c.Clone == "" {
		next += " && go mod tidy"
	}
	fmt.Fprintf(a.stdout, "next:  %s && go test ./... && pintle deploy\n", next)
	if o.aws {
		fmt.Fprintln(a.stdout, "AWS:   sh build.sh, then deploy aws.yaml as its first lines say, or use cdk/provider.ts in an app of the CDK")
	}
	return nil
}

// source returns the clone that this program was built from, or "" if there is no such clone any more.
func (a *authorCommands) source() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) || strings.Contains(file, "@") { // of a module in the cache
		return ""
	}
	if dir := filepath.Join(filepath.Dir(file), "..", ".."); isClone(dir) {
		return dir
	}
	return ""
}

// isClone reports whether a directory holds the module.
func isClone(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewScanner(f)
	return lines.Scan() && strings.TrimSpace(lines.Text()) == "module "+scaffold.SDK
}
