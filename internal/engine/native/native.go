// Package native is the interface of resource types that Pintle provides itself.
//
// A native resource is handled like every other one. Its requests are rows, which are committed before they are
// carried out, delivered at least once with one RequestId, and settled by the reported outcome. Only the service
// token is missing: the row has null instead, which no template can declare. So the engine has no special case for
// what a type does. It asks a [Registry] only for what it must know before it makes a request: which properties a
// template may declare, what a change of a property means, and which attributes exist. Package delivery asks the
// registry to serve.
//
// A [Type] consists of a [Schema], which is data, and of Serve, which acts. Two more abilities are optional. A
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
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Type is one native resource type. Its methods are called concurrently.
type Type interface {
	// Schema says what may be declared. It returns the same every time, and the caller changes nothing in it.
	Schema() *Schema
	// Serve does what a request asks. It may be called again with the same request, also after it had succeeded, and must
	// then come to the same. Deleting what is not there succeeds. The error's text is the reason of the resource's event,
	// and the result counts beside an error as far as it goes. When ctx ends, so must Serve; what it returns then is
	// dropped, and the request comes again.
	Serve(ctx context.Context, r *store.Request) (Result, error)
}

// Declarer is a [Type] that has more to say of a declaration than its [Schema]. Its method is pure.
type Declarer interface {
	// Declare returns what a declaration that fits the schema asks for, or what is wrong with it.
	Declare(d Declaration) (Wanted, error)
}

// Awaiter is a [Type] whose Create, and Update if there is one, ends with signals. Its method is pure.
type Awaiter interface {
	// Awaited says what the signals come to, in the order in which they came: false if more are needed. timedOut says that
	// none will come in time, before are the attributes that the resource had, null for none. An error is the reason of the
	// failure; the engine makes it fit to be shown.
	Awaited(await store.Await, signals []store.Signal, before value.Value, timedOut bool) (result Result, ended bool, err error)
}

// Pauser is a [Type] whose requests take time and do nothing else. Its method is pure.
type Pauser interface {
	// Pause returns how long a request takes that brings a resource from the properties before, null for none, to after. back says
	// that the operation is being rolled back. Zero is no time.
	Pause(kind wire.RequestType, before, after value.Value, back bool) time.Duration
}

// Declaration is what a template declares of a resource, evaluated.
type Declaration struct {
	StackID wire.StackID
	// Properties is an object, as [Schema.Normal] returns it.
	Properties value.Value
	// CreationPolicy is an object, or null.
	CreationPolicy value.Value
}

// Wanted is what a declaration asks for besides its properties.
type Wanted struct {
	// Timeout is how long a request may take once it was delivered.
	Timeout time.Duration
	// Await is what a Create, and an Update, waits for; nil if it is done when it was served.
	Await *store.Await
}

// Result is what a type has made of a request.
type Result struct {
	// PhysicalID names the resource, without anything secret. Of a Create, "" means a name made of those of the stack and the
	// resource; of an Update, that it stays. An Update that returns another id has replaced the resource.
	PhysicalID wire.PhysicalID
	// Ref is what Ref returns if that is not the physical id; null if it is, and of an Update if it stays. It may be secret.
	Ref value.Value
	// Attributes are what Fn::GetAtt reads, an object, or null for none. They may be secret.
	Attributes value.Value
	// Pending says that the request has been passed on, to a nested stack, and that its end is reported later.
	Pending bool
}

// ErrAgain is wrapped by the error of a type that could do nothing for now: the request is served again.
var ErrAgain = errors.New("it has to be served again")

// Registry knows types by their names. A nil Registry knows none. It is safe for concurrent use.
type Registry struct {
	types map[string]Type
	off   func(context.Context, *store.Request) error
	keep  func(context.Context, *store.Request, wire.PhysicalID) error
	// checkImport is [Config.CheckImport].
	checkImport func(context.Context, *store.Request) error

	names []string
}

// New returns a registry of types. It returns an error if two have one name.
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

