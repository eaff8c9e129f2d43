package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// environmentMark is the annotation of a flag that an environment variable may set.
const environmentMark = "pintle_environment"

// fromEnvironment lets PINTLE_NAME set each of the flags that were not given. Several values of a flag that may be
// repeated are separated by commas.
func fromEnvironment(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		// The flag was just defined, so this cannot fail.
		_ = flags.SetAnnotation(name, environmentMark, []string{variable(name)})
	}
}

func variable(flag string) string {
	return "PINTLE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// variables are the environment variables of the process, with the settings that Pintle reads from them.
type variables struct {
	getenv func(string) string
}

// readEnvironment sets the flags of a command that were not given.
func (v *variables) readEnvironment(cmd *cobra.Command) error {
	var problem error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		value := v.getenv(variable(flag.Name))
		if flag.Annotations[environmentMark] == nil || flag.Changed || value == "" || problem != nil {
			return
		}
		values := []string{value}
		if flag.Value.Type() == "stringArray" {
			values = strings.Split(value, ",")
		}
		for _, value := range values {
			if err := cmd.Flags().Set(flag.Name, value); err != nil {
				problem = usagef("unset it, or give --"+flag.Name, "%s: %w", variable(flag.Name), err)
				return
			}
		}
	})
	return problem
}

// regionOr returns the region that was asked for.
func (v *variables) regionOr(given string) string {
	for _, region := range []string{given, v.getenv("AWS_REGION"), v.getenv("AWS_DEFAULT_REGION")} {
		if region != "" {
			return region
		}
	}
	return "us-east-1"
}

// rosRegionOr returns the requested region for stacks of ROS.
func (v *variables) rosRegionOr(given string) string {
	for _, region := range []string{given, v.getenv(aliyunRegion)} {
		if region != "" {
			return region
		}
	}
	return defaultROSRegion
}

// region returns the region of stacks in a language.
func (v *variables) region(l template.Language, given string) string {
	if l == template.ROS {
		return v.rosRegionOr(given)
	}
	return v.regionOr(given)
}

// environmentTable is the part of a command's help that names the variables.
func environmentTable(flags *pflag.FlagSet) string {
	var names []string
	width := 0
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations[environmentMark] != nil {
			names = append(names, flag.Name)
			width = max(width, len(variable(flag.Name)))
		}
	})
	slices.Sort(names)
	table := "Environment variables for flags that are not set:\n"
	for _, name := range names {
		table += fmt.Sprintf("\n  %-*s  --%s", width, variable(name), name)
	}
	return table
}
