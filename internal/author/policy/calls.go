// Package policy derives the IAM permissions that the AWS calls of a template's resources need.
package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/awscall/customresource"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// MaxTemplate is the size of the largest template that is read, in bytes: as much as the service reads by URL. Source: AWS
// CloudFormation quotas.
const MaxTemplate = 1 << 20

// Config says how a template is read.
type Config struct {
	// Client knows the services. Nil is not allowed.
	Client *awscall.Client
	// Parameters are values for parameters and pseudo parameters of the template, by name. They go before defaults.
	Parameters map[string]string
	// Providers are the names in service tokens behind which the provider of AWS calls is.
	Providers []string
}

// Call is an AWS call that a resource makes. An asterisk in Region or Role means that the template alone does not determine it.
type Call struct {
	Resource string // the logical ID
	customresource.Need
	// Open says that Role is not known in full.
	Open bool
}

// Problem is a resource whose calls are unknown.
type Problem struct {
	Resource     string
	Line, Column int // of the template, from 1
	Text         string
}

// Read returns the calls of a template, in its order, and the resources whose calls are unknown. The error is about the
// template as a whole.
func Read(body string, c Config) ([]Call, []Problem, error) {
	limits := template.Quotas()
	limits.Bytes = MaxTemplate
	root, err := template.Read(body, limits)
	if err != nil {
		return nil, nil, err
	}
	if root.Kind() != value.Map || root.Get("Resources").Kind() != value.Map {
		return nil, nil, fmt.Errorf("the template has no Resources")
	}
	r := &reader{config: c, root: root}
	var calls []Call
	var problems []Problem
	for _, m := range root.Get("Resources").Members() {
		if !r.makesCalls(m.Value) {
			continue
		}
		found, err := r.calls(m.Key, m.Value.Get("Properties"))
		if err != nil {
			problems = append(problems, Problem{m.Key, m.Line(), m.Column(), err.Error()})
		}
		calls = append(calls, found...)
	}
	return calls, problems, nil
}

// calls returns the calls of a resource.
func (r *reader) calls(name string, properties template.Node) ([]Call, error) {
	variants := []map[string]json.RawMessage{{}}
	for _, key := range []string{"Create", "Update", "Delete"} {
		branches := r.branches(properties.Get(key))
		var next []map[string]json.RawMessage
		for _, branch := range branches {
			text, err := r.property(branch)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			for _, variant := range variants {
				if len(next) == maxVariants {
					return nil, fmt.Errorf("%s: conditions make more than %d variants of it", key, maxVariants)
				}
				more := map[string]json.RawMessage{}
				for k, v := range variant {
					more[k] = v
				}
				if text != nil {
					more[key] = text
				}
				next = append(next, more)
			}
		}
		variants = next
	}
	var calls []Call
	for _, variant := range variants {
		raw, err := json.Marshal(variant)
		if err != nil {
			return nil, err
		}
		needs, err := customresource.Needs(r.config.Client, raw)
		if err != nil {
			return nil, r.explain(err)
		}
		for _, need := range needs {
			call := Call{Resource: name, Need: need}
			call.Region, _ = closed(need.Region)
			call.Role, call.Open = closed(need.Role)
			if call.Role == "*" {
				call.Role = anyRole
			}
			if !slices.ContainsFunc(calls, func(c Call) bool { return same(c, call) }) {
				calls = append(calls, call)
			}
		}
	}
	return calls, nil
}

// maxVariants bounds the variants of one resource under its conditions.
const maxVariants = 64

// anyRole stands for a role of which nothing is known. IAM takes no asterisk for the partition.
const anyRole = "arn:aws:iam::*:role/*"

func same(a, b Call) bool {
	return a.Request == b.Request && a.Service == b.Service && a.Action == b.Action && a.Region == b.Region && a.Role == b.Role
}

// explain says of a service or an action with a hole in it why it is not known.
func (r *reader) explain(err error) error {
	if strings.Contains(err.Error(), hole) || strings.Contains(err.Error(), `\ue000`) {
		return fmt.Errorf("service and action have to be in the template itself, or in parameters that are given: %s",
			strings.NewReplacer(hole, "…", `\ue000`, "…").Replace(err.Error()))
	}
	return err
}

// closed puts asterisks where a text has holes; open says that it had some.
func closed(text string) (closed string, open bool) {
	closed = strings.ReplaceAll(text, hole, "*")
	for strings.Contains(closed, "**") {
		closed = strings.ReplaceAll(closed, "**", "*")
	}
	return closed, closed != text
}

// makesCalls reports whether a resource is one whose provider makes AWS calls: by its type, or its service token.
func (r *reader) makesCalls(resource template.Node) bool {
	kind := resource.Get("Type").Text()
	if kind != "AWS::CloudFormation::CustomResource" && !strings.HasPrefix(kind, "Custom::") {
		return false
	}
	token := resource.Get("Properties").Get("ServiceToken")
	for _, branch := range r.branches(token) {
		if r.isProvider(branch) {
			return true
		}
	}
	return kind == "Custom::AWS"
}

func (r *reader) isProvider(token template.Node) bool {
	// The CDK refers to the function, which is in the same template.
	if target := token.Get("Fn::GetAtt"); target.Kind() != value.Null {
		name := target.Text()
		if items := target.Items(); len(items) > 0 {
			name = items[0].Text()
		}
		return builtin.IsAWS(wire.ServiceToken("arn:aws:lambda:us-east-1:000000000000:function:" + strings.TrimSuffix(name, ".Arn")))
	}
	text := wire.ServiceToken(strings.ReplaceAll(r.text(token), hole, "us-east-1"))
	_, ok := local.Match(text, func(name string) bool { return slices.Contains(r.config.Providers, name) })
	return ok || builtin.IsAWS(text)
}
