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

func (a *app) newCommand() *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the project of a provider in Go",
		Long: `Write a project to begin with: a provider in Go, its test, a template that uses it,
and a pintle.yaml. It builds, passes its test and can be deployed as it is.

  pintle new site                    into ./site, module example.com/site
  pintle new github.com/you/site     into ./site, module github.com/you/site

As long as the module ` + scaffold.SDK + ` is not published, go.mod names a
clone of it: the one that this program was built from, or that of --pintle.`,
		Args: cobra.ExactArgs(1),
		RunE: a.command(func(_ context.Context, args []string) error { return a.create(&o, args[0]) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.module, "module", "", "`PATH` of the Go module")
	flags.StringVar(&o.dir, "dir", "", "`DIR` to write into (default: the last element of NAME); it may be there if it is empty")
	flags.StringVar(&o.clone, "pintle", "", "`DIR` of a clone of "+scaffold.SDK+", to be used instead of a published version")
	flags.BoolVar(&o.aws, "aws", false, "write also a CloudFormation template for it as a Lambda function, and what builds its zip file")
	return cmd
}

func (a *app) create(o *newOptions, name string) error {
	c := scaffold.Config{Name: name, Module: o.module, AWS: o.aws}
	switch source := a.source(); {
	case o.clone != "":
		if c.Clone = a.path(o.clone); !isClone(c.Clone) {
			return usagef("clone it, and name the folder", "--pintle %s is no clone of %s", o.clone, scaffold.SDK)
		}
	case source != "":
		c.Clone = source
	default:
		if r := buildRelease(); r.published() {
			c.Version = r.Version
		} else {
			return usagef("name the folder of a clone: --pintle DIR", "it is not known where the module %s is: it is not "+
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
		return usagef("take another name, or another folder with --dir", "%s is there already, and not empty", dir)
	case err != nil:
		return failed(err)
	}
	fmt.Fprintf(a.stdout, "wrote %s: %s\n", dir, strings.Join(p.Files(), ", "))
	next := "cd " + quote(dir)
	if c.Clone == "" {
		next += " && go mod tidy"
	}
	fmt.Fprintf(a.stdout, "next:  %s && go test ./... && pintle deploy\n", next)
	return nil
}

// source returns the clone that this program was built from; empty if it was built from elsewhere, or the clone is gone.
func (a *app) source() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) || strings.Contains(file, "@") { // of a module in the cache
		return ""
	}
	if dir := filepath.Join(filepath.Dir(file), "..", ".."); isClone(dir) {
		return dir
	}
	return ""
}

// isClone reports whether a folder holds the module.
func isClone(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	lines := bufio.NewScanner(f)
	return lines.Scan() && strings.TrimSpace(lines.Text()) == "module "+scaffold.SDK
}