// Config is what the types of [CloudFormation] need of the program they are part of.
type Config struct {
	// SignalURL returns a presigned URL at which key is signalled, for a stack of the region. Required.
	SignalURL func(key wire.ResponseKey, region string) (string, error)
	// ROSSignalURL returns a presigned URL at which key is signalled, for a stack of ROS of that name. Nil makes none.
	ROSSignalURL func(key wire.ResponseKey, stackName string) (string, error)
	// Template returns the text of a template by its URL. The error's text is for people; one that wraps [ErrAgain] is tried
	// again. Nil fetches none.
	Template func(ctx context.Context, url string) (string, error)
	// Nest does what a request wants of a nested stack. Nil nests none.
	Nest Nest
	// Names keeps the names of macros. Nil refuses to make any.
	Names Names
	// More are further types, such as those of package aws.
	More []Type
	// Off is called before a resource of one of the local cloud's types is served as a record because the registry
	// does not have the type. Its error becomes the request's error. Nil accepts every request.
	Off func(ctx context.Context, r *store.Request) error
	// Keep is called with each request for a recorded resource and the resource's physical id, before the request succeeds. It may be
	// called again with the same request. Its error is that of the request. Nil is not called.
	Keep func(ctx context.Context, r *store.Request, id wire.PhysicalID) error
	// CheckImport is called before a recorded resource is imported. Its error becomes the request's error. Nil
	// accepts every import.
	CheckImport func(ctx context.Context, r *store.Request) error
}

// CloudFormation returns the registry of the native types that stacks of CloudFormation and of ROS may have.
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
		g.off, g.keep, g.checkImport = c.Off, c.Keep, c.CheckImport
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

// Schema returns the schema of a type, nil if the registry does not know it. A type that nobody provides has one if it can
// be kept as a record: see [Schema.Recorded]. Whether it may be declared is for the caller to say; what there is of it can
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
	if t := g.types[name]; t != nil {
		return t
	}
	return recordNamed(name)
}

// DefaultTimeout is how long a request may take whose type says nothing else.
const DefaultTimeout = time.Hour

// Declare checks a resource's evaluated declaration and returns what it asks for. The error is the reason of the
// resource's event; it quotes no value.
func (g *Registry) Declare(name string, d Declaration) (Wanted, error) {
	t := g.named(name)
	if t == nil {
		return Wanted{}, fmt.Errorf("resource type %s is no native one", name)
	}
	if err := t.Schema().check(d); err != nil {
		return Wanted{}, err
	}
	if declarer, ok := t.(Declarer); ok {
		return declarer.Declare(d)
	}
	return Wanted{Timeout: DefaultTimeout}, nil
}

// Awaited says what signals come to for a request of the type: see [Awaiter].
func (g *Registry) Awaited(
	name string, await store.Await, signals []store.Signal, before value.Value, timedOut bool,
) (result Result, ended bool, err error) {
	awaiter, ok := g.named(name).(Awaiter)
	if !ok {
		return Result{}, true, fmt.Errorf("resource type %s waits for no signals in this version of Pintle", name)
	}
	return awaiter.Awaited(await, signals, before, timedOut)
}

// Pause says how long a request takes of a type that only pauses: see [Pauser]. It is 0 of all others.
func (g *Registry) Pause(name string, kind wire.RequestType, before, after value.Value, back bool) time.Duration {
	if pauser, ok := g.named(name).(Pauser); ok {
		return pauser.Pause(kind, before, after, back)
	}
	return 0
}

// Serve lets the request's type do what it asks. A type that panics has failed.
func (g *Registry) Serve(ctx context.Context, r *store.Request) (result Result, err error) {
	name := r.Body.ResourceType
	t := g.named(name)
	if t == nil {
		return Result{}, fmt.Errorf("resource type %s is no native one in this version of Pintle", name)
	}
	defer func() {
		if cause := recover(); cause != nil {
			result, err = Result{}, &PanicError{Type: name, Cause: panics.Cause(cause), Stack: string(debug.Stack())}
		}
		if r.Type == wire.Create && result.PhysicalID == "" && !t.Schema().Nested {
			result.PhysicalID = wire.PhysicalID(MadeUpName(r, 0))
		}
	}()
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
			id = wire.PhysicalID(MadeUpName(r, 0))
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
	// Cause describes the value of the panic without quoting it, and Stack is where it was. Both are for the log.
	Cause, Stack string
}

// Error says whose fault it is.
func (e *PanicError) Error() string {
	return "resource type " + e.Type + " broke down, which is a fault of Pintle; its log says more"
}
