package aws

import (
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/value"
	"github.com/pintle-dev/pintle/wire"
)

// call is a request as makers read it.
type call struct {
	*store.Request
	kind  string
	stack wire.StackARN
	place catalog.Place
	// declared are the properties.
	declared value.Value
}

func readCall(kind string, r *store.Request) (*call, error) {
	stack, err := wire.ParseStackARN(r.Body.StackID)
	if err != nil {
		return nil, err
	}
	return &call{
		Request: r, kind: kind, stack: stack, declared: r.Body.Properties,
		place: catalog.Place{Account: stack.Account, Region: stack.Region},
	}, nil
}

// id is the physical id of what there is.
func (c *call) id() string { return string(c.Body.PhysicalID) }

// holder is who makes what a Create makes.
func (c *call) holder() string { return catalog.Holder(c.Body.StackID, c.Logical, c.ID) }

// made reports whether a holder is the call's resource, by whichever request.
func (c *call) made(holder string) bool {
	return strings.HasPrefix(holder, catalog.Holder(c.Body.StackID, c.Logical, ""))
}

// arn returns an ARN of the call's region and account.
func (c *call) arn(service, rest string) string {
	return "arn:" + c.stack.Partition + ":" + service + ":" + c.place.Region + ":" + c.place.Account + ":" + rest
}

// at returns what is at a path of the declared properties; null if there is nothing.
func (c *call) at(path ...string) value.Value {
	v := c.declared
	for _, key := range path {
		v, _ = v.Get(key)
	}
	return v
}

// text returns the text of a scalar at a path, "" if there is none.
func (c *call) text(path ...string) string { return c.at(path...).Text() }

// number returns a whole number at a path, 0 if there is none; that it is one the schema has seen to.
func (c *call) number(path ...string) int {
	n, err := strconv.Atoi(c.text(path...))
	if err != nil {
		return 0
	}
	return n
}

// texts returns the texts of a list.
func (c *call) texts(path ...string) []string {
	var list []string
	for _, item := range c.at(path...).Items() {
		list = append(list, item.Text())
	}
	return list
}

// textMap returns an object of texts.
func (c *call) textMap(path ...string) (map[string]string, error) {
	v := c.at(path...)
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

func (c *call) badMap(path []string) error {
	return reason("Value of property " + path[len(path)-1] + " must be an object with String (or simple type) properties")
}

// tags reads the property Tags, a list of keys and values.
func (c *call) tags() (map[string]string, error) {
	var tags map[string]string
	for _, tag := range c.at("Tags").Items() {
		key, _ := tag.Get("Key")
		text, _ := tag.Get("Value")
		if !key.IsScalar() || key.Text() == "" || !text.IsScalar() && !text.IsNull() {
			return nil, reason("Value of property Tags must be a list of objects with the members Key and Value")
		}
		if tags == nil {
			tags = map[string]string{}
		}
		tags[key.Text()] = text.Text()
	}
	return tags, nil
}

// name returns the name that is declared, or one that is made up with at most limit bytes.
func (c *call) name(property string, limit int) string {
	if name := c.text(property); name != "" {
		return name
	}
	return native.MadeUpName(c.Request, limit)
}

// changed reports whether an Update changes a property.
func (c *call) changed(property string) bool {
	was, _ := c.Body.OldProperties.Get(property)
	return !was.Equal(c.at(property))
}

// result is that of what is called id, with attributes as pairs of a name and a text.
func result(id string, attributes ...string) native.Result {
	v := value.Object()
	for i := 0; i < len(attributes); i += 2 {
		v = v.With(attributes[i], value.Str(attributes[i+1]))
	}
	return native.Result{PhysicalID: wire.PhysicalID(id), Attributes: v}
}
