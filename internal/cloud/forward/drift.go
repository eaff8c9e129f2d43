package forward

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// Live implements [native.Viewer]. The endpoint compares the resource with the template of its inner stack, and Live
// applies the reported differences to the declared properties.
//
// Source: CloudFormation API Reference, DetectStackResourceDrift, StackResourceDrift and PropertyDifference.
func (t *forwarded) Live(ctx context.Context, r *store.Request) (value.Value, error) {
	j, err := t.job(r)
	if err != nil {
		return value.Value{}, err
	}
	unknown := func(err error) error { return &native.UnknownError{Text: err.Error()} }
	if err := t.config.Allowed(j.place.Account, "cloudformation:DetectStackResourceDrift"); err != nil {
		return value.Value{}, unknown(j.failure("%v", err))
	}
	if j.place.Account != t.config.Account {
		return value.Value{}, unknown(j.otherAccount())
	}
	select {
	case t.endpoint.slots <- struct{}{}:
		defer func() { <-t.endpoint.slots }()
	case <-ctx.Done():
		return value.Value{}, unknown(errLate)
	}
	live, err := j.live(ctx)
	_, unchecked := errors.AsType[*native.UncheckedError](err)
	switch {
	case err == nil, unchecked, errors.Is(err, native.ErrDeleted), errors.Is(err, native.ErrOwn):
		return live, err
	case ctx.Err() != nil:
		return live, unknown(errLate)
	}
	return live, unknown(err)
}

var errLate = errors.New("there was no time to ask its endpoint. Detect drift again, or only that of this resource")

// live returns the properties that the endpoint compared, as they are.
func (j *job) live(ctx context.Context) (value.Value, error) {
	of, stray, ok, err := j.find(ctx)
	switch {
	case err != nil:
		return value.Value{}, err
	case !ok:
		return value.Value{}, native.ErrOwn
	case stray:
		return value.Value{}, j.failure("the endpoint replaced %s on its own, so that no stack has it now", j.r.Body.PhysicalID)
	}
	s, err := j.describe(ctx, of.Of.Stack)
	switch {
	case errors.Is(err, errTaken):
		return value.Value{}, j.failure("the stack %s is not asked: %v", of.Of.Stack, err)
	case err != nil:
		return value.Value{}, err
	case s == nil:
		return value.Value{}, j.failure("it no longer has the stack %s with this resource. Was the endpoint restarted without its state?", of.Of.Stack)
	case j.e.moto.Load(): // it answers 500
		return value.Value{}, j.unchecked("moto does not detect drift.")
	}
	out, err := j.e.call(ctx, j.place.Region, cloudFormation, "DetectStackResourceDrift", map[string]any{
		"StackName": s.id, "LogicalResourceId": string(j.r.Logical),
	})
	if lacks(err) {
		return value.Value{}, j.unchecked("the endpoint does not detect drift.")
	}
	if refused, ok := errors.AsType[*refusedError](err); ok && undetectable(refused.message) {
		return value.Value{}, j.unchecked(refused.message)
	}
	if err != nil {
		return value.Value{}, err
	}
	found, _ := out["StackResourceDrift"].(map[string]any)
	return j.drifted(found)
}

// undetectable reports whether an error says that drift of a type is not detected. The first text is that of AWS, the
// second one that of ministack.
func undetectable(message string) bool {
	return strings.Contains(message, "does not support drift detection") || strings.Contains(message, "rift detection is not supported")
}

func (j *job) unchecked(reason string) error {
	return &native.UncheckedError{Text: j.failure("%s", reason).Error()}
}

