package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// functionOptions are the flags about functions of templates.
type functionOptions struct {
	run     bool
	modules []string
}

func (o *functionOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.run, "run-functions", false, "run the code of functions that templates declare, locally and as this user")
	o.moduleFlag(cmd)
	fromEnvironment(flags, "run-functions")
}

// moduleFlag is the flag alone that is of use where functions are run anyway.
func (o *functionOptions) moduleFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.modules, "node-modules", nil, "`DIR` where Node functions find extra packages, such as a node_modules; may be repeated; the node_modules next to the nearest cdk.json at or above the working directory is always searched")
	fromEnvironment(cmd.Flags(), "node-modules")
}

// folders returns the package directories as absolute paths: the given ones, then those of the CDK app around the working directory.
func (o *functionOptions) folders(w *workdir) ([]string, error) {
	var list []string
	for _, given := range o.modules {
		path := w.path(given)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, usagef("give a directory, such as the node_modules that npm creates", "--node-modules: no directory %s", given)
		}
		list = append(list, path)
	}
	return append(list, appModules(w.path("."))...), nil
}

// appModules returns the node_modules directories of the CDK app that contains dir: the one next to cdk.json, then those of its parent
// directories. It returns none if neither dir nor a parent has a cdk.json.
func appModules(dir string) (found []string) {
	app := false
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, "cdk.json")); err == nil && info.Mode().IsRegular() {
			app = true
		}
		modules := filepath.Join(dir, "node_modules")
		if info, err := os.Stat(modules); app && err == nil && info.IsDir() {
			found = append(found, modules)
		}
		if dir == filepath.Dir(dir) {
			return found
		}
	}
}

// repeated returns the flags with which they are typed again.
func (o *functionOptions) repeated() string {
	text := ""
	if o.run {
		text += " --run-functions"
	}
	for _, given := range o.modules {
		text += " --node-modules " + quote(given)
	}
	return text
}
