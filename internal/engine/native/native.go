// Package native is the interface of resource types that Pintle provides itself.
//
// A native resource is handled like any other. Its requests are rows, which are committed before they are served,
// delivered at least once with one RequestId, and settled by the reported outcome. Only the service token is missing:
// it is null, which no template can declare. So the engine has no special case for the work of a type. It asks a
// [Registry] only for the facts that it needs before a request: the properties that a template may declare, the
// effect of a property change, and the existing attributes. Package delivery asks the registry to serve.
//
// A [Type] consists of a [Schema], which is data, and of Serve, which does the work. Two interfaces are optional. A
// [Declarer] derives a time limit or a wait for signals from a declaration, and an [Awaiter] decides the result of
// the signals. Both are pure, because the engine calls them during a decision.
//
// docs/native.md describes the types for users.
package native

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/base/panics"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Type is one native resource type. Its methods are called concurrently.
type Type interface {
	// Schema returns the schema. It is always the same one, and the caller must not change it.
	Schema() *Schema
	// Serve carries out a request. It may be called again with the same request, even after it succeeded, and must
	// then return the same result. Deleting a missing resource succeeds. The error's text is the reason in the
	// resource's event. A partial result may accompany an error. Serve must return when ctx ends; its result is then
	// dropped, and the request is served again.
	Serve(ctx context.Context, r *store.Request) (Result, error)
}

// Declarer is a [Type] that derives more from a declaration than its [Schema] states. Its method is pure.
type Declarer interface {
	// Declare returns the requirements of a declaration that fits the schema, or an error if the declaration is
	// invalid.
	Declare(d Declaration) (Wanted, error)
}

// Awaiter is a [Type] whose Create and Update, if it has one, end with signals. Its method is pure.
type Awaiter interface {
	// Awaited returns the result of the signals, in their order of arrival; ended is false if more are needed.
	// timedOut means that no more will arrive in time. before are the resource's previous attributes, or null. An
	// error is the reason for the failure; the engine redacts it.
	Awaited(await store.Await, signals []store.Signal, before value.Value, timedOut bool) (result Result, ended bool, err error)
}

// Pauser is a [Type] whose requests only take time. Its method is pure.
type Pauser interface {
	// Pause returns the duration of a request that changes the properties from before, or null, to after. back means
	// that the operation is being rolled back.
	Pause(kind wire.RequestType, before, after value.Value, back bool) time.Duration
}

// Declaration is the evaluated declaration of a resource in a template.
type Declaration struct {
	StackID wire.StackID
	// Properties is an object, as [Schema.Normal] returns it.
	Properties value.Value
	// CreationPolicy is an object, or null.
	CreationPolicy value.Value
}

// Wanted are the requirements of a declaration apart from its properties.
type Wanted struct {
	// Timeout is the time limit of a request from its delivery.
	Timeout time.Duration
	// Await is the wait of a Create or Update; nil if the request is done when it has been served.
	Await *store.Await
}

// Result is the result of serving a request.
type Result struct {
	// PhysicalID identifies the resource and contains no secret. For a Create, "" means a name generated from those
	// of the stack and the resource. For an Update, "" means that the ID stays. An Update that returns another ID has
	// replaced the resource.
	PhysicalID wire.PhysicalID
	// Ref is the result of Ref if it is not the physical ID, otherwise null; for an Update, null keeps it. It may be
	// secret.
	Ref value.Value
	// Attributes is an object with the values for Fn::GetAtt, or null for none. They may be secret.
	Attributes value.Value
	// Pending means that a nested stack works on the request, whose result is reported later.
	Pending bool
}

// ErrAgain is wrapped by the error of a type that cannot do anything yet. The request is served again.
var ErrAgain = errors.New("it has to be served again")

// Registry finds types by their names. A nil Registry is empty. It is safe for concurrent use.
type Registry struct {
	types map[string]Type
	off   func(context.Context, *store.Request) error
	keep  func(context.Context, *store.Request, wire.PhysicalID) error
	// checkImport is [Config.CheckImport].
	checkImport func(context.Context, *store.Request) error
	// forward is [Config.Forward].
	forward Forward

	names []string
}

