package lambda

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// Declared is a function that is not in the catalog: a program that the caller has configured in the runtime, such as
// a provider of a project file. Clients can call it, read its configuration and change its policy, but cannot change
// anything else.
type Declared struct {
	// Name is the name of the function, which its process gets as AWS_LAMBDA_FUNCTION_NAME.
	Name string
	// Program is the name in the runtime.
	Program string
	// Runtime and Handler are for display, and may be empty.
	Runtime, Handler string
	// Timeout is the maximum duration of a call. Zero means [local.DefaultTimeout].
	Timeout time.Duration
	// Broken is the reason why the function cannot run, or nil.
	Broken error
}

// Declarations finds declared functions. Its methods are safe for concurrent use.
type Declarations interface {
	// Function returns the function with a name.
	Function(name string) (Declared, bool)
	// Functions returns all functions, sorted by name.
	Functions() []Declared
	// Account returns the account that may call the functions.
	Account() string
}

// finder finds functions, in the catalog and among the declared ones.
type finder struct {
	config Config
}

// declared returns the declared function that a caller in a scope names by a name, a partial ARN or an ARN. As in the
// service token of a request, the account, region and qualifier of an ARN are ignored. If place is zero, the account
// is that of the ARN.
func (fi *finder) declared(place registry.Scope, text string) (Declared, bool) {
	if fi.config.Declared == nil {
		return Declared{}, false
	}
	account, name := place.Account, text
	parts := strings.Split(text, ":")
	switch {
	case len(parts) >= 7 && parts[0] == "arn" && parts[2] == "lambda" && parts[5] == "function":
		account, name = cmp.Or(place.Account, parts[4]), parts[6]
	case len(parts) >= 3 && parts[1] == "function":
		name = parts[2]
	case len(parts) >= 2 && parts[0] == "function":
		name = parts[1]
	case len(parts) == 2:
		name = parts[0]
	}
	if account != fi.config.Declared.Account() {
		return Declared{}, false
	}
	return fi.config.Declared.Function(name)
}

// item returns the item that clients in a scope see of a declared function.
func (d Declared) item(place registry.Scope) item {
	return item{Scope: place, Name: d.Name, Of: registry.Function{
		Runtime: d.Runtime, Handler: d.Handler, Timeout: int(cmp.Or(d.Timeout, local.DefaultTimeout) / time.Second),
		Memory: defaultMemory, Description: "a local provider", Modified: time.Unix(0, 0).UTC(),
	}}
}

// Reference parses the name of a function like [ParseReference]. A declared function gets a reference in the caller's
// scope.
func (fi *finder) Reference(place registry.Scope, text, qualifier string) (Reference, error) {
	if d, ok := fi.declared(place, text); ok {
		return Reference{Scope: place, Name: d.Name}, nil
	}
	return ParseReference(place, text, qualifier)
}

// Show returns the item of a function that a client in a scope names, including declared functions.
func (fi *finder) Show(ctx context.Context, place registry.Scope, text, qualifier string) (item, error) {
	if d, ok := fi.declared(place, text); ok {
		return d.item(place), nil
	}
	r, err := ParseReference(place, text, qualifier)
	if err != nil {
		return item{}, err
	}
	if fi.config.DeclaredOnly {
		return item{}, fi.unknown(r)
	}
	return fi.Get(ctx, r.Scope, r.ARN())
}

// Declared returns the items of the declared functions that callers in a scope may call, sorted by name.
func (fi *finder) Declared(place registry.Scope) []item {
	if fi.config.Declared == nil || place.Account != fi.config.Declared.Account() {
		return nil
	}
	var list []item
	for _, d := range fi.config.Declared.Functions() {
		list = append(list, d.item(place))
	}
	return list
}

// Fixed returns the reason why a client in a scope cannot create or change a function, or nil if it can.
func (fi *finder) Fixed(place registry.Scope, text string) error {
	if d, ok := fi.declared(place, text); ok {
		return invalid("Function %s is a local provider: it is changed in pintle.yaml, not here.", d.Name)
	}
	if fi.config.DeclaredOnly {
		return invalid("This server runs the providers of pintle.yaml only: start it with --dev or --run-functions for other functions.")
	}
	return nil
}

// exists returns [ErrNotFound] if a function is neither in the catalog nor declared.
func (fi *finder) exists(ctx context.Context, r Reference) error {
	if _, ok := fi.declared(r.Scope, r.Name); ok {
		return nil
	}
	if fi.config.DeclaredOnly {
		return fi.unknown(r)
	}
	_, err := fi.config.Catalog.Functions.Get(ctx, r.Scope, r.row())
	return known(err, r)
}

// unknown returns the error for an unknown function on a server with declared functions only.
func (fi *finder) unknown(r Reference) error {
	return &Error{
		Code: "ResourceNotFoundException", Status: http.StatusNotFound, kind: ErrNotFound,
		Message: "Function not found: " + r.ARN() + ". This server has the providers of pintle.yaml only. A provider that calls functions " +
			"in AWS needs aws: environment in pintle.yaml.",
	}
}
