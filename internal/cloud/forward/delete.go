package forward

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// remove deletes the inner stack of the request's resource. A missing stack is no error.
func (j *job) remove(ctx context.Context) error {
	of, stray, ok, err := j.find(ctx)
	switch {
	case err != nil:
		return err
	case !ok:
		return native.ErrOwn
	case stray:
		return j.failure("the endpoint replaced %s within the stack %s and kept it: delete it there yourself, and retain it here",
			j.r.Body.PhysicalID, of.Of.Stack)
	}
	s, err := j.describe(ctx, of.Of.Stack)
	if err == nil && s != nil && strings.HasPrefix(s.status, "UPDATE_") {
		s, err = j.settled(ctx, of.Of.Stack) // a stack that is being updated cannot be deleted
	}
	if errors.Is(err, errTaken) {
		return j.failure("the stack %s is not deleted: %v", of.Of.Stack, err)
	}
	if err != nil && s == nil {
		return err
	}
	if s == nil {
		return j.drop(ctx, of)
	}
	spared, err := j.spare(ctx, of, s)
	if err != nil {
		return err
	}
	policy := ""
	if wanted := j.r.Body.Forwarded; wanted != nil && wanted.DeletionPolicy == "Snapshot" {
		policy = "Snapshot"
	}
	if complete := strings.HasSuffix(s.status, "_COMPLETE") && s.status != "ROLLBACK_COMPLETE"; complete && !spared && keeps(of.Of.Policy, policy) {
		if err := j.setPolicy(ctx, s, policy); err != nil {
			return err
		}
	}
	if err := j.end(ctx, s); err != nil {
		return err
	}
	return j.drop(ctx, of)
}

// spare ensures that the deletion of an inner stack does not delete a resource of another inner stack, which the
// endpoint adopted by its name. It reports whether there is such a resource.
func (j *job) spare(ctx context.Context, of row, s *inner) (bool, error) {
	switch {
	case s.status == "ROLLBACK_COMPLETE": // it has no resource, and cannot be updated
		return false, nil
	case j.e.moto.Load() && s.outputs[outputRef] == "": // nor has this, and moto cannot describe it
		return false, nil
	}
	id := of.Of.PhysicalID
	if id == "" {
		there, err := j.physical(ctx, s)
		if err != nil {
			return false, err
		}
		if id = wire.PhysicalID(cmp.Or(there, s.outputs[outputRef])); id == "" {
			return false, nil
		}
	}
	pointer, err := j.config.Catalog.Forwarded.Get(ctx, j.place, registry.ForwardedID(j.r.Body.ResourceType, id))
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case pointer.Of.Stack == of.Of.Stack || pointer.Of.Stray:
		return false, nil
	}
	if exists, err := j.present(ctx, pointer); err != nil || !exists {
		return false, err
	}
	return true, j.setPolicy(ctx, s, "Retain")
}

// unknownPolicy is the DeletionPolicy in the row of a stack that may have the one before or after an update.
const unknownPolicy = "Unknown"

// keeps reports whether a DeletionPolicy has a different effect than the wanted one, "Snapshot" or "". The engine has
// decided that the resource is deleted, so a policy that retains it must not apply.
func keeps(is, wanted string) bool {
	if is == "Delete" {
		is = ""
	}
	return is != wanted
}

// end deletes an inner stack and waits until it is gone.
func (j *job) end(ctx context.Context, s *inner) error {
	_, err := j.e.call(ctx, j.place.Region, cloudFormation, "DeleteStack", map[string]any{
		"StackName": s.id, "ClientRequestToken": j.token("delete " + s.id),
	})
	if missing(err) {
		return nil
	}
	if err != nil && !uncertain(err) {
		return err
	}
	id := s.id
	left, looked := j.settled(ctx, id)
	switch {
	case looked != nil:
		return looked
	case left == nil:
		return nil
	case left.status == "DELETE_FAILED":
		return j.failure("%s", j.why(ctx, left))
	case err != nil:
		return err
	}
	return j.failure("the stack %s is in %s after its deletion was requested", j.nameOf(left), left.status)
}

// setPolicy changes only the DeletionPolicy in the template of an inner stack; "" removes it.
func (j *job) setPolicy(ctx context.Context, s *inner, policy string) error {
	out, err := j.e.call(ctx, j.place.Region, cloudFormation, "GetTemplate", map[string]any{"StackName": s.id})
	if err != nil {
		return err
	}
	var template map[string]any
	read := json.NewDecoder(strings.NewReader(text(out, "TemplateBody")))
	read.UseNumber() // numbers stay as they are
	if err := read.Decode(&template); err != nil {
		return j.failure("the template of the stack %s cannot be read", j.nameOf(s))
	}
	resources, _ := template["Resources"].(map[string]any)
	resource, _ := resources[string(j.r.Logical)].(map[string]any)
	outputs, _ := template["Outputs"].(map[string]any)
	if resource == nil || outputs == nil {
		return j.failure("the template of the stack %s lacks the resource %s", j.nameOf(s), j.r.Logical)
	}
	delete(resource, "DeletionPolicy")
	if policy != "" {
		resource["DeletionPolicy"] = policy
	}
	mark := "DeletionPolicy " + policy
	outputs[outputDigest] = map[string]any{"Value": mark} // a policy alone may count as no change
	body, err := json.Marshal(template)
	if err != nil {
		return err
	}
	params := map[string]any{"StackName": s.id, "TemplateBody": string(body), "Capabilities": []any{"CAPABILITY_NAMED_IAM"}}
	declared, _ := template["Parameters"].(map[string]any)
	var same []any
	for name := range declared {
		same = append(same, map[string]any{"ParameterKey": name, "UsePreviousValue": true})
	}
	if same != nil {
		params["Parameters"] = same
	}
	_, err = j.e.call(ctx, j.place.Region, cloudFormation, "UpdateStack", params)
	if unchanged(err) {
		return nil
	}
	if err != nil && !uncertain(err) {
		return err
	}
	after, looked := j.settled(ctx, s.id)
	switch {
	case looked != nil:
		return looked
	case err != nil && (after == nil || after.outputs[outputDigest] != mark):
		return err
	case after == nil || after.status != "UPDATE_COMPLETE":
		return j.failure("the DeletionPolicy of the stack %s could not be changed to %q", j.nameOf(s), policy)
	}
	return nil
}

// unchanged reports whether an error says that an update has nothing to do.
func unchanged(err error) bool {
	refused, ok := errors.AsType[*refusedError](err)
	return ok && strings.Contains(refused.message, "No updates are to be performed")
}
