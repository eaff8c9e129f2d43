package forwardtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Change changes a property of a resource outside its stack. Nil removes it.
func (e *Endpoint) Change(id, property string, to any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.resources {
		if r.ID == id && !r.Deleted {
			if r.Drift == nil {
				r.Drift = map[string]any{}
			}
			r.Drift[property] = to
		}
	}
}

// Destroy deletes a resource outside its stack.
func (e *Endpoint) Destroy(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.resources {
		if r.ID == id {
			r.Deleted = true
		}
	}
}

// Forget loses all stacks and resources, as a restart of an emulator does.
func (e *Endpoint) Forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stacks, e.resources = nil, nil
}

// drift compares the resource of a stack with its template. As on AWS, the tags of the stack are among those of the
// resource.
func (e *Endpoint) drift(s *stack) (string, *apiError) {
	if s.resource == nil || strings.HasSuffix(s.status, "_IN_PROGRESS") {
		return "", invalid("Stack:%s is in %s state and its drift can not be detected.", s.id, s.status)
	}
	if s.resource.Type == "AWS::Test::Plain" {
		return "", invalid("Resource type AWS::Test::Plain does not support drift detection")
	}
	logical, _ := s.template.only()
	body := element("LogicalResourceId", logical) + element("PhysicalResourceId", s.resource.ID) + element("Timestamp", "2026-01-01T00:00:00Z")
	wrap := func(status, more string) string {
		return "<StackResourceDrift>" + body + element("StackResourceDriftStatus", status) + more + "</StackResourceDrift>"
	}
	if reason, ok := s.resource.Properties["Opaque"].(string); ok {
		return wrap("UNKNOWN", element("DriftStatusReason", reason)), nil
	}
	expected := maps.Clone(s.resource.Properties)
	declared, _ := expected["Tags"].([]any)
	tags := slices.Clone(declared)
	for _, key := range slices.Sorted(maps.Keys(s.tags)) {
		tags = append(tags, map[string]any{"Key": key, "Value": s.tags[key]})
	}
	expected["Tags"] = tags
	if s.resource.Deleted {
		return wrap("DELETED", element("ExpectedProperties", encoded(expected))), nil
	}
	actual := maps.Clone(expected)
	for name, v := range s.resource.Drift {
		if added, ok := v.([]any); ok && name == "Tags" {
			v = append(slices.Clone(tags), added...)
		}
		if actual[name] = v; v == nil {
			delete(actual, name)
		}
	}
	more := element("ExpectedProperties", encoded(expected)) + element("ActualProperties", encoded(actual))
	list := differences("", expected, actual)
	if list == "" {
		return wrap("IN_SYNC", more), nil
	}
	if e.Silent {
		return wrap("MODIFIED", ""), nil
	}
	return wrap("MODIFIED", more+"<PropertyDifferences>"+list+"</PropertyDifferences>"), nil
}

func encoded(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// differences compares two values as CloudFormation does.
func differences(path string, expected, actual any) string {
	one := func(kind string) string {
		return "<member>" + element("PropertyPath", path) + element("ExpectedValue", encoded(expected)) + element("ActualValue", encoded(actual)) +
			element("DifferenceType", kind) + "</member>"
	}
	was, object := expected.(map[string]any)
	now, both := actual.(map[string]any)
	before, list := expected.([]any)
	after, lists := actual.([]any)
	switch {
	case encoded(expected) == encoded(actual):
		return ""
	case expected == nil:
		return one("ADD")
	case actual == nil:
		return one("REMOVE")
	case object && both:
		names := maps.Clone(was)
		maps.Copy(names, now)
		text := ""
		for _, name := range slices.Sorted(maps.Keys(names)) {
			text += differences(path+"/"+strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"), was[name], now[name])
		}
		return text
	case list && lists:
		text := ""
		for i := range max(len(before), len(after)) {
			at := func(items []any) any {
				if i < len(items) {
					return items[i]
				}
				return nil
			}
			text += differences(path+"/"+strconv.Itoa(i), at(before), at(after))
		}
		return text
	}
	return one("NOT_EQUAL")
}
