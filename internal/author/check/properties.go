package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/base/suggest"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// properties are the states that resources are brought into, as a template has them.
type properties struct {
	first value.Value
	// second is another state. derived says that it was generated, so the provider may refuse it.
	second  *value.Value
	derived bool
	// third is a state that replaces the resource; nil if the user gave none.
	third *value.Value
	// bad lists candidates for properties that the provider refuses.
	bad []value.Value
	// sure says that bad were given.
	sure bool
	// other is a state for a second resource.
	other value.Value
}

// properties reads and derives them.
func (c *Config) properties(form *schema.Schema) (properties, error) {
	var p properties
	read := func(what string, raw json.RawMessage) (*value.Value, error) {
		if raw == nil {
			return nil, nil
		}
		v, err := value.Parse(raw)
		if err != nil || v.Kind() != value.Map {
			return nil, fmt.Errorf("%w: %s are not a JSON object", ErrUsage, what) // not the parser's words, which may quote a secret
		}
		return &v, nil
	}
	var given [4]*value.Value
	for i, one := range []struct {
		what string
		raw  json.RawMessage
	}{
		{"the properties", c.Properties}, {"the properties for the update", c.Update},
		{"the properties for the replacement", c.Replace}, {"the bad properties", c.Bad},
	} {
		var err error
		if given[i], err = read(one.what, one.raw); err != nil {
			return p, err
		}
	}
	made := given[0] == nil
	switch {
	case !made:
		p.first = *given[0]
	case form != nil:
		p.first = form.Example(0)
	default:
		p.first = value.Object()
	}
	p.second, p.third, p.other, p.derived = given[1], given[2], p.first, c.MayReplace
	if p.second == nil {
		if v, ok := varied(p.first, form, made); ok {
			p.second, p.derived = &v, true
		}
	}
	switch {
	case p.third != nil:
		p.other = *p.third
	case made && form != nil:
		p.other = form.Example(1)
	}
	if given[3] != nil {
		p.bad, p.sure = []value.Value{*given[3]}, true
	} else {
		p.bad = refused(p.first)
	}
	return p, nil
}

// plain is a text that is likely to be free: no name of something that exists, no number, no path.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z -]*$`)

// varied returns another state that a provider is likely to take.
func varied(first value.Value, form *schema.Schema, made bool) (value.Value, bool) {
	if form != nil {
		if v, ok := form.Vary(first); ok {
			return v, true
		}
		if made {
			return value.Value{}, false
		}
	}
	members := slices.Clone(first.Members())
	for i := len(members) - 1; i >= 0; i-- {
		m := members[i]
		if m.Value.Kind() == value.String && plain.MatchString(m.Value.Text()) && !secretName(m.Key) {
			members[i].Value = value.Str(m.Value.Text() + "x")
			return value.Object(members...), true
		}
	}
	return value.Value{}, false
}

// unfit is a value of which no provider can make a text, a number or a boolean.
var unfit = value.Object(value.Member{Key: "Unexpected", Value: value.Strs("a", "b")})

// refused returns candidates for properties that a provider refuses: each value in another form, and no values.
func refused(first value.Value) []value.Value {
	var all []value.Value
	if members := first.Members(); len(members) > 0 {
		wrong := slices.Clone(members)
		for i := range wrong {
			if wrong[i].Value = unfit; members[i].Value.Kind() == value.Map {
				wrong[i].Value = value.Str("unexpected")
			}
		}
		all = append(all, value.Object(wrong...))
	}
	return append(all, value.Object())
}

// outdated returns properties as an earlier version of a provider may have had them: some are missing, others have another
// form, and one is not known any more. Those that are immutable by the schema keep, which may be nil, stay as they are.
func outdated(first value.Value, keep *schema.Schema) value.Value {
	var members []value.Member
	for i, m := range first.Members() {
		switch {
		case keep.HoldsImmutable("/" + m.Key):
		case i%2 == 1:
			continue
		case m.Value.IsScalar():
			m.Value = value.Strs(m.Value.Text())
		default:
			m.Value = value.Str("old")
		}
		members = append(members, m)
	}
	return value.Object(append(members, value.Member{Key: "PintleCheckLegacy", Value: value.Str("1")})...)
}

// with returns properties with one more.
func with(v value.Value, key string, member value.Value) value.Value {
	return value.Object(append(slices.Clone(v.Members()), value.Member{Key: key, Value: member})...)
}

// long returns properties with every text of the top replaced by a long one.
func long(v value.Value, text string) value.Value {
	members := slices.Clone(v.Members())
	for i := range members {
		if members[i].Value.IsScalar() {
			members[i].Value = value.Str(text)
		}
	}
	return value.Object(members...)
}

