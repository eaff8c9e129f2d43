package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// nestedOptions returns what a nested stack is made, or updated, with: what its resource declares, and what it has of its
// parent. declared is the template.
func (s nestedStacks) nestedOptions(
	ctx context.Context, r *store.Request, parent *store.Stack, n *nesting, declared *template.Template,
) (Options, error) {
	op, err := s.store.Operation(ctx, parent.Key, r.Operation)
	if err != nil {
		return Options{}, err
	}
	revision, err := s.Revision(ctx, *parent)
	if err != nil {
		return Options{}, err
	}
	o := nestedOptionsOf(r.Body.Properties, revision.Tags)
	o.Capabilities, o.RoleARN, o.DisableRollback = parent.Capabilities, parent.RoleARN, op.DisableRollback
	o.RetainExceptOnCreate, o.nested = op.RetainExceptOnCreate, n
	group, _ := r.Body.Properties.Get("ResourceGroupId") // of ROS; CloudFormation refuses the property
	o.ResourceGroup = cmp.Or(group.Text(), parent.ResourceGroup)
	o.Caller, o.Parallelism, o.replace = op.Caller, op.Parallelism, op.Replace
	parameters, _ := r.Body.Properties.Get("Parameters")
	for i, p := range o.Parameters {
		given, _ := parameters.Get(p.Key)
		d := declared.Parameter(p.Key)
		if given.Kind() == value.Map || given.Kind() == value.List && d != nil && d.Type == "Json" {
			o.Parameters[i].Value = string(given.JSON())
		}
	}
	return o, nil
}

// nestedOptionsOf returns what the properties of a nested stack declare, with the tags of its parent.
func nestedOptionsOf(properties value.Value, inherited []store.Tag) Options {
	o := Options{NotificationARNs: []string{}, Tags: []store.Tag{}}
	parameters, _ := properties.Get("Parameters")
	for _, p := range parameters.Members() {
		o.Parameters = append(o.Parameters, Parameter{Key: p.Key, Value: joined(p.Value), Secret: p.Value.HasSecret()})
	}
	topics, _ := properties.Get("NotificationARNs")
	for _, arn := range topics.Items() {
		o.NotificationARNs = append(o.NotificationARNs, arn.Text())
	}
	tags, _ := properties.Get("Tags")
	own := set[string]{}
	for _, tag := range tags.Items() {
		key, _ := tag.Get("Key")
		text, _ := tag.Get("Value")
		own.add(key.Text())
		o.Tags = append(o.Tags, store.Tag{Key: key.Text(), Value: text.Text()})
	}
	for _, tag := range inherited {
		if !own[tag.Key] {
			o.Tags = append(o.Tags, tag)
		}
	}
	return o
}

// joined returns the text of a parameter: that of a list is its items, joined by commas.
func joined(v value.Value) string {
	if v.Kind() != value.List {
		return v.Text()
	}
	items := make([]string, len(v.Items()))
	for i, item := range v.Items() {
		items[i] = item.Text()
	}
	return strings.Join(items, ",")
}

// rosNestedMinutes is how long an operation of a nested stack of ROS may take if nothing else is declared.
// Source: ROS, ALIYUN::ROS::Stack, TimeoutMins.
const rosNestedMinutes = 60

// nestedTimeout returns how many minutes an operation of a nested stack may take; 0 means no limit.
func nestedTimeout(dialect Dialect, r *store.Request) (int, error) {
	property, minutes := "TimeoutInMinutes", 0
	if dialect == ROS {
		property, minutes = "TimeoutMins", rosNestedMinutes
	}
	given, ok := r.Body.Properties.Get(property)
	if !ok {
		return minutes, nil
	}
	minutes, err := strconv.Atoi(given.Text())
	if err != nil {
		return 0, invalid(native.BadValue(dialect.wire(), property, "be of type Integer").Error())
	}
	return minutes, nil
}

// nestedName returns the name of the stack that a Create makes: always the same for one request, so that one that comes
// twice makes one stack.
func nestedName(parent string, r *store.Request) string {
	sum := sha256.Sum256([]byte(string(r.Body.StackID) + "|" + string(r.ID)))
	suffix := make([]byte, 12)
	for i := range suffix {
		suffix[i] = nameLetters[int(sum[i])%len(nameLetters)]
	}
	return withSuffix(parent+"-"+string(r.Logical), string(suffix))
}

// withSuffix joins the parts of a name. The front is cut if both are too long.
func withSuffix(front, suffix string) string {
	return front[:min(len(front), longestName-1-len(suffix))] + "-" + suffix
}
