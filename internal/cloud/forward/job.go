package forward

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// job serves one request.
type job struct {
	*Forwarder
	e     *endpoint
	r     *store.Request
	place registry.Scope
	stack string // name of the outer stack
}

// failureError is a reason for people, in the words of the endpoint.
type failureError string

func (f failureError) Error() string { return string(f) }

func (j *job) failure(format string, args ...any) error {
	return failureError("Forwarded to " + j.e.host + ": " + fmt.Sprintf(format, args...))
}

// otherAccount is the error of a stack in another account than that of the endpoint.
func (j *job) otherAccount() error {
	return j.failure("its account is %s, and the stack is in account %s", j.config.Account, j.place.Account)
}

// Serve implements [native.Type].
func (t *forwarded) Serve(ctx context.Context, r *store.Request) (native.Result, error) {
	j, err := t.job(r)
	if err != nil {
		return native.Result{}, err
	}
	if err := t.config.Allowed(j.place.Account, "cloudformation:"+callOf(r.Type)); err != nil {
		return native.Result{}, j.failure("%v", err)
	}
	if j.place.Account != t.config.Account {
		return native.Result{}, j.otherAccount()
	}
	select {
	case t.endpoint.slots <- struct{}{}:
		defer func() { <-t.endpoint.slots }()
	case <-ctx.Done():
		return native.Result{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, t.config.Within)
	defer cancel()
	switch r.Type {
	case wire.Create:
		return j.create(ctx)
	case wire.Update:
		return j.update(ctx)
	case wire.Delete:
		return native.Result{}, j.remove(ctx)
	case store.TypeImport:
		return importing{j}.adopt(ctx)
	case store.TypeDisown:
		return native.Result{}, disowning{j}.disown(ctx)
	case wire.Read, wire.Plan: // only for providers
	}
	return native.Result{}, fmt.Errorf("forwarded resources are not asked for a %s", r.Type)
}

// callOf returns the action that a request calls first.
func callOf(kind wire.RequestType) string {
	switch kind {
	case wire.Update:
		return "UpdateStack"
	case wire.Delete, store.TypeDisown:
		return "DeleteStack"
	case store.TypeImport:
		return "CreateChangeSet"
	case wire.Create, wire.Read, wire.Plan:
	}
	return "CreateStack"
}

func (t *forwarded) job(r *store.Request) (*job, error) {
	arn, err := wire.ParseStackARN(r.Body.StackID)
	if err != nil {
		return nil, err
	}
	return &job{
		Forwarder: t.Forwarder, e: t.endpoint, r: r, stack: arn.Name, place: registry.Scope{Account: arn.Account, Region: arn.Region},
	}, nil
}

// maxStackPart is the number of bytes of the outer stack's name, and of the logical ID, in the name of an inner stack.
const maxStackPart = 40

// name returns the name of the inner stack that the request creates.
func (j *job) name() string {
	sum := sha256.Sum256([]byte(string(j.r.Body.StackID) + "|" + string(j.r.Logical) + "|" + string(j.r.ID)))
	cut := func(text string) string { return strings.Trim(text[:min(len(text), maxStackPart)], "-") }
	return cut(j.stack) + "-" + cut(string(j.r.Logical)) + "-" + hex.EncodeToString(sum[:8])
}

// token returns the idempotency token of a call of the request.
func (j *job) token(call string) string {
	sum := sha256.Sum256([]byte(string(j.r.Body.StackID) + "|" + string(j.r.ID) + "|" + call))
	return "pintle-" + hex.EncodeToString(sum[:16])
}

// owner identifies the resource and the request as the holder of rows.
func (j *job) owner() string { return registry.OwnerOf(j.r.Body.StackID, j.r.Logical, j.r.ID) }

// owns reports whether a holder is the resource of the request, in this or an earlier request.
func (j *job) owns(holder string) bool {
	return strings.HasPrefix(holder, registry.OwnerOf(j.r.Body.StackID, j.r.Logical, ""))
}

// row is the row of an inner stack.
type row = registry.Item[registry.Forwarded]

// find returns the row of the inner stack with the request's resource, and whether there is one. stray means that the
// endpoint replaced the resource, so that no stack has it.
func (j *job) find(ctx context.Context) (found row, stray, ok bool, err error) {
	id := j.r.Body.PhysicalID
	pointer, err := j.config.Catalog.Forwarded.Get(ctx, j.place, registry.ForwardedID(j.r.Body.ResourceType, id))
	name := string(id) // of a Create that failed and left its stack
	switch {
	case err == nil && j.owns(pointer.Owner):
		name = pointer.Of.Stack
		if pointer.Of.Stray {
			return pointer, true, true, nil
		}
	case err != nil && !errors.Is(err, registry.ErrNotFound):
		return row{}, false, false, err
	}
	found, err = j.config.Catalog.Forwarded.Get(ctx, j.place, registry.ForwardedStack(name))
	if errors.Is(err, registry.ErrNotFound) && pointer.Version != 0 && j.owns(pointer.Owner) { // an earlier attempt deleted it
		found, err = row{Scope: j.place, Name: registry.ForwardedStack(name), Owner: pointer.Owner, Of: pointer.Of}, nil
	}
	if errors.Is(err, registry.ErrNotFound) || err == nil && !j.owns(found.Owner) {
		found, err = j.search(ctx, id)
	}
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return row{}, false, false, nil
	case err != nil:
		return row{}, false, false, err
	case found.Of.Endpoint != j.e.rule.Endpoint:
		return found, false, true, j.failure("%s was created at %s, and --forward names another endpoint now", j.r.Logical, found.Of.Endpoint)
	}
	return found, false, true, nil
}

