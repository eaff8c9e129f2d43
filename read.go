package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
	"github.com/pintle-dev/pintle/wire"
)

// Reader is implemented by a provider that can read its resources back. Pintle uses it to detect drift and to import
// existing resources. The schema of the provider declares it, see [Schema]. CloudFormation and ROS never send a Read.
type Reader[P, A any] interface {
	Provider[P, A]
	// Read returns the present state of the resource with the ID of the request, and changes nothing. [ErrGone]
	// reports that the resource does not exist. Any other error fails the request.
	Read(ctx context.Context, r *ReadRequest[P]) (ReadResponse[P, A], error)
}

// ReadRequest asks for the present state of the resource with the ID of the request.
type ReadRequest[P any] struct {
	// Request is the original request.
	Request
	// Properties are the properties that the template declares for the resource. They are decoded but not checked: an
	// earlier version of the provider may have accepted them.
	Properties P
}

// ReadResponse is the present state of a resource.
type ReadResponse[P, A any] struct {
	// Properties are the present properties. Copy unreadable ones from the request. A zero secret counts as
	// unreadable. Values of secret properties never leave the provider; it reports only whether they differ.
	Properties P
	// Attributes are the Attributes of a [Response], for an imported resource.
	Attributes A
	// NoEcho is the NoEcho of a [Response].
	NoEcho bool
}

// readable is a [Handler] that can answer a [Read]. Other handlers never get one: a function that knows three types
// of requests could mistake it for a Delete.
type readable interface{ Reads() bool }

// reads reports whether a handler answers a Read.
func reads(h Handler) bool {
	r, ok := h.(readable)
	return ok && r.Reads()
}

var errNoRead = errors.New("this provider has no method Read, so the present state of its resources is unknown")

// Reads reports whether the provider is a [Reader]. A handler that wraps another one gets Read requests only if it
// has this method and the method returns true.
func (r *Resource) Reads() bool { return r.reads }

// Reads reports whether the handler for the type answers a [Read].
func (n *named) Reads() bool { return reads(n.Handler) }

// Reads reports whether the wrapped handler answers a [Read].
func (a *alwaysDelete) Reads() bool { return reads(a.Handler) }