// New returns a registry of types. It returns an error if two types have the same name.
func New(types ...Type) (*Registry, error) {
	g := &Registry{types: make(map[string]Type, len(types))}
	for _, t := range types {
		name := t.Schema().Name
		if _, known := g.types[name]; known {
			return nil, fmt.Errorf("there are two native resource types %s", name)
		}
		g.types[name] = t
		g.names = append(g.names, name)
	}
	slices.Sort(g.names)
	return g, nil
}

// Config has the dependencies of the types of [CloudFormation].
type Config struct {
	// SignalURL returns a presigned URL that accepts signals for key of a stack in the region. Required.
	SignalURL func(key responseurl.ResponseKey, region string) (string, error)
	// ROSSignalURL returns a presigned URL that accepts signals for key of a ROS stack with that name. Nil means
	// none.
	ROSSignalURL func(key responseurl.ResponseKey, stackName string) (string, error)
	// Template returns the text of a template by its URL. The error's text is for people. An error that wraps
	// [ErrAgain] is retried. Nil fetches none.
	Template func(ctx context.Context, url string) (string, error)
	// Nest serves a request for a nested stack. Nil supports no nested stacks.
	Nest Nest
	// Names stores the names of macros. Nil supports no macros.
	Names Names
	// More are further types, such as those of package aws.
	More []Type
	// Off is called before a resource of the local cloud is served as a record because the registry lacks its type.
	// Its error becomes the request's error. Nil accepts every request.
	Off func(ctx context.Context, r *store.Request) error
	// Keep is called with each request for a recorded resource and the resource's physical ID, before the request
	// succeeds. It may be called again with the same request. Its error becomes the request's error. Nil is not
	// called.
	Keep func(ctx context.Context, r *store.Request, id wire.PhysicalID) error
	// CheckImport is called before a recorded resource is imported. Its error becomes the request's error. Nil
	// accepts every import.
	CheckImport func(ctx context.Context, r *store.Request) error
	// Forward provides types through other endpoints. Nil forwards none.
	Forward Forward
}

// CloudFormation returns the registry of the native types for CloudFormation and ROS stacks.
func CloudFormation(c Config) (*Registry, error) {
	if c.SignalURL == nil {
		return nil, fmt.Errorf("native: SignalURL is required")
	}
	own := []Type{
		macro{c.Names}, metadata{}, waitConditionHandle{c.SignalURL}, waitCondition{}, Stack(c.Template, c.Nest),
		rosHandle{c.ROSSignalURL}, rosCondition{}, rosSleep{}, rosRandom{}, ROSStack(c.Template, c.Nest),
	}
	g, err := New(append(own, c.More...)...)
	if err == nil {
		g.off, g.keep, g.checkImport, g.forward = c.Off, c.Keep, c.CheckImport, c.Forward
	}
	return g, err
}

// Names returns the names of the types, sorted. The caller must not change them.
func (g *Registry) Names() []string {
	if g == nil {
		return nil
	}
	return g.names
}

// NamesOf returns the names of the types that templates of a dialect may declare, sorted.
func (g *Registry) NamesOf(dialect wire.Dialect) []string {
	var names []string
	for _, name := range g.Names() {
		if g.types[name].Schema().Dialect == dialect {
			names = append(names, name)
		}
	}
	return names
}

// Schema returns the schema of a type, nil if the registry does not know it. A type without a provider has a schema
// if it can be a record: see [Schema.Recorded]. The caller decides whether it may be declared. Existing resources can
// be updated and deleted in any case.
func (g *Registry) Schema(name string) *Schema {
	if t := g.named(name); t != nil {
		return t.Schema()
	}
	return nil
}

func (g *Registry) named(name string) Type {
	if g == nil {
		return nil
	}
	if t := g.forwarded(name); t != nil {
		return t
	}
	return g.own(name)
}

