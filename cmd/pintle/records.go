package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aliyun"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aws"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/wire"
)

// nativeTypes returns the native types of an engine that makes nothing; functions says that it has those of the cloud of this
// machine, and rules say which types are forwarded.
func nativeTypes(functions bool, rules []forward.Rule) (*native.Registry, error) {
	c := native.Config{Forward: forward.Offline(rules), SignalURL: func(responseurl.ResponseKey, string) (string, error) {
		return "", errors.New("a preview creates nothing")
	}}
	if functions {
		c.More = append(aliyun.Types(aliyun.Config{}), aws.Types(aws.Config{})...)
	}
	return native.CloudFormation(c)
}

// maxRecordsTold is how many resources are named in one warning.
const maxRecordsTold = 10

// recorded returns the resources of a template that can be records only, and the local variables of ROS that read data sources.
func recorded(t *template.Template, types *native.Registry) []*template.Resource {
	var list []*template.Resource
	for _, r := range t.Resources {
		if schema := types.Schema(r.Type); schema != nil && schema.Recorded {
			list = append(list, r)
		}
	}
	for _, source := range t.Sources {
		list = append(list, &template.Resource{LogicalID: source.Name, Type: source.Type, Line: source.Line, Column: source.Column})
	}
	return list
}

// warnOfPatterns says which parameters have a pattern that values are not held against.
func (o *rollout) warnOfPatterns() {
	t, err := o.want.parsed()
	if err != nil {
		return // the engine reports the problem
	}
	for _, note := range t.Unchecked() {
		o.say("warning: %s %s", note.Message, note.Detail)
	}
}

// warnOfUnreachable says which forwarded resources refer to resources that their endpoint does not have.
func (o *rollout) warnOfUnreachable() {
	types, err := nativeTypes(o.functions || o.cloud, o.want.forwards)
	if err != nil {
		return
	}
	t, err := o.want.parsed()
	if err != nil {
		return // the engine reports the problem
	}
	for _, r := range t.Resources {
		if names := types.Unreachable(t, r); names != nil {
			o.say("warning: %s: %s", r.LogicalID, strings.TrimPrefix(native.UnreachableText(types.ForwardedTo(r.Type), names), "Warning: "))
		}
	}
}

// warnOfRecords says which resources of a template are records only, and reports whether there are any.
func (o *rollout) warnOfRecords() bool {
	// A server somewhere else does not say whether it runs functions.
	types, err := nativeTypes(o.functions || o.cloud || o.connection.endpoint != "", o.want.forwards)
	if err != nil {
		return false
	}
	t, err := o.want.parsed()
	if err != nil {
		return false // the engine reports the problem
	}
	list := recorded(t, types)
	if len(list) == 0 || o.here != nil && o.unknown != engine.UnknownRecorded {
		return false // or the engine refuses them
	}
	var names []string
	for _, r := range list[:min(len(list), maxRecordsTold)] {
		names = append(names, r.LogicalID+" ("+r.Type+")")
	}
	more := ""
	if left := len(list) - len(names); left > 0 {
		more = fmt.Sprintf(" and %d more", left)
	}
	dialect := wire.CloudFormation
	if o.want.language == template.ROS {
		dialect = wire.ROS
	}
	o.say("warning: no provider for %s%s: such resources are only recorded, and nothing is created in %s",
		strings.Join(names, ", "), more, native.CloudName(dialect))
	return true
}