// document returns properties as a request has them.
func (r *run) document(v value.Value) json.RawMessage {
	if r.config.Dialect == wire.ROS {
		return v.JSON()
	}
	return r.typed(v.Stringified())
}

// typed returns them with the token, and types that CloudFormation does not send.
func (r *run) typed(v value.Value) json.RawMessage {
	if _, ok := v.Get("ServiceToken"); !ok {
		token := value.Member{Key: "ServiceToken", Value: value.Str(string(r.config.ServiceToken))}
		v = value.Object(append([]value.Member{token}, v.Members()...)...)
	}
	return v.JSON()
}

// hasTypes reports whether there is a number or a boolean in v.
func hasTypes(v value.Value) bool { return !v.Equal(v.Stringified()) }

// secretNames matches names of secret properties, and openNames names of properties that refer to a secret without containing one.
var (
	secretNames = regexp.MustCompile(`(?i)passw(or)?d|passphrase|secret|token$|api_?key|private_?key|access_?key|credential`)
	openNames   = regexp.MustCompile(`(?i)(arn|id|name|ref|path|prefix|url|uri|endpoint|length|size|type|version|policy|stage|label|` +
		`enabled|required|rotation|days|ttl|expiry)s?$|^ServiceToken$`)
)

func secretName(name string) bool {
	return secretNames.MatchString(name) && !openNames.MatchString(name)
}

// minSecret is the length of the shortest value that is looked for: a shorter one is in every text.
const minSecret = 6

// secrets returns the values of secret properties. The schema, the template or the name of a property marks it as secret. A value
// that an open property has too, such as a user name equal to the password, is masked but not judged. Short values occur
// in every text, so they are masked only where they are the whole value.
func (p properties) secrets(form *schema.Schema, c *Config) (judged, masked, short []string) {
	states := []value.Value{p.first, p.other}
	for _, v := range []*value.Value{p.second, p.third} {
		if v != nil {
			states = append(states, *v)
		}
	}
	if p.sure {
		states = append(states, p.bad...)
	}
	masked = append(masked, c.SecretValues...)
	var open []string
	var walk func(v value.Value, secret bool)
	walk = func(v value.Value, secret bool) {
		for _, m := range v.Members() {
			walk(m.Value, slices.Contains(c.Secrets, m.Key) || secretName(m.Key) || secret && !openNames.MatchString(m.Key))
		}
		for _, item := range v.Items() {
			walk(item, secret)
		}
		switch {
		case !v.IsScalar():
		case v.Secret() || slices.Contains(c.SecretValues, v.Text()) || secret && !strings.HasPrefix(v.Text(), "arn:"):
			masked = append(masked, v.Text())
		default:
			open = append(open, v.Text())
		}
	}
	for _, v := range states {
		walk(form.Tainted(v), false)
	}
	isShort := func(text string) bool { return len(text) < minSecret }
	short = slices.DeleteFunc(slices.Clone(masked), func(text string) bool { return !isShort(text) })
	masked = slices.DeleteFunc(masked, isShort)
	slices.SortFunc(masked, func(a, b string) int { // one that begins with another goes whole
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	masked = slices.Compact(masked)
	judged = slices.DeleteFunc(slices.Clone(masked), func(secret string) bool {
		return slices.ContainsFunc(open, func(text string) bool { return strings.Contains(text, secret) })
	})
	return judged, masked, short
}

// unnamed returns an error for a name of a secret that no property has: a value that was meant to be hidden is not.
func (p properties) unnamed(secrets []string) error {
	var names []string
	var walk func(v value.Value)
	walk = func(v value.Value) {
		for _, m := range v.Members() {
			names = append(names, m.Key)
			walk(m.Value)
		}
		for _, item := range v.Items() {
			walk(item)
		}
	}
	walk(p.first)
	walk(p.other)
	for _, v := range []*value.Value{p.second, p.third} {
		if v != nil {
			walk(*v)
		}
	}
	for _, v := range p.bad {
		walk(v)
	}
	for _, secret := range secrets {
		if !slices.Contains(names, secret) {
			hint := ""
			if near := suggest.Name(secret, names); near != "" {
				hint = ": did you mean " + near + "?"
			}
			return fmt.Errorf("%w: no property %s, which is named as a secret%s", ErrUsage, secret, hint)
		}
	}
	return nil
}

// texts returns the scalars of a value.
func texts(v value.Value) []string {
	if v.IsScalar() {
		return []string{v.Text()}
	}
	var all []string
	for _, m := range v.Members() {
		all = append(all, texts(m.Value)...)
	}
	for _, item := range v.Items() {
		all = append(all, texts(item)...)
	}
	return all
}

// named reports whether an ID holds one of the values, so that two resources with the same values share it for a reason.
func named(id string, v value.Value) bool {
	return slices.ContainsFunc(texts(v), func(text string) bool { return text != "" && strings.Contains(id, text) })
}
