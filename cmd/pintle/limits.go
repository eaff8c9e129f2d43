package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// limitOptions are how large templates may be.
type limitOptions struct{ limits []string }

func (o *limitOptions) flags(flags *pflag.FlagSet) {
	names, quotas := template.LimitNames()
	known := make([]string, len(names))
	for i, name := range names {
		known[i] = fmt.Sprintf("%s (%d)", name, quotas[i])
	}
	flags.StringArrayVar(&o.limits, "limit", nil, "limit for templates, `NAME=NUMBER`; may be repeated. The names with CloudFormation's own limits: "+
		strings.Join(known, ", "))
	fromEnvironment(flags, "limit")
}

// parse returns the limits, zero where none was given.
func (o *limitOptions) parse() (template.Limits, error) {
	var limits template.Limits
	for _, given := range o.limits {
		name, text, _ := strings.Cut(given, "=")
		names, _ := template.LimitNames()
		number, err := strconv.Atoi(text)
		switch {
		case !slices.Contains(names, name):
			return limits, usagef("one of "+strings.Join(names, ", "), "--limit %s: unknown limit", given)
		case err != nil || number < 1:
			return limits, usagef("give a number from 1, such as "+name+"=1000", "--limit %s is not a valid number", given)
		}
		limits.Set(name, number)
	}
	return limits, nil
}

// parseZones reads REGION=NAME,NAME… for each region.
func parseZones(given []string) (map[string][]string, error) {
	zones := make(map[string][]string, len(given))
	for _, one := range given {
		region, list, ok := strings.Cut(one, "=")
		names := strings.Split(list, ",")
		if !ok || region == "" || slices.Contains(names, "") {
			return nil, usagef("use the form eu-central-1=eu-central-1a,eu-central-1b", "--zones %s does not have the form REGION=ZONE,ZONE", one)
		}
		slices.Sort(names)
		zones[region] = slices.Compact(names)
	}
	return zones, nil
}
