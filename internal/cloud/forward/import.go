package forward

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// An import takes these steps. The status of the inner stack tells which of them an earlier attempt has completed.
//
//  1. CreateStack makes an inner stack with the tags, the parameters and a placeholder, which creates nothing.
//  2. A change set of type IMPORT adds the resource, with the DeletionPolicy Retain. It may change neither outputs nor
//     tags, so the stack needs the tags before.
//  3. UpdateStack gives the stack the document that a created resource has: it adds the outputs and the declared
//     DeletionPolicy, and removes the placeholder.
//
// A failed import, and an import that is rolled back, deletes the inner stack, but only after its template says that
// the resource is retained.
//
// Source: CloudFormation User Guide, "Import AWS resources into a CloudFormation stack with a resource import".

// The statuses of an inner stack after each step.
const (
	statusBegun    = "CREATE_COMPLETE"
	statusImported = "IMPORT_COMPLETE"
	statusComplete = "UPDATE_COMPLETE"
)

// retain is the DeletionPolicy of a resource that its stack does not delete.
const retain = "Retain"

// placeholder is the logical ID of the placeholder. A stack needs a resource, and a handle is only a URL.
const placeholder = "PintlePlaceholder"

// importing serves the request for an import.
type importing struct{ *job }

// adopt imports the resource of the request into an inner stack, or continues the import of an earlier attempt.
func (j importing) adopt(ctx context.Context) (native.Result, error) {
	if err := j.importable(ctx); err != nil {
		return native.Result{}, err
	}
	d, err := j.write()
	if err != nil {
		return native.Result{}, j.failure("%v", err)
	}
	if err := disowning(j).release(ctx); err != nil {
		return native.Result{}, err
	}
	of, fresh, err := j.put(ctx, j.name(), retain)
	if err != nil {
		return native.Result{}, err
	}
	result, err := j.bringIn(ctx, of, fresh, &d)
	if err == nil {
		return result, nil
	}
	if left := disowning(j).detach(ctx, of); left != nil {
		return native.Result{}, failureError(err.Error() + ". Its stack " + of.Of.Stack + " is left: " + left.Error())
	}
	return native.Result{}, err
}

// importable returns an error if the endpoint is known not to import resources.
func (j importing) importable(ctx context.Context) error {
	if j.e.recognize(ctx); j.e.moto.Load() {
		return j.failure("moto does not support the import of resources")
	}
	return nil
}

// bringIn takes the steps of an import that are left.
func (j importing) bringIn(ctx context.Context, of row, fresh bool, d *document) (native.Result, error) {
	empty, filled, err := j.stages(d)
	if err != nil {
		return native.Result{}, err
	}
	s, err := j.begin(ctx, of, fresh, &empty)
	if err == nil && s != nil {
		s, err = j.settled(ctx, s.id)
	}
	switch {
	case errors.Is(err, errTaken):
		return native.Result{}, j.failure("the stack %s cannot be used: %v", of.Of.Stack, err)
	case errors.Is(err, registry.ErrNotFound):
		return native.Result{}, j.undone()
	case err != nil:
		return native.Result{}, err
	case s == nil:
		return native.Result{}, j.failure("the stack %s was created and does not exist any more", of.Of.Stack)
	}
	if s.status == statusBegun {
		if err := j.stillWanted(ctx, of, s); err != nil {
			return native.Result{}, err
		}
		if s, err = j.importInto(ctx, s, &filled); err != nil {
			return native.Result{}, err
		}
	}
	var imported string
	if s.status == statusImported {
		if imported, err = j.physical(ctx, s); err != nil {
			return native.Result{}, err
		}
		if imported == "" { // an update would create it
			return native.Result{}, j.failure("the stack %s is in %s, but does not have the resource: the endpoint probably does not support the import of %s",
				of.Of.Stack, s.status, j.r.Body.ResourceType)
		}
		if s, err = j.finish(ctx, s, d); err != nil {
			return native.Result{}, err
		}
	}
	if s.status != statusComplete {
		return native.Result{}, j.failure("%s", j.why(ctx, s))
	}
	return j.brought(ctx, of, s, d, imported)
}

// brought returns the result of an import whose inner stack is complete. imported is the physical ID after the import
// itself, "" if an earlier attempt read it.
func (j importing) brought(ctx context.Context, of row, s *inner, d *document, imported string) (native.Result, error) {
	result, of, err := j.result(ctx, of, s, d)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return native.Result{}, j.undone()
	case err != nil:
		return native.Result{}, err
	case imported != "" && result.PhysicalID != wire.PhysicalID(imported):
		return native.Result{}, j.failure("it imported %s, and then replaced it with %s", imported, result.PhysicalID)
	}
	other, err := j.claim(ctx, of, result.PhysicalID)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return native.Result{}, j.undone()
	case err != nil:
		return native.Result{}, err
	case other != "":
		return native.Result{}, j.failure("%s is already the resource of the stack %s there", result.PhysicalID, other)
	}
	return result, nil
}

// undone is the error of an import that another request has undone in the meantime: see [disowning.disown].
func (j importing) undone() error { return j.failure("the import was rolled back in the meantime") }

// stillWanted returns an error if another request has undone the import.
func (j importing) stillWanted(ctx context.Context, of row, s *inner) error {
	_, err := j.change(ctx, of, func(r *registry.Forwarded) { r.StackID = s.id })
	if errors.Is(err, registry.ErrNotFound) {
		return j.undone()
	}
	return err
}

