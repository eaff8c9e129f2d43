package main

import (
	"os"

	"github.com/spf13/cobra"
)

// functionOptions are the flags about functions of templates.
type functionOptions struct {
	run     bool
	modules []string
}

func (o *functionOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.run, "run-functions", false, "run the code of functions that templates declare, on this machine and as this user")
	o.moduleFlag(cmd)
	fromEnvironment(flags, "run-functions")
}

// moduleFlag is the flag alone that is of use where functions are run anyway.
func (o *functionOptions) moduleFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.modules, "node-modules", nil, "`DIR` in which Node functions find packages beside their own, e.g. a node_modules; may be repeated")
	fromEnvironment(cmd.Flags(), "node-modules")
}

// folders returns the folders of packages as absolute paths.
func (o *functionOptions) folders(a *app) ([]string, error) {
	var list []string
	for _, given := range o.modules {
		path := a.path(given)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, usagef("give a folder, such as the node_modules that npm makes", "--node-modules: there is no folder %s", given)
		}
		list = append(list, path)
	}
	return list, nil
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
