package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// lookupError is the service's error from looking for an existing resource. Errors of the store have other types.
type lookupError struct{ error }

func (e lookupError) Unwrap() error { return e.error }

// owners finds existing resources and the stacks that own them.
type owners struct{ *runner }

// existing looks for a resource that is not custom. records contains the owners of recorded resources.
func (o owners) existing(
	ctx context.Context, stack *store.Stack, r ImportResource, records map[recordKey]wire.StackID,
) (lookup, error) {
	request := &store.Request{Type: store.TypeImport, Logical: r.Logical, Body: &store.RequestBody{
		Dialect: stack.Dialect, StackID: stack.ID, Region: stack.Region, ResourceType: r.Type,
		PhysicalID: wire.PhysicalID(r.text()), Properties: value.Object(), Identifier: r.Identifier,
	}}
	of, err := o.env.native.Find(ctx, request)
	if missing, ok := errors.AsType[*native.MissingError](err); ok {
		return lookup{missing: missing.Text}, nil
	}
	if err != nil && !errors.Is(err, store.ErrClosed) {
		return lookup{}, lookupError{err}
	}
	if err != nil {
		return lookup{}, err
	}
	found := lookup{exists: true, of: of}
	if schema := o.env.native.Schema(r.Type); schema.Recorded {
		found.owner = records[recordKey{r.Type, of.ID}]
	} else {
		found.owner, err = o.holds(ctx, stack, of)
	}
	return found, err
}

// holds returns the live stack that still owns an existing resource according to its holder, or "". near is the stack
// that asks.
func (o owners) holds(ctx context.Context, near *store.Stack, of native.Existing) (wire.StackID, error) {
	if of.Holder == "" {
		return "", nil
	}
	id, rest, _ := strings.Cut(of.Holder, "|") // see registry.OwnerOf
	logical, made, _ := strings.Cut(rest, "|")
	stack, err := o.store.Stack(ctx, wire.StackID(id))
	if errors.Is(err, store.ErrNotFound) || err == nil && !stack.Live {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	instances, err := o.store.InstancesOf(ctx, stack.Key, []wire.LogicalID{wire.LogicalID(logical)})
	if err != nil {
		return "", err
	}
	for _, i := range instances {
		lost := stack.ID == near.ID && i.Imported && i.Unborn() // imported by a request whose answer was lost
		if i.PhysicalID == of.ID && stands(i) && !lost {
			return stack.ID, nil
		}
	}
	// While the request that created the resource is pending, no instance has its physical ID yet.
	request, err := o.store.Request(ctx, wire.RequestID(made))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case request.State != store.RequestSettled && request.Stack == stack.Key:
		return stack.ID, nil
	}
	return "", nil
}

// stands reports whether an instance still belongs to its stack.
func stands(i store.Instance) bool {
	return i.Role == store.RoleCurrent || i.Role == store.RoleCondemned
}

// stacksAtOnce is the number of stacks to read at a time.
const stacksAtOnce = 100

// recordKey identifies a recorded resource, which exists only in stacks.
type recordKey struct {
	resourceType string
	id           wire.PhysicalID
}

// recordOwners finds the stacks of the same account and region that have recorded resources, and sets the owner of
// each record that a stack has. It ignores the resource own of the stack near. It reads all stacks, once.
func (o owners) recordOwners(
	ctx context.Context, near *store.Stack, own wire.LogicalID, records map[recordKey]wire.StackID,
) error {
	for after := store.StackKey(0); len(records) > 0; {
		stacks, err := o.store.Stacks(ctx, near.Account, near.Region, false, after, stacksAtOnce)
		if err != nil {
			return err
		}
		for _, stack := range stacks {
			instances, err := o.store.Instances(ctx, stack.Key)
			if err != nil {
				return err
			}
			for _, i := range instances {
				of := recordKey{i.Body.Type, i.PhysicalID}
				_, wanted := records[of]
				failed := i.Imported && i.Unborn()
				if wanted && stands(i) && !failed && (own == "" || stack.ID != near.ID || i.Logical != own) {
					records[of] = stack.ID
				}
			}
			after = stack.Key
		}
		if len(stacks) < stacksAtOnce {
			return nil
		}
	}
	return nil
}

// CheckRecordedImport rejects a request of [store.TypeImport] for a recorded or custom resource if another stack has
// come to own it since the import was planned. No service knows such a resource, so only the stacks can answer.
func (o owners) CheckRecordedImport(ctx context.Context, r *store.Request) error {
	stack, err := o.store.Stack(ctx, r.Body.StackID)
	if err != nil {
		return fmt.Errorf("%w: %w", native.ErrAgain, err)
	}
	of := recordKey{r.Body.ResourceType, r.Body.PhysicalID}
	owners := map[recordKey]wire.StackID{of: ""}
	if err := o.recordOwners(ctx, &stack, r.Logical, owners); err != nil {
		return fmt.Errorf("%w: %w", native.ErrAgain, err)
	}
	if owner := owners[of]; owner != "" {
		return errors.New(string(of.id) + " already exists in stack " + string(owner))
	}
	return nil
}
