package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
	"github.com/pintle-dev/pintle/wire"
)

type (
	item   = registry.Item[registry.Rule]
	target = registry.Item[registry.Target]
)

// Error is an EventBridge error. Its texts contain no secrets.
type Error struct {
	// Code is the name of the exception, such as ResourceNotFoundException.
	Code string
	// Message is the text for users.
	Message string
	kind    error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns [registry.ErrNotFound] if the rule does not exist, [registry.ErrExists] if another holder created
// it, and otherwise nil.
func (e *Error) Unwrap() error { return e.kind }

func invalid(format string, args ...any) error {
	return &Error{Code: "ValidationException", Message: fmt.Sprintf(format, args...)}
}

func limited(format string, args ...any) error {
	return &Error{Code: "LimitExceededException", Message: fmt.Sprintf(format, args...)}
}

func constraint(field, value, want string) error {
	return invalid("1 validation error detected: Value '%.200s' at '%s' failed to satisfy constraint: %s", value, field, want)
}

// noRule returns the error for a rule that does not exist.
func noRule(name string) error {
	return &Error{Code: "ResourceNotFoundException", Message: "Rule " + name + " does not exist on EventBus default.", kind: registry.ErrNotFound}
}

// DefaultBus is the name of the event bus of all rules.
const DefaultBus = "default"

// CheckBus calls the function [CheckBus]. It is for callers that use the rules through an interface.
func (r *Rules) CheckBus(place registry.Scope, bus string) error { return CheckBus(place, bus) }

// CheckBus returns an error unless bus is empty or the default event bus of place.
func CheckBus(place registry.Scope, bus string) error {
	if bus == "" || bus == DefaultBus || bus == "arn:"+wire.Partition(place.Region)+":events:"+place.Region+":"+place.Account+":event-bus/"+DefaultBus {
		return nil
	}
	return &Error{Code: "ResourceNotFoundException", Message: fmt.Sprintf("Event bus %.256s does not exist.", bus)}
}

// ARN returns the ARN of a rule.
func ARN(place registry.Scope, name string) string {
	return "arn:" + wire.Partition(place.Region) + ":events:" + place.Region + ":" + place.Account + ":rule/" + name
}

// ParseARN returns the scope and the name of a rule.
func ParseARN(arn string) (registry.Scope, string, error) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) == 6 {
		name, ok := strings.CutPrefix(parts[5], "rule/")
		name = strings.TrimPrefix(name, DefaultBus+"/")
		if place := (registry.Scope{Account: parts[4], Region: parts[3]}); ok && ruleName.MatchString(name) && parts[2] == "events" {
			return place, name, nil
		}
	}
	return registry.Scope{}, "", invalid("Parameter ResourceARN is not valid. Reason: Provided Arn is not in correct format.")
}

var (
	ruleName = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`)
	// targetARN matches the ARN of any target. Targets that cannot be called here are stored, but never called.
	targetARN = regexp.MustCompile(`^arn:[a-z-]+:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:\S`)
	targetID  = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`)
)

// CheckName returns EventBridge's error for an invalid rule name.
func CheckName(name string) error {
	if !ruleName.MatchString(name) {
		return constraint("name", name, `Member must satisfy regular expression pattern: [\.\-_A-Za-z0-9]+ and have 1 to 64 characters`)
	}
	return nil
}

const maxDescription = 512

// check returns the parsed schedule of a rule, or an error if the rule is invalid.
func check(of registry.Rule) (s Schedule, err error) {
	if err := CheckName(of.Name); err != nil {
		return s, err
	}
	switch {
	case of.Schedule == "" && of.Pattern == "":
		return s, invalid("Parameter(s) EventPattern or ScheduleExpression must be specified.")
	case utf8.RuneCountInString(of.Description) > maxDescription:
		return s, constraint("description", of.Description[:20]+"...", "Member must have length less than or equal to 512")
	}
	if of.Schedule != "" {
		if s, err = ParseSchedule(of.Schedule); err != nil {
			return s, invalid("%s", err)
		}
	}
	if of.Pattern != "" {
		if _, err := ParsePattern(of.Pattern); err != nil {
			return s, &Error{Code: "InvalidEventPatternException", Message: "Event pattern is not valid. Reason: " + err.Error()}
		}
	}
	return s, nil
}