// drifted applies the differences of a StackResourceDrift to the declared properties.
func (j *job) drifted(found map[string]any) (value.Value, error) {
	if id := text(found, "PhysicalResourceId"); id != "" && id != string(j.r.Body.PhysicalID) && text(found, "StackResourceDriftStatus") != "DELETED" {
		return value.Value{}, j.failure("the endpoint compared the resource %s instead of %s", id, j.r.Body.PhysicalID)
	}
	live := compared(j.r.Body.Properties, text(found, "ExpectedProperties"))
	switch status := text(found, "StackResourceDriftStatus"); status {
	case "IN_SYNC":
		return live, nil
	case "DELETED":
		return value.Value{}, native.ErrDeleted
	case "MODIFIED":
	case "NOT_CHECKED", "UNSUPPORTED":
		return value.Value{}, j.unchecked("the endpoint did not check its drift.")
	default:
		reason := text(found, "DriftStatusReason")
		if reason == "" {
			reason = "it gave no reason"
		}
		return value.Value{}, j.failure("the drift is %s there: %s", status, reason)
	}
	actual, err := value.Parse([]byte(text(found, "ActualProperties")))
	if err != nil {
		actual = value.Object()
	}
	before := live
	for _, difference := range objects(found, "PropertyDifferences") {
		path := strings.Split(strings.TrimPrefix(text(difference, "PropertyPath"), "/"), "/")
		for i := range path {
			path[i] = unescape.Replace(path[i])
		}
		now := value.Value{}
		if text(difference, "DifferenceType") != "REMOVE" {
			now = read(text(difference, "ActualValue"))
		}
		patched, ok := patch(live, path, now)
		whole, known := actual.Get(path[0])
		switch {
		case known && path[0] == "Tags": // they have those of the stack too, in any order
			declared, _ := j.r.Body.Properties.Get("Tags")
			patched, ok = live.With("Tags", j.ownTags(declared, whole)), true
		case known && !ok:
			patched, ok = live.With(path[0], whole), true
		}
		if !ok {
			return value.Value{}, j.failure("the difference at %s cannot be read", text(difference, "PropertyPath"))
		}
		live = patched
	}
	if live.Equal(before) {
		return value.Value{}, j.failure("the resource is MODIFIED there, but no difference is known")
	}
	return live, nil
}

// ownTags returns the tags of a resource, a list or an object, without those of its inner stack.
func (j *job) ownTags(declared, tags value.Value) value.Value {
	inherited := map[string]bool{tagStack: true, tagResource: true}
	for _, tag := range j.r.Body.Tags {
		inherited[tag.Key] = true
	}
	key := func(tag value.Value) string {
		name, _ := tag.Get("Key")
		return name.Text()
	}
	for _, tag := range declared.Items() {
		delete(inherited, key(tag))
	}
	if tags.Kind() == value.List {
		return value.Items(slices.DeleteFunc(slices.Clone(tags.Items()), func(tag value.Value) bool { return inherited[key(tag)] })...)
	}
	own := value.Object()
	for _, m := range tags.Members() {
		if _, is := declared.Get(m.Key); is || !inherited[m.Key] {
			own = own.With(m.Key, m.Value)
		}
	}
	return own
}

// compared returns the declared properties that an endpoint compared: those in expected, an object as JSON. An endpoint
// that does not report them compared all.
func compared(declared value.Value, expected string) value.Value {
	names, err := value.Parse([]byte(expected))
	if err != nil || names.Kind() != value.Map {
		return declared
	}
	live := value.Object()
	for _, m := range declared.Members() {
		if _, ok := names.Get(m.Key); ok {
			live = live.With(m.Key, m.Value)
		}
	}
	return live
}

// unescape decodes a part of a JSON pointer.
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// read returns the value of a difference, which is JSON for lists and objects.
func read(text string) value.Value {
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		if parsed, err := value.Parse([]byte(text)); err == nil {
			return parsed
		}
	}
	return value.Str(text)
}

// patch replaces a part of a value. It reports whether the value has the containers on the path.
func patch(v value.Value, path []string, now value.Value) (value.Value, bool) {
	if len(path) == 0 {
		if parsed, err := value.Parse([]byte(now.Text())); err == nil && parsed.Kind() == v.Kind() {
			return parsed, true // a number or a boolean
		}
		return now, true
	}
	switch v.Kind() {
	case value.Map:
		child, _ := v.Get(path[0])
		changed, ok := patch(child, path[1:], now)
		return v.With(path[0], changed), ok
	case value.List:
		items := append([]value.Value{}, v.Items()...)
		at, err := strconv.Atoi(path[0])
		if err != nil || at < 0 || at > len(items) {
			return v, false
		}
		if at == len(items) {
			items = append(items, value.Value{})
		}
		changed, ok := patch(items[at], path[1:], now)
		items[at] = changed
		return value.Items(items...), ok
	case value.Null:
		changed, ok := patch(value.Value{}, path[1:], now)
		return value.Object(value.Member{Key: path[0], Value: changed}), ok
	case value.String, value.Number, value.Bool:
	}
	return v, false
}
