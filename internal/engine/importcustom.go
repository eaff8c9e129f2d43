package engine

import (
	"fmt"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// customIdentifier is the property that identifies a custom resource for its import.
const customIdentifier = "PhysicalResourceId"

// isCustom reports whether a type is a custom resource type of CloudFormation.
func isCustom(resourceType string) bool { return wire.CheckResourceType(resourceType) == nil }

// findProvider sets the service token of a custom resource, if it is known before the import. An attribute of another
// resource is unknown unless that resource exists.
func (d importPlan) findProvider(r *ImportResource, t *template.Template, scope *template.Scope) {
	if r.custom = isCustom(r.Type); !r.custom {
		return
	}
	token, err := template.Evaluate(t.Resource(string(r.Logical)).Properties.Get("ServiceToken"), scope, attributes{d.decision})
	if err == nil && token.Kind() == value.String {
		r.token = token.Text()
	}
}

// custom looks for a custom resource. It does not ask the provider before the change set is executed: a Read is the
// first request of the import, and a missing resource fails the import before anything changes.
func (o owners) custom(r ImportResource, records map[recordKey]wire.StackID, declared map[string]declaredReads) lookup {
	id := wire.PhysicalID(r.text())
	switch of := declared[r.token]; {
	case of.problem != "":
		return lookup{missing: fmt.Sprintf("Resource %s cannot be imported, because its provider could not be asked whether it has a Read: %s",
			r.Logical, of.problem)}
	case !of.types.has(r.Type):
		return lookup{missing: fmt.Sprintf("Resource %s cannot be imported, because no local provider with a Read is known for it: only "+
			"a provider that declares Read in its schema can tell whether %s %q exists.", r.Logical, r.Type, id)}
	}
	return lookup{exists: true, of: native.Existing{ID: id}, owner: records[recordKey{r.Type, id}]}
}

// checkImported turns the answer to the Read of an import into its result.
func (d answers) checkImported(r *store.Request, v *result, state *wire.State) {
	problem := ""
	switch {
	case !v.success:
		return
	case state == nil && d.byHand: // a person confirms that it exists
		return
	case state == nil:
		problem = noState
	case state.Gone:
		problem = fmt.Sprintf("%s %q does not exist, as its provider reports", r.Body.ResourceType, r.Body.PhysicalID)
	case v.id != r.Body.PhysicalID:
		problem = otherResource(r, d.redact(r, string(v.id), v.data))
	default:
		return
	}
	v.success = false
	v.reason = d.failure(failedInAnswer, r.Logical, d.redact(r, problem, v.data)+" (RequestId: "+string(r.ID)+")")
}
