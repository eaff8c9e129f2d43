package forward

import (
	"context"
	"errors"
	"slices"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// motoUpdates are the types whose updates moto carries out. For other types it answers 500, loses data or does
// nothing.
var motoUpdates = []string{
	"AWS::ECR::Repository", "AWS::IAM::Role", "AWS::Kinesis::Stream", "AWS::SQS::Queue", "AWS::SSM::Parameter", "AWS::StepFunctions::StateMachine",
}

// update updates the inner stack of the request's resource, or creates a second one if the endpoint would replace the
// resource.
func (j *job) update(ctx context.Context) (native.Result, error) {
	of, stray, ok, err := j.find(ctx)
	switch {
	case err != nil:
		return native.Result{}, err
	case !ok: // Pintle created the resource itself, before the type was forwarded
		return j.create(ctx)
	case stray:
		return native.Result{}, j.failure("the endpoint replaced %s on its own, so that no stack has it now: it cannot be updated", j.r.Body.PhysicalID)
	}
	_, err = j.config.Catalog.Forwarded.Get(ctx, j.place, registry.ForwardedStack(j.name()))
	switch {
	case err == nil: // an earlier attempt began to replace it
		return j.create(ctx)
	case !errors.Is(err, registry.ErrNotFound):
		return native.Result{}, err
	}
	s, err := j.ready(ctx, of)
	if err != nil {
		return native.Result{}, err
	}
	d, err := j.write()
	if err != nil {
		return native.Result{}, j.failure("%v", err)
	}
	if s.outputs[outputDigest] == d.digest { // an earlier attempt did it, or a failed update changed nothing
		return j.updated(ctx, of, s, &d)
	}
	changed := !j.r.Body.OldProperties.Equal(j.r.Body.Properties)
	if changed {
		foreseen, err := j.foresee(ctx, s, &d, j.token("plan"))
		switch {
		case err != nil:
			return native.Result{}, err
		case foreseen.Replaces:
			return j.create(ctx)
		case j.e.moto.Load() && !slices.Contains(motoUpdates, j.r.Body.ResourceType):
			return native.Result{}, j.failure("moto does not update resources of type %s correctly, so Pintle does not ask it to", j.r.Body.ResourceType)
		}
	}
	return j.apply(ctx, of, s, &d)
}

// ready returns the inner stack of a row when it can be updated.
func (j *job) ready(ctx context.Context, of row) (*inner, error) {
	s, err := j.settled(ctx, of.Of.Stack)
	if err == nil && s != nil && s.status == "UPDATE_ROLLBACK_FAILED" {
		_, err = j.e.call(ctx, j.place.Region, cloudFormation, "ContinueUpdateRollback", map[string]any{"StackName": s.id})
		if err == nil {
			s, err = j.settled(ctx, of.Of.Stack)
		}
	}
	switch {
	case errors.Is(err, errTaken):
		return nil, j.failure("the stack %s is not updated: %v", of.Of.Stack, err)
	case err != nil:
		return nil, err
	case s == nil:
		return nil, j.failure("it no longer has the stack %s with this resource. Was the endpoint restarted without its state?", of.Of.Stack)
	}
	return s, nil
}

// apply updates an inner stack.
func (j *job) apply(ctx context.Context, of row, s *inner, d *document) (native.Result, error) {
	if of.Of.Policy != d.policy { // until the update succeeds, the stack has one of the two
		var err error
		if of, err = j.change(ctx, of, func(r *registry.Forwarded) { r.Policy = unknownPolicy }); err != nil {
			return native.Result{}, err
		}
	}
	params := d.params(s.id)
	params["ClientRequestToken"] = j.token("update " + d.digest)
	_, err := j.e.call(ctx, j.place.Region, cloudFormation, "UpdateStack", params)
	unsure := uncertain(err)
	if err != nil && !unsure && !unchanged(err) {
		return native.Result{}, err
	}
	cause := err
	s, err = j.settled(ctx, s.id)
	switch {
	case err != nil:
		return native.Result{}, err
	case s == nil:
		return native.Result{}, j.failure("the stack %s disappeared while it was updated", of.Of.Stack)
	case s.outputs[outputDigest] != d.digest && unsure:
		return native.Result{}, cause
	case s.status != "UPDATE_COMPLETE" && !unchanged(cause):
		return native.Result{}, j.failure("%s", j.why(ctx, s))
	}
	return j.updated(ctx, of, s, d)
}

// updated returns the result of an update that the endpoint has completed.
func (j *job) updated(ctx context.Context, of row, s *inner, d *document) (native.Result, error) {
	result, of, err := j.result(ctx, of, s, d)
	if err != nil || result.PhysicalID == j.r.Body.PhysicalID {
		return result, err
	}
	// The endpoint replaced the resource within the stack although its change set did not say so. The new one belongs to
	// the stack. The old one no longer does, so the engine must not delete the stack for it.
	old := row{Scope: j.place, Name: registry.ForwardedID(j.r.Body.ResourceType, j.r.Body.PhysicalID)}
	if _, err := j.change(ctx, old, func(r *registry.Forwarded) { r.Stray = true }); err != nil && !errors.Is(err, registry.ErrNotFound) {
		return native.Result{}, err
	}
	other, err := j.claim(ctx, of, result.PhysicalID)
	if err != nil {
		return native.Result{}, err
	}
	if other != "" {
		return native.Result{}, j.failure("it replaced the resource with %s, which is already the resource of the stack %s there", result.PhysicalID, other)
	}
	j.config.Log.Warn("an endpoint replaced a forwarded resource on its own", "endpoint", j.e.host, "stack", of.Of.Stack, "type", j.r.Body.ResourceType,
		"was", j.r.Body.PhysicalID, "is", result.PhysicalID)
	return result, nil
}