// search finds the row of the inner stack with a physical ID to which another inner stack has a claim now, such as one
// at another endpoint.
func (j *job) search(ctx context.Context, id wire.PhysicalID) (row, error) {
	name := j.name()
	prefix := registry.ForwardedStack(name[:strings.LastIndexByte(name, '-')+1])
	for after := prefix; ; {
		rows, err := j.config.Catalog.Forwarded.List(ctx, j.place, after, searched)
		if err != nil {
			return row{}, err
		}
		for _, r := range rows {
			if !strings.HasPrefix(r.Name, prefix) {
				return row{}, registry.ErrNotFound
			}
			if j.owns(r.Owner) && r.Of.PhysicalID == id {
				return r, nil
			}
			after = r.Name
		}
		if len(rows) < searched {
			return row{}, registry.ErrNotFound
		}
	}
}

// searched is the number of rows that search reads at a time.
const searched = 100

// put stores the row of an inner stack, before anything is created. fresh reports that no earlier attempt did.
func (j *job) put(ctx context.Context, name, policy string) (of row, fresh bool, err error) {
	item := row{Scope: j.place, Name: registry.ForwardedStack(name), Owner: j.owner(), Of: registry.Forwarded{
		Stack: name, Endpoint: j.e.rule.Endpoint, Type: j.r.Body.ResourceType, Policy: policy, Made: time.Now().UTC(),
	}}
	made, err := j.config.Catalog.Forwarded.Put(ctx, item)
	if errors.Is(err, registry.ErrExists) { // by an earlier attempt
		of, err = j.config.Catalog.Forwarded.Get(ctx, item.Scope, item.Name)
		return of, false, err
	}
	return made, true, err
}

// change changes the row of an inner stack.
func (j *job) change(ctx context.Context, of row, to func(*registry.Forwarded)) (row, error) {
	return j.config.Catalog.Forwarded.Change(ctx, of.Scope, of.Name, func(r *row) error {
		to(&r.Of)
		return nil
	})
}

// drop removes the rows of an inner stack that no longer exists.
func (j *job) drop(ctx context.Context, of row) error {
	err := j.config.Catalog.Forwarded.Delete(ctx, of.Scope, of.Name, 0)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	if of.Of.PhysicalID != "" { // last, because it finds the rest
		name := registry.ForwardedID(of.Of.Type, of.Of.PhysicalID)
		pointer, err := j.config.Catalog.Forwarded.Get(ctx, of.Scope, name)
		if err == nil && pointer.Of.Stack == of.Of.Stack && !pointer.Of.Stray {
			err = j.config.Catalog.Forwarded.Delete(ctx, of.Scope, name, pointer.Version)
		}
		if err != nil && !errors.Is(err, registry.ErrNotFound) {
			return err
		}
	}
	return nil
}

// reference returns how to describe or delete an inner stack: its ARN if that is known, because only that finds a
// deleted stack.
func reference(of row) string {
	if of.Of.StackID != "" {
		return of.Of.StackID
	}
	return of.Of.Stack
}