// readBack answers a Read.
func (x *resource[P, A]) readBack(ctx context.Context, r *Request) (Answer, error) {
	if x.reader == nil {
		return Answer{}, errNoRead
	}
	if err := x.showable(r); err != nil {
		return Answer{}, err
	}
	properties, err := x.kept(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	response, err := x.reader.Read(ctx, &ReadRequest[P]{Request: *r, Properties: properties})
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{NoEcho: response.NoEcho}
	x.attributes.addTo(&answer, reflect.ValueOf(response.Attributes))
	hideSecrets(r, answer)
	r.hide.Add(x.properties.secretTexts(reflect.ValueOf(response.Properties), 0)...)
	state, err := x.stateOf(r, properties, response.Properties)
	if err == nil {
		answer.State = state // a Read has no Poller that would use the State
	}
	return answer, err
}

// stateOf returns the properties for the answer to a Read. Properties that equal the declared ones are sent as
// declared, because "90s" and 90 are the same duration, and a migrated property may be missing.
func (x *resource[P, A]) stateOf(r *Request, declared, now P) (*wire.State, error) {
	if x.properties.kind == kindRaw {
		raw := reflect.ValueOf(now).Bytes()
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil || members == nil {
			return nil, errors.New("the properties from Read are not a JSON object")
		}
		state := &wire.State{Properties: raw}
		for name, text := range members {
			if r.hide.In(string(text)) {
				state.Secret = append(state.Secret, name)
			}
		}
		slices.Sort(state.Secret)
		return state, nil
	}
	given, err := parseProperties(r.RawProperties, x.properties)
	if err != nil {
		return nil, err
	}
	members, err := present(x.properties, given, reflect.ValueOf(&declared).Elem(), reflect.ValueOf(&now).Elem(), 0)
	if err != nil {
		return nil, fmt.Errorf("the properties from Read cannot be encoded: %w", err)
	}
	state := &wire.State{}
	for _, f := range x.properties.fields {
		member, there := members[f.name]
		if !there {
			continue
		}
		text, err := clearjson.Encode(member)
		if err != nil {
			return nil, fmt.Errorf("the property %s from Read cannot be encoded: %w", f.name, err)
		}
		_, secrets, err := clearJSON(reflect.ValueOf(now).FieldByIndex(f.index).Interface())
		if err != nil {
			return nil, fmt.Errorf("the property %s from Read cannot be encoded: %w", f.name, err)
		}
		if f.rules.secret || f.shape.hasSecret(map[*shape]bool{}) || len(secrets) > 0 || r.hide.In(string(text)) {
			state.Secret = append(state.Secret, f.name)
		}
	}
	slices.Sort(state.Secret)
	state.Properties, err = clearjson.Encode(members)
	return state, err
}

// hasSecret reports whether the shape contains a secret.
func (s *shape) hasSecret(seen map[*shape]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if s.kind == kindSecret {
		return true
	}
	for _, f := range s.fields {
		if f.rules.secret || f.shape.hasSecret(seen) {
			return true
		}
	}
	return s.elem.hasSecret(seen)
}

// secretTexts returns the texts of the secrets in a value: every [Secret], and the scalars in fields with the tag secret.
func (s *shape) secretTexts(v reflect.Value, depth int) []string {
	if depth > clearjson.MaxDepth {
		return nil // the value cannot be encoded, which its encoding reports
	}
	var found []string
	switch s.kind {
	case kindPointer:
		if !v.IsNil() {
			return s.elem.secretTexts(v.Elem(), depth+1)
		}
	case kindList:
		for i := range v.Len() {
			found = append(found, s.elem.secretTexts(v.Index(i), depth+1)...)
		}
	case kindDict:
		for _, member := range v.Seq2() {
			found = append(found, s.elem.secretTexts(member, depth+1)...)
		}
	case kindObject:
		for _, f := range s.fields {
			member := v.FieldByIndex(f.index)
			found = append(found, f.shape.secretTexts(member, depth+1)...)
			if f.rules.secret {
				found = append(found, scalarsIn(member.Interface())...)
			}
		}
	case kindSecret, kindAny, kindTextual, kindJSON:
		if _, secrets, err := clearJSON(v.Interface()); err == nil {
			return secrets
		}
	case kindText, kindBool, kindInt, kindUint, kindFloat, kindDuration, kindBytes, kindRaw:
	}
	return found
}

// present returns the members of an object in the form of a template. given are the declared members, was is their
// decoded value, and is is the current value.
func present(s *shape, given map[string]any, was, is reflect.Value, depth int) (map[string]any, error) {
	members := map[string]any{}
	for _, f := range s.fields {
		raw, declared := given[f.name]
		old, now := was.FieldByIndex(f.index), is.FieldByIndex(f.index)
		same, err := alike(old, now)
		if err != nil {
			return nil, err
		}
		if f.rules.secret || f.shape.base().kind == kindSecret {
			same = same || now.IsZero()
			if !same {
				members[f.name] = mask
				continue
			}
		}
		switch {
		case same && declared:
			members[f.name] = raw
		case !same:
			if members[f.name], err = presentValue(f.shape, raw, old, now, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return members, nil
}

// alike reports whether two values of a type are equal in a template.
func alike(one, other reflect.Value) (bool, error) {
	a, _, err := clearJSON(one.Interface())
	if err != nil {
		return false, err
	}
	b, _, err := clearJSON(other.Interface())
	return bytes.Equal(a, b), err
}

// presentValue returns a value that differs from the declared one. Parts of it that do not differ keep their declared
// form.
func presentValue(s *shape, raw any, was, is reflect.Value, depth int) (any, error) {
	if depth > clearjson.MaxDepth {
		return nil, clearjson.ErrDepth
	}
	switch s.kind {
	case kindSecret:
		if now := is.Interface().(Secret); !now.IsZero() && !now.Equal(was.Interface().(Secret)) {
			return mask, nil
		}
		return raw, nil
	case kindPointer:
		if is.IsNil() {
			return nil, nil
		}
		old := reflect.Zero(s.elem.typ)
		if !was.IsNil() {
			old = was.Elem()
		}
		return presentValue(s.elem, raw, old, is.Elem(), depth+1)
	case kindObject:
		given, _ := raw.(map[string]any)
		return present(s, given, was, is, depth)
	case kindList:
		given, _ := raw.([]any)
		list := make([]any, is.Len())
		for i := range list {
			var item any
			old := reflect.Zero(s.elem.typ)
			if i < len(given) && i < was.Len() {
				item, old = given[i], was.Index(i)
			}
			var err error
			if list[i], err = presentItem(s.elem, item, old, is.Index(i), depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case kindDict:
		given, _ := raw.(map[string]any)
		dict := map[string]any{}
		for key, member := range is.Seq2() {
			old := was.MapIndex(key)
			if !old.IsValid() {
				old = reflect.Zero(s.elem.typ)
			}
			var err error
			if dict[key.String()], err = presentItem(s.elem, given[key.String()], old, member, depth+1); err != nil {
				return nil, err
			}
		}
		return dict, nil
	case kindDuration:
		return time.Duration(is.Int()).String(), nil
	case kindAny:
		if is.IsNil() {
			return nil, nil
		}
		return presentAny(raw, is.Elem().Interface(), depth)
	case kindText, kindBool, kindInt, kindUint, kindFloat, kindBytes, kindRaw, kindTextual, kindJSON:
	}
	return masked(is.Interface())
}

// presentAny is presentValue for a value without a shape. Its declared form is its decoded value too.
func presentAny(raw, is any, depth int) (any, error) {
	if depth > clearjson.MaxDepth {
		return nil, clearjson.ErrDepth
	}
	if raw != nil {
		if same, err := alike(reflect.ValueOf(&raw).Elem(), reflect.ValueOf(&is).Elem()); err != nil || same {
			return raw, err
		}
	}
	switch is := is.(type) {
	case Secret:
		if is.IsZero() {
			return raw, nil
		}
		return mask, nil
	case []any:
		given, _ := raw.([]any)
		list := make([]any, len(is))
		for i := range list {
			var item any
			if i < len(given) {
				item = given[i]
			}
			var err error
			if list[i], err = presentAny(item, is[i], depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		given, _ := raw.(map[string]any)
		dict := map[string]any{}
		for name, member := range is {
			var err error
			if dict[name], err = presentAny(given[name], member, depth+1); err != nil {
				return nil, err
			}
		}
		return dict, nil
	}
	return masked(is)
}

// masked encodes a value with every [Secret] masked.
func masked(v any) (any, error) {
	text, secrets, err := clearJSON(v)
	if err != nil || len(secrets) == 0 {
		return text, err
	}
	return clearjson.Encode(v)
}

// presentItem is presentValue for an item that may equal the declared one.
func presentItem(s *shape, raw any, was, is reflect.Value, depth int) (any, error) {
	same, err := alike(was, is)
	if err != nil || same && raw != nil {
		return raw, err
	}
	return presentValue(s, raw, was, is, depth)
}
