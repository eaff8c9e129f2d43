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

// nestedOptions returns the options for creating or updating a nested stack: those that its resource declares, and
// those that it inherits from its parent. declared is the template.
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
	group, _ := r.Body.Properties.Get("ResourceGroupId") // of ROS; CloudFormation rejects the property
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

// nestedOptionsOf returns the options that a nested stack's properties declare, with the inherited tags.
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

// joined returns the text of a parameter. A list becomes its items, joined by commas.
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

// rosNestedMinutes is the default time limit of a nested ROS stack's operation. Source: ROS, ALIYUN::ROS::Stack,
// TimeoutMins.
const rosNestedMinutes = 60

// nestedTimeout returns the time limit of a nested stack's operation in minutes; 0 means no limit.
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

// nestedName returns the name of the stack that a Create makes. It is always the same for a request, so a repeated
// request creates one stack.
func nestedName(parent string, r *store.Request) string {
	sum := sha256.Sum256([]byte(string(r.Body.StackID) + "|" + string(r.ID)))
	suffix := make([]byte, 12)
	for i := range suffix {
		suffix[i] = nameLetters[int(sum[i])%len(nameLetters)]
	}
	return withSuffix(parent+"-"+string(r.Logical), string(suffix))
}

// withSuffix joins the parts of a name. It shortens the front if the name would be too long.
func withSuffix(front, suffix string) string {
	return front[:min(len(front), longestName-1-len(suffix))] + "-" + suffix
}
