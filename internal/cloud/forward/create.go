package forward

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// create creates the inner stack of the request, or continues with the one that an earlier attempt created.
func (j *job) create(ctx context.Context) (native.Result, error) {
	d, err := j.write()
	if err != nil {
		return native.Result{}, j.failure("%v", err)
	}
	name := j.name()
	of, fresh, err := j.put(ctx, name, d.policy)
	if err != nil {
		return native.Result{}, err
	}
	s, err := j.begin(ctx, of, fresh, &d)
	if errors.Is(err, errTaken) {
		if left := j.drop(ctx, of); left != nil {
			return native.Result{}, left
		}
		return native.Result{}, j.failure("the stack %s cannot be used: %v", name, err)
	}
	if err == nil && s == nil {
		err = j.failure("the stack %s was created and does not exist any more", name)
	}
	if err != nil {
		return j.abandon(ctx, of, err)
	}
	if s.inProgress() {
		s, err = j.settled(ctx, s.id)
	}
	if err == nil && s == nil {
		err = j.failure("the stack %s disappeared while it was created", name)
	}
	if err != nil {
		return j.abandon(ctx, of, err)
	}
	if s.status != "CREATE_COMPLETE" && s.status != "UPDATE_COMPLETE" {
		return j.abandon(ctx, of, j.failure("%s", j.why(ctx, s)))
	}
	result, of, err := j.result(ctx, of, s, &d)
	if err != nil {
		return j.abandon(ctx, of, err)
	}
	other, err := j.claim(ctx, of, result.PhysicalID)
	if err != nil {
		return native.Result{PhysicalID: wire.PhysicalID(name)}, err
	}
	if other != "" {
		return j.abandon(ctx, of, j.failure("%s is already the resource of the stack %s there. Change its name: a resource with a custom name "+
			"cannot be replaced by one with the same name", result.PhysicalID, other))
	}
	return result, nil
}

// begin creates the inner stack unless an earlier attempt did, and returns it. If the row is fresh, there was none.
func (j *job) begin(ctx context.Context, of row, fresh bool, d *document) (*inner, error) {
	if !fresh {
		if s, err := j.describe(ctx, of.Of.Stack); s != nil || err != nil {
			return s, err
		}
	}
	params := d.params(of.Of.Stack)
	params["ClientRequestToken"] = j.token("create")
	out, err := j.e.call(ctx, j.place.Region, cloudFormation, "CreateStack", params)
	unsure := uncertain(err)
	switch {
	case err == nil:
		if id := text(out, "StackId"); id != "" {
			if _, err := j.change(ctx, of, func(r *registry.Forwarded) { r.StackID = id }); err != nil {
				return nil, err
			}
		}
	case unsure: // it may have been created
	case !exists(err): // some endpoints leave a stack behind even so: see abandon
		return nil, err
	}
	for since := time.Now(); ; {
		s, looked := j.describe(ctx, of.Of.Stack)
		if looked != nil {
			if refused, _ := errors.AsType[*refusedError](err); refused != nil && refused.earlier != nil {
				return nil, refused.earlier
			}
			return nil, looked
		}
		if s != nil {
			return s, nil
		}
		// A new stack may take a moment to be found.
		if err != nil || time.Since(since) > j.config.RetryFor || !backoff.Wait(ctx, j.config.Backoff) {
			return nil, err
		}
	}
}

// abandon deletes the inner stack of a Create that failed. If that fails too, the result has the name of the stack, so
// that the Delete of the resource tries again.
func (j *job) abandon(ctx context.Context, of row, cause error) (native.Result, error) {
	if left := j.discard(ctx, of); left != nil {
		return native.Result{PhysicalID: wire.PhysicalID(of.Of.Stack)}, failureError(cause.Error() + ". Its stack " + of.Of.Stack + " is left: " + left.Error())
	}
	return native.Result{}, cause
}

// discard deletes an inner stack and its rows. A missing stack is no error.
func (j *job) discard(ctx context.Context, of row) error {
	s, err := j.describe(ctx, of.Of.Stack)
	if unsure, ok := errors.AsType[*unsureError](err); ok && j.e.moto.Load() {
		// After an internal error, moto can delete a stack that it cannot describe.
		if _, err := j.e.call(ctx, j.place.Region, cloudFormation, "DeleteStack", map[string]any{"StackName": of.Of.Stack}); err != nil {
			return unsure
		}
		s, err = j.describe(ctx, of.Of.Stack)
	}
	if err != nil {
		return err
	}
	if s != nil {
		if _, err := j.spare(ctx, of, s); err != nil {
			return err
		}
		if err := j.end(ctx, s); err != nil {
			return err
		}
	}
	return j.drop(ctx, of)
}