// Put creates or updates a rule and returns its ARN. It sets the schedule, pattern, description, role, Disabled and
// Poll. It also sets Tags if the rule is new or has a holder. holder is the creator, see [registry.Item], or empty
// for a client. If a rule has another holder and holder is not empty, Put returns [registry.ErrExists].
func (r *Rules) Put(ctx context.Context, holder string, of registry.Rule) (arn string, err error) {
	schedule, err := check(of)
	if err != nil {
		return "", err
	}
	name, now := registry.RuleName(of.Place, of.Name), r.config.Now().UTC()
	of.Made, of.Start, of.Next, of.Fired, of.Running = now, now, time.Time{}, 0, false
	change := func(i *item) error {
		if holder != "" && i.Owner != holder {
			return &Error{Code: "ResourceAlreadyExistsException", Message: "Rule " + of.Name + " already exists.", kind: registry.ErrExists}
		}
		was := i.Of
		i.Of = of
		if i.Of.Made = was.Made; holder == "" { // clients have separate calls for tags
			i.Of.Tags = was.Tags
		}
		if was.Schedule == of.Schedule && was.Disabled == of.Disabled && !was.Start.IsZero() { // the schedule continues
			i.Of.Start, i.Of.Next, i.Of.Fired, i.Of.Running, i.Of.Poll = was.Start, was.Next, was.Fired, was.Running, was.Poll
			return nil
		}
		r.begin(&i.Of, schedule)
		return nil
	}
	_, err = r.config.Catalog.Rules.Change(ctx, registry.Global, name, change)
	if errors.Is(err, registry.ErrNotFound) {
		if err := r.room(ctx, of.Place); err != nil {
			return "", err
		}
		made := item{Scope: registry.Global, Name: name, Owner: holder, Of: of}
		r.begin(&made.Of, schedule)
		if _, err = r.config.Catalog.Rules.Put(ctx, made); errors.Is(err, registry.ErrExists) {
			_, err = r.config.Catalog.Rules.Change(ctx, registry.Global, name, change)
		}
	}
	if err != nil {
		return "", conflict(err, of.Name)
	}
	r.look()
	return ARN(of.Place, of.Name), nil
}

// begin starts the schedule of a rule now.
func (r *Rules) begin(of *registry.Rule, s Schedule) {
	of.Start, of.Fired, of.Running, of.Next = r.config.Now().UTC(), 0, false, time.Time{}
	if of.Disabled {
		return
	}
	of.Next = s.Next(of.Start, of.Start)
	if r.polls(*of, s) {
		of.Next = of.Start.Add(firstPoll)
	}
}

// room returns an error if a scope already has the maximum number of rules.
func (r *Rules) room(ctx context.Context, place registry.Scope) error {
	list, err := r.List(ctx, place, "", "", MaxRules)
	if err == nil && len(list) == MaxRules {
		err = limited("The requested resource exceeds the maximum number allowed.")
	}
	return err
}

// conflict converts a catalog error to an EventBridge error.
func conflict(err error, name string) error {
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return noRule(name)
	case errors.Is(err, registry.ErrChanged):
		return &Error{Code: "ConcurrentModificationException", Message: "Rule " + name + " was modified concurrently."}
	}
	return err
}

// Get returns a rule.
func (r *Rules) Get(ctx context.Context, place registry.Scope, name string) (registry.Rule, error) {
	i, err := r.item(ctx, place, name)
	return i.Of, err
}

// Owner returns the creator of a rule.
func (r *Rules) Owner(ctx context.Context, place registry.Scope, name string) (string, error) {
	i, err := r.item(ctx, place, name)
	return i.Owner, err
}

func (r *Rules) item(ctx context.Context, place registry.Scope, name string) (item, error) {
	if err := CheckName(name); err != nil {
		return item{}, err
	}
	i, err := r.config.Catalog.Rules.Get(ctx, registry.Global, registry.RuleName(place, name))
	return i, conflict(err, name)
}

