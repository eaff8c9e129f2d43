// Package ssmapi is the API of the Systems Manager Parameter Store: it puts, gets and deletes parameters and their
// tags.
//
// Source: Systems Manager API Reference, version 2014-11-06; AWS JSON 1.1 protocol.
package ssmapi

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store"
)

// Target is the prefix of the X-Amz-Target header, before the dot and the action.
const Target = "AmazonSSM"

// Store stores parameters. [ssm.Own] implements it.
type Store interface {
	Parameter(ctx context.Context, place registry.Scope, name string, version int64) (store.Parameter, error)
	Put(ctx context.Context, parameter store.Parameter, overwrite bool) (int64, error)
	Delete(ctx context.Context, place registry.Scope, name string) error
}

// Config configures the handler.
type Config struct {
	// Store stores the parameters. Required.
	Store Store
	// Caller returns the caller of a request. False means an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Tags stores the tags of parameters. Nil means that they have none.
	Tags *registry.Collection[registry.Tags]
	// Records stores which stacks created parameters. Nil means that none did.
	Records *registry.Collection[registry.Record]
	// Partition returns the partition of a region. Required.
	Partition func(region string) string
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

type handler struct{ config Config }

// New returns the service. It returns an error if config is incomplete.
func New(config Config) (*awsjson.Service, error) {
	if config.Store == nil || config.Caller == nil || config.Partition == nil {
		return nil, errors.New("ssm: the store, the caller and the partition are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	service, err := awsjson.New(awsjson.Config{Name: "ssm", Target: Target, Endpoint: "AWS_ENDPOINT_URL_SSM", Log: config.Log})
	if err != nil {
		return nil, err
	}
	f := &handler{config}
	handle(service, f, "PutParameter", (*call).put)
	handle(service, f, "GetParameter", (*call).get)
	handle(service, f, "GetParameters", (*call).getAll)
	handle(service, f, "DeleteParameter", (*call).remove)
	handle(service, f, "DeleteParameters", (*call).removeAll)
	if config.Tags != nil {
		handle(service, f, "AddTagsToResource", (*call).addTags)
		handle(service, f, "RemoveTagsFromResource", (*call).removeTags)
		handle(service, f, "ListTagsForResource", (*call).listTags)
	}
	return service, nil
}

// handle registers an action.
func handle[In, Out any](service *awsjson.Service, f *handler, name string, do func(*call, In) (Out, error)) {
	awsjson.Handle(service, name, func(ctx context.Context, in In) (out Out, err error) {
		caller, ok := f.config.Caller(ctx)
		if !ok {
			return out, errors.New("the request reached the parameter store without a caller")
		}
		return do(&call{handler: f, ctx: ctx, place: registry.ScopeOf(caller)}, in)
	})
}

func refuse(code, format string, args ...any) error { return awsjson.Refuse(code, format, args...) }

func invalid(format string, args ...any) error {
	return refuse("ValidationException", format, args...)
}

// newPlaceholder returns a placeholder for a secret that is read without decryption.
func newPlaceholder() string { return "encrypted:" + rand.Text() }
