package resources

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Call is a request as makers read it.
type Call struct {
	*store.Request
	// Kind is the resource's type.
	Kind string
	// Place is where the stack is, and what it makes.
	Place registry.Scope
	// Partition is that of the ARNs of AWS; empty in Alibaba Cloud.
	Partition string
	// Declared are the properties.
	Declared value.Value
}

// Read reads a request for a resource of a type. The error says that its stack is nowhere.
func Read(kind string, r *store.Request) (*Call, error) {
	c := &Call{
		Request: r, Kind: kind, Declared: r.Body.Properties, Place: registry.Scope{Account: r.Body.Account, Region: r.Body.Region},
	}
	if r.Body.Dialect == wire.ROS.String() {
		if c.Place.Account == "" || c.Place.Region == "" {
			return nil, errors.New("the request does not say in which account and region its stack is")
		}
		return c, nil
	}
	stack, err := wire.ParseStackARN(r.Body.StackID)
	if err != nil {
		return nil, err
	}
	c.Place, c.Partition = registry.Scope{Account: stack.Account, Region: stack.Region}, stack.Partition
	return c, nil
}

// Physical is the physical id of what there is.
func (c *Call) Physical() string { return string(c.Body.PhysicalID) }

// Holder is who makes what a Create makes.
func (c *Call) Holder() string { return registry.OwnerOf(c.Body.StackID, c.Logical, c.ID) }

// Made reports whether a holder is the call's resource, by whichever request.
func (c *Call) Made(holder string) bool {
	return strings.HasPrefix(holder, registry.OwnerOf(c.Body.StackID, c.Logical, ""))
}

// ARN returns an ARN of the call's region and account.
func (c *Call) ARN(service, rest string) string {
	if c.Partition == "" {
		return "acs:" + service + ":" + c.Place.Region + ":" + c.Place.Account + ":" + rest
	}
	return "arn:" + c.Partition + ":" + service + ":" + c.Place.Region + ":" + c.Place.Account + ":" + rest
}

// At returns what is at a path of the declared properties; null if there is nothing.
func (c *Call) At(path ...string) value.Value {
	v := c.Declared
	for _, key := range path {
		v, _ = v.Get(key)
	}
	return v
}

// Text returns the text of a scalar at a path, "" if there is none.
func (c *Call) Text(path ...string) string { return c.At(path...).Text() }

// Number returns a whole number at a path, 0 if there is none; that it is one the schema has seen to.
func (c *Call) Number(path ...string) int {
	n, err := strconv.Atoi(c.Text(path...))
	if err != nil {
		return 0
	}
	return n
}

// Texts returns the texts of a list.
func (c *Call) Texts(path ...string) []string {
	var list []string
	for _, item := range c.At(path...).Items() {
		list = append(list, item.Text())
	}
	return list
}

// TextMap returns an object of texts.
func (c *Call) TextMap(path ...string) (map[string]string, error) {
	v := c.At(path...)
	if v.IsNull() {
		return nil, nil
	}
	members := make(map[string]string, len(v.Members()))
	for _, m := range v.Members() {
		if !m.Value.IsScalar() {
			return nil, c.badMap(path)
		}
		members[m.Key] = m.Value.Text()
	}
	if v.Kind() != value.Map {
		return nil, c.badMap(path)
	}
	return members, nil
}

func (c *Call) badMap(path []string) error {
	return c.Bad(path[len(path)-1], "be an object with String (or simple type) properties")
}

// Tags returns the tags of the stack and those of the property Tags, a list of keys and values or, of some types, an object. A tag of
// the property replaces one of the stack.
func (c *Call) Tags() (map[string]string, error) {
	tags := TagMap(c.Body.Tags)
	add := func(key, text string) {
		if tags == nil {
			tags = map[string]string{}
		}
		tags[key] = text
	}
	if c.At("Tags").Kind() == value.Map {
		declared, err := c.TextMap("Tags")
		for key, text := range declared {
			add(key, text)
		}
		return tags, err
	}
	for _, tag := range c.At("Tags").Items() {
		key, _ := tag.Get("Key")
		text, _ := tag.Get("Value")
		if !key.IsScalar() || key.Text() == "" || !text.IsScalar() && !text.IsNull() {
			return nil, c.Bad("Tags", "be a list of objects with the members Key and Value")
		}
		add(key.Text(), text.Text())
	}
	return tags, nil
}

// TagMap returns tags by key, nil if there are none.
func TagMap(tags []store.Tag) map[string]string {
	if len(tags) == 0 {
		return nil
	}
	byKey := make(map[string]string, len(tags))
	for _, tag := range tags {
		byKey[tag.Key] = tag.Value
	}
	return byKey
}

// Reverts reports whether an Update is to undo drift. Requests of earlier versions do not say so, and without tags it is the only reason
// for an Update that changes no property.
func (c *Call) Reverts() bool {
	return c.Body.Revert || c.Body.Tags == nil && c.Body.OldProperties.Equal(c.Declared)
}

// Name returns the name that is declared, or one that is made up with at most limit bytes.
func (c *Call) Name(property string, limit int) string {
	if name := c.Text(property); name != "" {
		return name
	}
	return native.MadeUpName(c.Request, limit)
}

// Changed reports whether an Update changes a property.
func (c *Call) Changed(property string) bool {
	was, _ := c.Body.OldProperties.Get(property)
	return !was.Equal(c.At(property))
}

// Rest returns the properties that are not among the names, which have blanks between them, as JSON; nil if there are none.
func (c *Call) Rest(known string) json.RawMessage {
	names := strings.Fields(known)
	rest := value.Object()
	for _, m := range c.Declared.Members() {
		if !slices.Contains(names, m.Key) {
			rest = rest.With(m.Key, m.Value)
		}
	}
	if len(rest.Members()) == 0 {
		return nil
	}
	return rest.JSON()
}

// Result is that of what is called id, with attributes as pairs of a name and a text.
func Result(id string, attributes ...string) native.Result {
	v := value.Object()
	for i := 0; i < len(attributes); i += 2 {
		v = v.With(attributes[i], value.Str(attributes[i+1]))
	}
	return native.Result{PhysicalID: wire.PhysicalID(id), Attributes: v}
}
