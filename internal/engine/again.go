package engine

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// AllCustom stands for all custom resources of a template, see [UpdateStack]. It is no logical ID.
const AllCustom wire.LogicalID = "*"

// NoUpdateAgain is how the message of an [Error] begins that rejects the Again of an [UpdateStack].
const NoUpdateAgain = "No Update can be sent again: "

// again determines the resources that get an Update although nothing has changed.
type again struct{ *decision }

// named returns the logical IDs of the custom resources that a client named. It returns an [Error] if one of them is not a custom
// resource of the template.
func (d again) named(given []wire.LogicalID, to plan.Side) ([]wire.LogicalID, error) {
	if err := d.allowed(given); err != nil || len(given) == 0 {
		return nil, err
	}
	given = distinct(given)
	var custom []wire.LogicalID
	types := map[wire.LogicalID]string{}
	for _, r := range to.Template.Active(to.Scope) {
		logical := wire.LogicalID(r.LogicalID)
		types[logical] = r.Type
		if d.dialect.wire().CheckResourceType(r.Type) == nil {
			custom = append(custom, logical)
		}
	}
	if custom == nil {
		return nil, d.refuse("the template of stack " + d.stack.Name + " has no custom resources.")
	}
	var named []wire.LogicalID
	for _, logical := range given {
		resourceType, declared := types[logical]
		name := cut(string(logical), maxLogicalID)
		switch {
		case logical == AllCustom:
			named = append(named, custom...)
		case slices.Contains(custom, logical):
			named = append(named, logical)
		case declared:
			return nil, d.refuse(name + " has the type " + resourceType + " and is not a custom resource. " + d.choice(custom))
		case to.Template.Resource(string(logical)) != nil:
			return nil, d.refuse("the condition of " + name + " is false. " + d.choice(custom))
		default:
			return nil, d.refuse("the template of stack " + d.stack.Name + " has no resource " + name + ". " + d.choice(custom))
		}
	}
	slices.Sort(named)
	return slices.Compact(named), nil
}

// remember keeps the attributes of a resource before the answer to a forced Update replaces them. After several tries, the ones
// from before the first try count. Any other request invalidates them.
func (d again) remember(i *store.Instance, r *store.Request) {
	applies := d.op.Phase == store.PhaseApply || r.Cancelled // the answer to a cancelled Update may arrive during the rollback
	forced := r.Type == wire.Update && r.Body.Revert && r.Instance == i.Number && applies && i.Body.Properties.Equal(r.Body.Properties)
	switch {
	case !forced:
		i.Body.Former, i.Body.FormerData = store.FormerAnswer{}, value.Value{}
	case i.Body.Former.Revision != d.op.From:
		i.Body.Former = store.FormerAnswer{Revision: d.op.From, NoEcho: i.Body.NoEcho, AnsweredBy: i.Body.AnsweredBy}
		i.Body.FormerData = i.Body.Data
	}
}

// restorable reports whether a rollback has to restore the attributes of a resource.
func (d again) restorable(i *store.Instance) bool {
	return i.Body.Former.Revision != 0 && i.Body.Former.Revision == d.op.From
}

// restore gives a resource the attributes back that it had before a forced Update, so that its dependents get the previous values.
func (d again) restore(s *store.Step, i *store.Instance) {
	if !d.restorable(i) {
		return
	}
	former := i.Body.Former
	i.Body.Data, i.Body.NoEcho, i.Body.AnsweredBy = i.Body.FormerData, former.NoEcho, former.AnsweredBy
	i.Body.Former, i.Body.FormerData = store.FormerAnswer{}, value.Value{}
	d.changeBody(i)
	s.Touched = true
}

// distinct returns the IDs in order, each once. Otherwise a client could repeat [AllCustom], and each copy stands for many IDs.
func distinct(ids []wire.LogicalID) []wire.LogicalID {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// allowed returns an [Error] with [FidelityAWS], unless given is empty.
func (d again) allowed(given []wire.LogicalID) error {
	if len(given) == 0 || d.fidelity != FidelityAWS {
		return nil
	}
	return d.refuse("with --fidelity aws, Pintle sends an Update only if the properties change, as AWS does. " +
		"Change a property, or run without --fidelity aws.")
}

func (d again) refuse(why string) error {
	return &Error{d.dialect.refusals().code, NoUpdateAgain + why}
}

// Bounds of a message: how many logical IDs it lists, and how many bytes of one it quotes. Source of the second: CloudFormation,
// quotas.
const (
	mostChoices  = 10
	maxLogicalID = 255
)

// choice lists the custom resources that a client can name.
func (d again) choice(custom []wire.LogicalID) string {
	names := make([]string, 0, mostChoices)
	for _, logical := range custom[:min(len(custom), mostChoices)] {
		names = append(names, string(logical))
	}
	text := "The custom resources are " + strings.Join(names, ", ")
	if len(custom) > mostChoices {
		text += ", …"
	}
	return text + "."
}