// List returns up to limit rules in a scope whose names have a prefix, sorted by name. It starts after a name, or
// with the first if after is empty.
func (r *Rules) List(ctx context.Context, place registry.Scope, prefix, after string, limit int) ([]registry.Rule, error) {
	start := registry.RuleName(place, "")
	var list []registry.Rule
	for from := start + after; ; {
		items, err := r.config.Catalog.Rules.List(ctx, registry.Global, from, page)
		if err != nil {
			return nil, err
		}
		for _, i := range items {
			from = i.Name
			if !strings.HasPrefix(i.Name, start) || len(list) == limit {
				return list, nil
			}
			if strings.HasPrefix(i.Of.Name, prefix) {
				list = append(list, i.Of)
			}
		}
		if len(items) < page {
			return list, nil
		}
	}
}

// Enable enables or disables a rule. The schedule of a newly enabled rule starts now.
func (r *Rules) Enable(ctx context.Context, place registry.Scope, name string, enabled bool) error {
	return r.change(ctx, place, name, func(of *registry.Rule) error {
		if of.Disabled != enabled {
			return nil
		}
		schedule, err := check(*of)
		of.Disabled = !enabled
		r.begin(of, schedule)
		return err
	})
}

// change changes a rule.
func (r *Rules) change(ctx context.Context, place registry.Scope, name string, change func(*registry.Rule) error) error {
	if err := CheckName(name); err != nil {
		return err
	}
	_, err := r.config.Catalog.Rules.Change(ctx, registry.Global, registry.RuleName(place, name), func(i *item) error { return change(&i.Of) })
	if err == nil {
		r.look()
	}
	return conflict(err, name)
}

// Delete removes a rule without targets. It succeeds if the rule does not exist.
func (r *Rules) Delete(ctx context.Context, place registry.Scope, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	targets, err := r.targets(ctx, place, name)
	if err != nil {
		return err
	}
	if len(targets) > 0 {
		return invalid("Rule can't be deleted since it has targets.")
	}
	err = r.config.Catalog.Rules.Delete(ctx, registry.Global, registry.RuleName(place, name), 0)
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}

const maxTags = 50

// Tag adds tags to a rule. It returns an error if the rule would have more than 50.
func (r *Rules) Tag(ctx context.Context, place registry.Scope, name string, tags map[string]string) error {
	return r.change(ctx, place, name, func(of *registry.Rule) error {
		all := maps.Clone(of.Tags)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, tags)
		if len(all) > maxTags {
			return limited("The requested resource exceeds the maximum number allowed.")
		}
		of.Tags = all
		return nil
	})
}

// Untag removes tags of a rule.
func (r *Rules) Untag(ctx context.Context, place registry.Scope, name string, keys []string) error {
	return r.change(ctx, place, name, func(of *registry.Rule) error {
		of.Tags = maps.Clone(of.Tags)
		maps.DeleteFunc(of.Tags, func(key, _ string) bool { return slices.Contains(keys, key) })
		return nil
	})
}

// PutTargets adds targets to a rule, or replaces those with the same IDs. It stores all targets or none.
func (r *Rules) PutTargets(ctx context.Context, place registry.Scope, rule string, targets map[string]registry.Target) error {
	i, err := r.item(ctx, place, rule)
	if err != nil {
		return err
	}
	there, err := r.targets(ctx, place, rule)
	if err != nil {
		return err
	}
	count := len(targets)
	for _, t := range there {
		if _, replaced := targets[t.ID()]; !replaced {
			count++
		}
	}
	if count > MaxTargets {
		return limited("The requested resource exceeds the maximum number allowed.")
	}
	for id, t := range targets {
		if err := r.checkTarget(id, t); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(targets)) {
		if err := r.putTarget(ctx, place, rule+"/"+id, targets[id]); err != nil {
			return err
		}
	}
	if !i.Of.Poll || i.Of.Disabled {
		return nil
	}
	// A polling rule starts polling once it has a target.
	return r.change(ctx, place, rule, func(of *registry.Rule) error {
		schedule, err := check(*of)
		r.begin(of, schedule)
		return err
	})
}

func (r *Rules) putTarget(ctx context.Context, place registry.Scope, name string, t registry.Target) error {
	_, err := r.config.Catalog.Targets.Put(ctx, target{Scope: place, Name: name, Of: t})
	if errors.Is(err, registry.ErrExists) {
		_, err = r.config.Catalog.Targets.Change(ctx, place, name, func(i *target) error {
			i.Of = t
			return nil
		})
	}
	return err
}

