package template

import (
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/value"
)

// Outside is what a template is evaluated with that is neither in it nor passed for it: what was there, beyond the stack,
// when its operation began. Evaluation only reads it. What it lacks is an error where it is wanted.
type Outside struct {
	// Imports are the values of exports by their names. Those of secret outputs are secret.
	Imports map[string]value.Value
	// StackOutputs are outputs of other stacks by a key of theirs. Secret ones are secret.
	StackOutputs map[string]value.Value
	// Zones are the names of the availability zones of regions.
	Zones map[string][]string
}

// The members of an Outside as it is stored.
const (
	importsMember      = "imports"
	stackOutputsMember = "stackOutputs"
	zonesMember        = "zones"
)

// Value returns all of it as one value, to be stored; null if there is nothing.
func (o Outside) Value() value.Value {
	var members []value.Member
	if len(o.Imports) > 0 {
		members = append(members, value.Member{Key: importsMember, Value: sorted(o.Imports)})
	}
	if len(o.StackOutputs) > 0 {
		members = append(members, value.Member{Key: stackOutputsMember, Value: sorted(o.StackOutputs)})
	}
	if len(o.Zones) > 0 {
		zones := make(map[string]value.Value, len(o.Zones))
		for region, names := range o.Zones {
			zones[region] = value.Strs(names...)
		}
		members = append(members, value.Member{Key: zonesMember, Value: sorted(zones)})
	}
	if members == nil {
		return value.Value{}
	}
	return value.Object(members...)
}

// NewOutside returns what [Outside.Value] was made of.
func NewOutside(v value.Value) Outside {
	var o Outside
	for _, m := range v.Members() {
		switch m.Key {
		case importsMember:
			o.Imports = byKey(m.Value)
		case stackOutputsMember:
			o.StackOutputs = byKey(m.Value)
		case zonesMember:
			o.Zones = make(map[string][]string, len(m.Value.Members()))
			for _, region := range m.Value.Members() {
				names := make([]string, len(region.Value.Items()))
				for i, name := range region.Value.Items() {
					names[i] = name.Text()
				}
				o.Zones[region.Key] = names
			}
		}
	}
	return o
}

// sorted returns an object of the entries in the order of their keys.
func sorted(entries map[string]value.Value) value.Value {
	members := make([]value.Member, 0, len(entries))
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		members = append(members, value.Member{Key: key, Value: entries[key]})
	}
	return value.Object(members...)
}

func byKey(object value.Value) map[string]value.Value {
	entries := make(map[string]value.Value, len(object.Members()))
	for _, m := range object.Members() {
		entries[m.Key] = m.Value
	}
	return entries
}