// result reads the outputs of a complete inner stack, and claims the physical ID of its resource. The error is a
// [failureError] if the endpoint did not do what it said.
func (j *job) result(ctx context.Context, of row, s *inner, d *document) (native.Result, row, error) {
	ref := s.outputs[outputRef]
	if ref == "" {
		lacks := j.r.Body.ResourceType
		if len(d.attributes) > 0 { // for which an endpoint may leave out all outputs
			lacks += ", or not its attributes " + strings.Join(d.attributes, ", ")
		}
		return native.Result{}, of, j.failure("the stack %s is in %s, but has no value of Ref: the endpoint probably does not support %s",
			of.Of.Stack, s.status, lacks)
	}
	if s.outputs[outputDigest] != d.digest {
		return native.Result{}, of, j.failure("the stack %s is in %s, but not as it was requested: something else changed it", of.Of.Stack, s.status)
	}
	attributes := value.Object()
	for i, name := range d.attributes {
		said, ok := s.outputs[outputAttribute+strconv.Itoa(i)]
		if !ok {
			return native.Result{}, of, j.failure("the stack %s is in %s, but has no value of the attribute %s of %s", of.Of.Stack, s.status, name, j.r.Logical)
		}
		v := value.Str(said)
		if native.IsList(j.r.Body.ResourceType, name) {
			v = value.Strs(split(said)...)
		}
		attributes = attributes.With(name, v)
	}
	id := wire.PhysicalID(ref)
	if physical, err := j.physical(ctx, s); err != nil {
		return native.Result{}, of, err
	} else if physical != "" {
		id = wire.PhysicalID(physical)
	}
	result := native.Result{PhysicalID: id, Ref: value.Str(ref), Attributes: attributes}
	of, err := j.change(ctx, of, func(r *registry.Forwarded) { r.StackID, r.Policy = s.id, d.policy })
	return result, of, err
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, listSeparator)
}

// physical returns the physical ID of the resource of an inner stack; "" if the endpoint does not report it.
func (j *job) physical(ctx context.Context, s *inner) (string, error) {
	out, err := j.e.call(ctx, j.place.Region, cloudFormation, "DescribeStackResources", map[string]any{
		"StackName": s.id, "LogicalResourceId": string(j.r.Logical),
	})
	if _, refused := errors.AsType[*refusedError](err); refused {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, resource := range objects(out, "StackResources") {
		if text(resource, "LogicalResourceId") == string(j.r.Logical) {
			return text(resource, "PhysicalResourceId"), nil
		}
	}
	return "", nil
}

// claim records that an inner stack has the resource with a physical ID. It returns the name of another inner stack
// that has it already, "" for none.
func (j *job) claim(ctx context.Context, of row, id wire.PhysicalID) (other string, err error) {
	if of, err = j.change(ctx, of, func(r *registry.Forwarded) { r.PhysicalID = id }); err != nil {
		return "", err
	}
	pointer := row{Scope: j.place, Name: registry.ForwardedID(j.r.Body.ResourceType, id), Owner: of.Owner, Of: of.Of}
	_, err = j.config.Catalog.Forwarded.Put(ctx, pointer)
	if !errors.Is(err, registry.ErrExists) {
		return "", err
	}
	there, err := j.config.Catalog.Forwarded.Get(ctx, pointer.Scope, pointer.Name)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return j.claim(ctx, of, id) // it was deleted in the meantime
	case err != nil:
		return "", err
	case there.Of.Stack == of.Of.Stack:
		return "", nil
	}
	if !there.Of.Stray {
		exists, err := j.present(ctx, there)
		if err != nil {
			return "", err
		}
		if exists {
			return there.Of.Stack, nil
		}
	}
	there.Owner, there.Of = of.Owner, of.Of // its stack is gone, for example because the endpoint lost its state
	_, err = j.config.Catalog.Forwarded.Put(ctx, there)
	return "", err
}

// present reports whether the inner stack of a row exists, whatever resource it belongs to.
func (j *job) present(ctx context.Context, of row) (bool, error) {
	s, err := j.describe(ctx, reference(of))
	if errors.Is(err, errTaken) {
		return true, nil
	}
	return s != nil, err
}
