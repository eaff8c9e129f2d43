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
	// Place is the account and region of the stack and its resources.
	Place registry.Scope
	// Partition is the partition of AWS ARNs. It is empty for Alibaba Cloud.
	Partition string
	// Declared are the properties.
	Declared value.Value
}

// Read reads a request for a resource of a type. It returns an error if the request lacks the account and region of
// its stack.
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

// Physical returns the current physical ID.
func (c *Call) Physical() string { return string(c.Body.PhysicalID) }

// Holder returns the holder of resources that a Create creates.
func (c *Call) Holder() string { return registry.OwnerOf(c.Body.StackID, c.Logical, c.ID) }

// Made reports whether the call's resource is the holder, in this or an earlier request.
func (c *Call) Made(holder string) bool {
	return strings.HasPrefix(holder, registry.OwnerOf(c.Body.StackID, c.Logical, ""))
}

// ARN returns an ARN in the call's region and account.
func (c *Call) ARN(service, rest string) string {
	if c.Partition == "" {
		return "acs:" + service + ":" + c.Place.Region + ":" + c.Place.Account + ":" + rest
	}
	return "arn:" + c.Partition + ":" + service + ":" + c.Place.Region + ":" + c.Place.Account + ":" + rest
}

// At returns the value at a path in the declared properties, or null.
func (c *Call) At(path ...string) value.Value {
	v := c.Declared
	for _, key := range path {
		v, _ = v.Get(key)
	}
	return v
}

// Text returns the text of the scalar at a path, or "".
func (c *Call) Text(path ...string) string { return c.At(path...).Text() }

// Number returns the integer at a path, or 0. The schema has validated it.
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

// Tags returns the tags of the stack and of the property Tags. The property is a list of keys and values, or an
// object in some types. Its tags take precedence.
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

// TagMap returns tags by key, or nil for an empty list.
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

// Reverts reports whether an Update must revert drift. Requests of earlier versions lack the flag. Without tags, an
// Update that changes no property can have no other reason.
func (c *Call) Reverts() bool {
	return c.Body.Revert || c.Body.Tags == nil && c.Body.OldProperties.Equal(c.Declared)
}

// Name returns the declared name, or a generated one of at most limit bytes.
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

// Rest returns the properties that are not in known, a list separated by spaces, as JSON. It returns nil if there are
// none.
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

// Result returns the result for a physical ID, with attributes as pairs of a name and a text.
func Result(id string, attributes ...string) native.Result {
	v := value.Object()
	for i := 0; i < len(attributes); i += 2 {
		v = v.With(attributes[i], value.Str(attributes[i+1]))
	}
	return native.Result{PhysicalID: wire.PhysicalID(id), Attributes: v}
}
