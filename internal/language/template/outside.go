package template

import (
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Outside holds values from outside the stack that a template is evaluated with, as of the beginning of the operation.
// Evaluation only reads it. A missing value is an error where it is used.
type Outside struct {
	// Imports are the values of exports by name. The values of secret outputs are secret.
	Imports map[string]value.Value
	// StackOutputs are outputs of other stacks by [StackOutput.Key]. Secret ones are secret.
	StackOutputs map[string]value.Value
	// Zones are the names of the availability zones by region.
	Zones map[string][]string
	// Now is the time of the operation for Fn::FormatTime of ROS, in UTC in the format of RFC 3339; "" if no function
	// needs it.
	Now string
	// Stored are the results of looking up [Template.StoredNames] in the parameter store. Only [Template.BindWith] uses
	// them, and the result is in Parameters.
	Stored map[string]Stored
	// Parameters are the values of the parameters whose type reads them from the parameter store, by their names in the
	// template. They are secret if the parameter is NoEcho.
	Parameters map[string]value.Value
}

// Stored is the parameter store's entry for a name.
type Stored struct {
	State StoredState
	// Value is the text, if templates may read it.
	Value string
}

// StoredState says whether the parameter store has a value that a template may read. The set is closed.
type StoredState uint8

// The states. The zero StoredState is StoredMissing.
const (
	// StoredMissing says that the name does not exist.
	StoredMissing StoredState = iota
	// StoredText says that the value is a text or a list of texts.
	StoredText
	// StoredSecret says that the value is a secret, which no template may read.
	StoredSecret
)

// The members of a stored Outside.
const (
	importsMember      = "imports"
	stackOutputsMember = "stackOutputs"
	zonesMember        = "zones"
	parametersMember   = "parameters"
	nowMember          = "now"
)

// Value returns all of it as one value for storage; null if it is empty.
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
	if len(o.Parameters) > 0 {
		members = append(members, value.Member{Key: parametersMember, Value: sorted(o.Parameters)})
	}
	if o.Now != "" {
		members = append(members, value.Member{Key: nowMember, Value: value.Str(o.Now)})
	}
	if members == nil {
		return value.Value{}
	}
	return value.Object(members...)
}

// NewOutside reverses [Outside.Value].
func NewOutside(v value.Value) Outside {
	var o Outside
	for _, m := range v.Members() {
		switch m.Key {
		case importsMember:
			o.Imports = byKey(m.Value)
		case stackOutputsMember:
			o.StackOutputs = byKey(m.Value)
		case parametersMember:
			o.Parameters = byKey(m.Value)
		case nowMember:
			o.Now = m.Value.Text()
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

// sorted returns an object of the entries, sorted by key.
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
