package forward

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/wire"
)

// disowning undoes imports, and takes resources from inner stacks without deleting them.
type disowning struct{ *job }

// disown undoes an import. The resource stays. It succeeds if the import made no inner stack.
func (j disowning) disown(ctx context.Context) error {
	by := j.as(string(j.r.Body.StackID), string(j.r.Logical), string(j.r.Body.Import))
	name := by.name()
	of, err := j.config.Catalog.Forwarded.Get(ctx, j.place, registry.ForwardedStack(name))
	switch {
	case err == nil && of.Owner == by.owner():
	case err == nil:
		return nil
	case !errors.Is(err, registry.ErrNotFound):
		return err
	default: // an earlier attempt may have left the pointer
		of = row{Scope: j.place, Name: registry.ForwardedStack(name), Of: registry.Forwarded{
			Stack: name, Endpoint: j.e.rule.Endpoint, Type: j.r.Body.ResourceType, PhysicalID: j.r.Body.PhysicalID,
		}}
	}
	if of.Of.Endpoint != j.e.rule.Endpoint {
		return j.failure("%s was imported at %s, and --forward names another endpoint now", j.r.Logical, of.Of.Endpoint)
	}
	return disowning{by}.detach(ctx, of)
}

// as returns a job for another resource of the same endpoint, account and region.
func (j *job) as(stack, logical, request string) *job {
	other, r := *j, *j.r
	body := *r.Body
	body.StackID, r.Logical, r.ID = wire.StackID(stack), wire.LogicalID(logical), wire.RequestID(request)
	r.Body, other.r = &body, &r
	if arn, err := wire.ParseStackARN(body.StackID); err == nil {
		other.stack = arn.Name
	}
	return &other
}

// release deletes the inner stack that still has the resource of an import, although no stack of Pintle has the
// resource any more, for example because that stack retained it. The engine found out that it is so: the request names
// the holder. The resource stays.
func (j disowning) release(ctx context.Context) error {
	pointer, err := j.config.Catalog.Forwarded.Get(ctx, j.place, registry.ForwardedID(j.r.Body.ResourceType, j.r.Body.PhysicalID))
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return nil
	case err != nil:
		return err
	case pointer.Of.Stack == j.name() || pointer.Of.Stray || pointer.Of.Endpoint != j.e.rule.Endpoint:
		return nil
	}
	holder := strings.Split(pointer.Owner, "|") // see registry.OwnerOf
	if pointer.Owner != j.r.Body.Holder || len(holder) != 3 {
		exists, err := j.present(ctx, pointer)
		if exists {
			err = j.failure("%s is already the resource of the stack %s there", j.r.Body.PhysicalID, pointer.Of.Stack)
		}
		return err
	}
	of, err := j.config.Catalog.Forwarded.Get(ctx, j.place, registry.ForwardedStack(pointer.Of.Stack))
	if errors.Is(err, registry.ErrNotFound) {
		of, err = row{Scope: j.place, Name: registry.ForwardedStack(pointer.Of.Stack), Owner: pointer.Owner, Of: pointer.Of}, nil
	}
	if err != nil {
		return err
	}
	return disowning{j.as(holder[0], holder[1], holder[2])}.detach(ctx, of)
}

// detach deletes an inner stack and its rows, and not the resource.
func (j disowning) detach(ctx context.Context, of row) error {
	s, err := j.settled(ctx, of.Of.Stack)
	switch {
	case errors.Is(err, errTaken): // it is not ours
		return j.drop(ctx, of)
	case err != nil:
		return err
	case s == nil:
		return j.drop(ctx, of)
	}
	if err := j.ensureRetained(ctx, s); err != nil {
		return err
	}
	if err := j.end(ctx, s); err != nil {
		return err
	}
	return j.drop(ctx, of)
}

// ensureRetained returns nil only if the template of an inner stack says that its resource is retained, or has no
// resource.
func (j disowning) ensureRetained(ctx context.Context, s *inner) error {
	for try := 0; ; try++ {
		policy, has, err := j.policyThere(ctx, s)
		switch {
		case err != nil:
			return err
		case !has || policy == retain:
			return nil
		case try > 0:
			return j.failure("the DeletionPolicy of the stack %s could not be changed to %s", j.nameOf(s), retain)
		}
		if err := j.setPolicy(ctx, s, retain); err != nil {
			return err
		}
	}
}

// policyThere returns the DeletionPolicy in the template of an inner stack, and whether that has the resource.
func (j disowning) policyThere(ctx context.Context, s *inner) (policy string, has bool, err error) {
	out, err := j.e.call(ctx, j.place.Region, cloudFormation, "GetTemplate", map[string]any{"StackName": s.id})
	if err != nil {
		return "", false, err
	}
	var template struct {
		Resources map[string]struct{ DeletionPolicy string }
	}
	if json.Unmarshal([]byte(text(out, "TemplateBody")), &template) != nil {
		return "", false, j.failure("the template of the stack %s cannot be read", j.nameOf(s))
	}
	resource, has := template.Resources[string(j.r.Logical)]
	return resource.DeletionPolicy, has, nil
}