// stages returns the documents before and after the import itself.
func (j importing) stages(d *document) (empty, filled document, err error) {
	var template map[string]any
	read := json.NewDecoder(strings.NewReader(d.template))
	read.UseNumber() // numbers stay as they are
	if err := read.Decode(&template); err != nil {
		return empty, filled, err
	}
	delete(template, "Outputs")
	resources, _ := template["Resources"].(map[string]any)
	resource, _ := resources[string(j.r.Logical)].(map[string]any)
	resource["DeletionPolicy"] = retain
	name := placeholder
	if string(j.r.Logical) == placeholder {
		name += "2"
	}
	handle := map[string]any{"Type": "AWS::CloudFormation::WaitConditionHandle"}
	with := func(resources map[string]any) (document, error) {
		template["Resources"] = resources
		body, err := json.Marshal(template)
		changed := *d
		changed.template = string(body)
		return changed, err
	}
	if empty, err = with(map[string]any{name: handle}); err != nil {
		return empty, filled, err
	}
	filled, err = with(map[string]any{name: handle, string(j.r.Logical): resource})
	return empty, filled, err
}

// importInto executes a change set of type IMPORT, and returns the inner stack when it is settled. It executes nothing
// unless the change set imports the resource and does nothing else.
func (j importing) importInto(ctx context.Context, s *inner, d *document) (*inner, error) {
	stack, name := j.nameOf(s), j.token("import "+s.id)
	identifier := map[string]any{}
	for key, text := range j.r.Body.Identifier {
		identifier[key] = text
	}
	params := d.params(stack)
	params["ChangeSetName"], params["ChangeSetType"], params["ClientToken"] = name, "IMPORT", name
	params["ResourcesToImport"] = []any{map[string]any{
		"ResourceType": j.r.Body.ResourceType, "LogicalResourceId": string(j.r.Logical), "ResourceIdentifier": identifier,
	}}
	_, err := j.e.call(ctx, j.place.Region, cloudFormation, "CreateChangeSet", params)
	switch {
	case lacks(err):
		return nil, j.failure("the endpoint does not support the import of resources: %v", err)
	case err != nil && !exists(err):
		return nil, err
	}
	set, err := j.changeSet(ctx, stack, name)
	if err != nil {
		return nil, err
	}
	execution := text(set, "ExecutionStatus")
	switch {
	case text(set, "Status") == "FAILED":
		return nil, j.failure("%s", text(set, "StatusReason"))
	case strings.HasPrefix(execution, "EXECUTE_"): // by an earlier attempt
		return j.executed(ctx, s)
	case !imports(objects(set, "Changes"), string(j.r.Logical)):
		return nil, j.failure("the endpoint does not support the import of resources: its change set of type IMPORT does not import %s", j.r.Logical)
	case execution != "AVAILABLE":
		return nil, j.failure("%s (execution status %s)", text(set, "StatusReason"), execution)
	}
	_, err = j.e.call(ctx, j.place.Region, cloudFormation, "ExecuteChangeSet", map[string]any{
		"StackName": stack, "ChangeSetName": name, "ClientRequestToken": j.token("execute " + s.id),
	})
	refused, _ := errors.AsType[*refusedError](err)
	late := refused != nil && strings.HasPrefix(refused.code, "InvalidChangeSetStatus") // an earlier call arrived
	if err != nil && !uncertain(err) && !late {
		return nil, err
	}
	after, looked := j.executed(ctx, s)
	if looked != nil && err != nil && !late {
		return nil, err
	}
	return after, looked
}

// executed waits for the end of the execution of a change set.
func (j importing) executed(ctx context.Context, s *inner) (*inner, error) {
	for since := time.Now(); ; {
		after, err := j.settled(ctx, s.id)
		switch {
		case err != nil:
			return nil, err
		case after == nil:
			return nil, j.failure("the stack %s disappeared while the resource was imported", j.nameOf(s))
		case after.status != statusBegun:
			return after, nil
		}
		// The stack may take a moment to change its status.
		if time.Since(since) > j.config.RetryFor || !backoff.Wait(ctx, j.config.Backoff) {
			return nil, j.failure("the stack %s is still in %s after its change set was executed", j.nameOf(s), after.status)
		}
	}
}

// imports reports whether a change set imports a resource and does nothing else.
func imports(changes []map[string]any, logical string) bool {
	if len(changes) != 1 {
		return false
	}
	of, _ := changes[0]["ResourceChange"].(map[string]any)
	return text(of, "Action") == "Import" && text(of, "LogicalResourceId") == logical
}

// finish gives the inner stack of an imported resource its final document, and returns it when it is settled.
func (j importing) finish(ctx context.Context, s *inner, d *document) (*inner, error) {
	params := d.params(s.id)
	params["ClientRequestToken"] = j.token("import update " + s.id)
	_, err := j.e.call(ctx, j.place.Region, cloudFormation, "UpdateStack", params)
	if err != nil && !uncertain(err) {
		return nil, err
	}
	after, looked := j.settled(ctx, s.id)
	switch {
	case looked != nil:
		return nil, looked
	case after == nil:
		return nil, j.failure("the stack %s disappeared while it was updated", j.nameOf(s))
	case err != nil && after.status == statusImported:
		return nil, err
	}
	return after, nil
}