// own returns Pintle's own type of a name, even if it is forwarded.
func (g *Registry) own(name string) Type {
	if t := g.types[name]; t != nil {
		return t
	}
	return recordNamed(name)
}

// DefaultTimeout is the time limit of a request whose type sets none.
const DefaultTimeout = time.Hour

// Declare checks a resource's evaluated declaration and returns its requirements. The error is the reason in the
// resource's event; it quotes no value.
func (g *Registry) Declare(name string, d Declaration) (Wanted, error) {
	t := g.named(name)
	if t == nil {
		return Wanted{}, fmt.Errorf("resource type %s is not native", name)
	}
	if err := t.Schema().check(d); err != nil {
		return Wanted{}, err
	}
	if declarer, ok := t.(Declarer); ok {
		return declarer.Declare(d)
	}
	return Wanted{Timeout: DefaultTimeout}, nil
}

// Awaited returns the result of the signals for a request of the type: see [Awaiter].
func (g *Registry) Awaited(
	name string, await store.Await, signals []store.Signal, before value.Value, timedOut bool,
) (result Result, ended bool, err error) {
	awaiter, ok := g.named(name).(Awaiter)
	if !ok {
		return Result{}, true, fmt.Errorf("resource type %s waits for no signals in this version of Pintle", name)
	}
	return awaiter.Awaited(await, signals, before, timedOut)
}

// Pause returns the duration of a request for a type that only pauses: see [Pauser]. It is 0 for all others.
func (g *Registry) Pause(name string, kind wire.RequestType, before, after value.Value, back bool) time.Duration {
	if pauser, ok := g.named(name).(Pauser); ok {
		return pauser.Pause(kind, before, after, back)
	}
	return 0
}

// Serve calls the type of the request to serve it. A panic of the type is a failure.
func (g *Registry) Serve(ctx context.Context, r *store.Request) (result Result, err error) {
	name := r.Body.ResourceType
	t := g.named(name)
	if t == nil {
		return Result{}, fmt.Errorf("resource type %s is not native in this version of Pintle", name)
	}
	defer func() {
		if cause := recover(); cause != nil {
			result, err = Result{}, &PanicError{Type: name, Cause: panics.Cause(cause), Stack: string(debug.Stack())}
		}
		if r.Type == wire.Create && result.PhysicalID == "" && !t.Schema().Nested {
			result.PhysicalID = wire.PhysicalID(MadeUpName(r, 0))
		}
	}()
	if t.Schema().Forwarded != "" {
		result, err := t.Serve(ctx, r)
		if !errors.Is(err, ErrOwn) {
			return result, err
		}
		if t = g.own(name); t == nil {
			return Result{}, nil
		}
	} else if r.Body.Forwarded != nil {
		return Result{}, fmt.Errorf("%w: %s was created through --forward, which does not list %s now: start Pintle with that flag", ErrAgain, r.Logical, name)
	}
	if t.Schema().Recorded && g.off != nil && InCloud(name) {
		if err := g.off(ctx, r); err != nil {
			return Result{}, err
		}
	}
	if t.Schema().Recorded && r.Type == store.TypeImport && g.checkImport != nil {
		if err := g.checkImport(ctx, r); err != nil {
			return Result{}, err
		}
	}
	if t.Schema().Recorded && g.keep != nil {
		id := r.Body.PhysicalID
		if r.Type == wire.Create {
			id = recordID(t.Schema(), r)
		}
		if err := g.keep(ctx, r, id); err != nil {
			return Result{}, err
		}
	}
	return t.Serve(ctx, r)
}

// PanicError is the error of a type that panicked.
type PanicError struct {
	Type string
	// Cause describes the panic value without quoting it, and Stack is the stack trace. Both are for the log.
	Cause, Stack string
}

// Error returns a text that blames Pintle.
func (e *PanicError) Error() string {
	return "resource type " + e.Type + " broke down, which is a fault of Pintle; its log says more"
}
