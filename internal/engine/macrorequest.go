package engine

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// macroRequests sends and settles the requests of macros.
type macroRequests struct{ *decision }

// send makes the request of the next macro.
func (d macroRequests) send(p preparation, e expanded) error {
	p.Document = e.raw.Text()
	state, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write what is prepared: %w", err)
	}
	id := wire.RequestID(d.newID())
	parameters := value.Object()
	if e.call.Parameters.Kind() == value.Map {
		parameters = e.call.Parameters.Value()
	}
	r := &store.Request{
		ID: id, Stack: d.stack.Key, Operation: d.op.Number, Type: store.TypeMacro,
		State: store.RequestReady, Owner: d.node(), First: d.node(), Created: d.now,
		Body: &store.RequestBody{
			Dialect: d.dialect.Name(), StackID: d.stack.ID, Region: d.stack.Region, ResourceType: e.call.Name,
			Timeout: d.macroTimeout, Trace: cmp.Or(d.trace, d.op.Trace), Token: value.Str(p.Functions[e.call.Name]), ChangeSet: p.ChangeSet,
			Properties: value.Object(
				value.Member{Key: "region", Value: value.Str(d.stack.Region)},
				value.Member{Key: "accountId", Value: value.Str(d.stack.Account)},
				value.Member{Key: "fragment", Value: e.call.Fragment.Value()},
				value.Member{Key: "transformId", Value: value.Str(transformID(d.stack.Account, e.call.Name))},
				value.Member{Key: "params", Value: parameters},
				value.Member{Key: "requestId", Value: value.Str(string(id))},
				value.Member{Key: "templateParameterValues", Value: parameterValues(e.scope, e.call.Name != template.Serverless)},
			),
			Pending: value.SecretStr(string(state)),
		},
	}
	d.requests[r.ID] = r
	d.changeRequest(r)
	d.newReq.add(r.ID)
	d.madeReady.add(r.ID)
	return nil
}

// parameterValues returns the values of parameters by name; those of NoEcho parameters are secret, and left out if secrets
// is false.
func parameterValues(scope *template.Scope, secrets bool) value.Value {
	members := make([]value.Member, 0, len(scope.Parameters))
	for _, name := range sortedKeys(scope.Parameters) {
		if !secrets && scope.Parameters[name].Secret() {
			continue
		}
		members = append(members, value.Member{Key: name, Value: scope.Parameters[name]})
	}
	return value.Object(members...)
}

// wanted reports whether the reply of a macro is still needed.
func (d macroRequests) wanted(r *store.Request) bool {
	if r.Body.ChangeSet != "" {
		set, ok := d.view.ChangeSets[r.Body.ChangeSet]
		return ok && set.State == store.ChangeSetPreparing
	}
	return r.Operation == d.op.Number && d.op.Phase == store.PhasePrepare
}

// settle settles the request of a macro. It drops the pending data, which is large.
func (d macroRequests) settle(r *store.Request, ending string) {
	body := *r.Body
	body.Pending = value.Value{}
	r.Body = &body
	d.newReq.add(r.ID)
	r.State, r.Owner, r.Executor, r.Due = store.RequestSettled, 0, 0, zeroTime
	r.Ending, r.Settled = ending, d.now
	d.changeRequest(r)
	delete(d.madeReady, r.ID)
}

// withdraw settles the macro requests of a change set, or of the operation if set is "", whose replies have become
// useless. The view is whole.
func (d macroRequests) withdraw(set store.ChangeSetID) {
	for _, id := range sortedKeys(d.requests) {
		if r := d.requests[id]; r.Type == store.TypeMacro && r.Body.ChangeSet == set && r.State != store.RequestSettled {
			d.settle(r, "withdrawn")
		}
	}
}