func (r *Rules) checkTarget(id string, t registry.Target) error {
	given := 0
	for _, is := range []bool{t.Input != nil, t.InputPath != "", t.Transformer != nil} {
		if is {
			given++
		}
	}
	longest := MaxInput
	if r.config.Exact {
		longest = MaxExactInput
	}
	switch {
	case !targetID.MatchString(id):
		return constraint("targets.1.member.id", id, `Member must satisfy regular expression pattern: [\.\-_A-Za-z0-9]+ and have 1 to 64 characters`)
	case !targetARN.MatchString(t.ARN) || len(t.ARN) > wire.MaxServiceToken:
		return invalid("Parameter %.200s is not valid. Reason: Provided Arn is not in correct format.", t.ARN)
	case given > 1:
		return invalid("Only one of Input, InputPath, or InputTransformer must be provided for target %s.", id)
	case t.Input != nil && len(*t.Input) > longest:
		return invalid("The input of target %s has more than %d bytes.", id, longest)
	case t.Input != nil && !json.Valid([]byte(*t.Input)):
		return invalid("JSON text for target %s is not valid.", id)
	}
	if parts := strings.SplitN(t.ARN, ":", 4); parts[2] == "sqs" && sqs.FIFO(t.ARN) && MessageGroup(t) == "" {
		return invalid("Parameter(s) SqsParameters must be specified for target: %s.", id)
	}
	if t.InputPath != "" {
		if _, err := parsePath(t.InputPath); err != nil {
			return invalid("Parameter InputPath is not valid for target %s. Reason: %s.", id, err)
		}
	}
	return checkTransformer(id, t.Transformer, longest)
}

// MessageGroup returns the MessageGroupId in the SqsParameters of a target, or "".
func MessageGroup(t registry.Target) string {
	var rest struct {
		SqsParameters struct {
			MessageGroupID string `json:"MessageGroupId"`
		}
	}
	if len(t.Rest) == 0 || json.Unmarshal(t.Rest, &rest) != nil {
		return ""
	}
	return rest.SqsParameters.MessageGroupID
}

// RemoveTargets removes targets of a rule. It ignores unknown IDs.
func (r *Rules) RemoveTargets(ctx context.Context, place registry.Scope, rule string, ids []string) error {
	if _, err := r.item(ctx, place, rule); err != nil {
		return err
	}
	for _, id := range ids {
		if !targetID.MatchString(id) {
			continue
		}
		if err := r.config.Catalog.Targets.Delete(ctx, place, rule+"/"+id, 0); err != nil && !errors.Is(err, registry.ErrNotFound) {
			return err
		}
	}
	return nil
}

// Targets returns the targets of a rule by ID.
func (r *Rules) Targets(ctx context.Context, place registry.Scope, rule string) (map[string]registry.Target, error) {
	if _, err := r.item(ctx, place, rule); err != nil {
		return nil, err
	}
	items, err := r.targets(ctx, place, rule)
	targets := map[string]registry.Target{}
	for _, t := range items {
		targets[t.ID()] = t.Of
	}
	return targets, err
}

// targets returns the targets of a rule, sorted by ID.
func (r *Rules) targets(ctx context.Context, place registry.Scope, rule string) ([]named, error) {
	items, err := r.config.Catalog.Targets.List(ctx, place, rule+"/", page)
	var list []named
	for _, t := range items {
		if strings.HasPrefix(t.Name, rule+"/") {
			list = append(list, named{t})
		}
	}
	return list, err
}

// named is a target with its ID.
type named struct{ target }

// ID returns the ID of the target.
func (t named) ID() string {
	_, id, _ := strings.Cut(t.Name, "/")
	return id
}

// RulesOf returns the sorted names of the rules in a scope that have a target.
func (r *Rules) RulesOf(ctx context.Context, place registry.Scope, arn string) ([]string, error) {
	var names []string
	for after := ""; ; {
		items, err := r.config.Catalog.Targets.List(ctx, place, after, page)
		if err != nil {
			return nil, err
		}
		for _, t := range items {
			after = t.Name
			if rule, _, _ := strings.Cut(t.Name, "/"); t.Of.ARN == arn && !slices.Contains(names, rule) {
				names = append(names, rule)
			}
		}
		if len(items) < page {
			slices.Sort(names)
			return names, nil
		}
	}
}
