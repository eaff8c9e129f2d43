// Package secretsapi is the API of AWS Secrets Manager.
//
// It does not support rotation, replication and resource policies.
//
// Source: Secrets Manager API Reference, version 2017-10-17; AWS JSON 1.1 protocol.
package secretsapi

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
)

// Target is the prefix of the X-Amz-Target header, before the dot and the action.
const Target = "secretsmanager"

// MaxBody is the maximum length of a request body in bytes: a secret of 64 KiB, escaped or in base64.
const MaxBody = 512 << 10

// Config configures the service.
type Config struct {
	// Secrets are the secrets to serve. Required.
	Secrets *secretsmanager.Secrets
	// Caller returns the caller of a request. False means an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Tokens creates paging tokens. Nil means tokens that become invalid when the process exits.
	Tokens *query.Tokens
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

type handler struct{ Config }

// New returns the service. It returns an error if a required field is missing.
func New(config Config) (*awsjson.Service, error) {
	if config.Secrets == nil || config.Caller == nil {
		return nil, errors.New("secretsmanager: the secrets and the caller are required")
	}
	if config.Tokens == nil {
		var err error
		if config.Tokens, err = query.NewTokens(nil); err != nil {
			return nil, err
		}
	}
	service, err := awsjson.New(awsjson.Config{
		Name: "secretsmanager", Target: Target, Endpoint: "AWS_ENDPOINT_URL_SECRETS_MANAGER", MaxBody: MaxBody, Log: config.Log,
	})
	if err != nil {
		return nil, err
	}
	f := &handler{config}
	handle(service, f, "CreateSecret", (*call).create)
	handle(service, f, "DeleteSecret", (*call).remove)
	handle(service, f, "DescribeSecret", (*call).describe)
	handle(service, f, "GetRandomPassword", (*call).password)
	handle(service, f, "GetSecretValue", (*call).value)
	handle(service, f, "ListSecretVersionIds", (*call).versions)
	handle(service, f, "ListSecrets", (*call).list)
	handle(service, f, "PutSecretValue", (*call).put)
	handle(service, f, "RestoreSecret", (*call).restore)
	handle(service, f, "TagResource", (*call).tag)
	handle(service, f, "UntagResource", (*call).untag)
	handle(service, f, "UpdateSecret", (*call).update)
	handle(service, f, "UpdateSecretVersionStage", (*call).moveStage)
	return service, nil
}

// call is an API call.
type call struct {
	*handler
	ctx   context.Context
	place registry.Scope
}

// handle registers an action.
func handle[In, Out any](service *awsjson.Service, f *handler, name string, do func(*call, In) (Out, error)) {
	awsjson.Handle(service, name, func(ctx context.Context, in In) (out Out, err error) {
		caller, ok := f.Caller(ctx)
		if !ok {
			return out, errors.New("the request reached Secrets Manager without a caller")
		}
		out, err = do(&call{handler: f, ctx: ctx, place: registry.ScopeOf(caller)}, in)
		if apiErr, ok := errors.AsType[*secretsmanager.Error](err); ok {
			err = awsjson.Refuse(apiErr.Code, "%s", apiErr.Message)
		}
		return out, err
	})
}

// seconds converts a time for the protocol. The zero time is nil.
func seconds(at time.Time) *float64 {
	if at.IsZero() {
		return nil
	}
	s := float64(at.UnixMilli()) / float64(time.Second/time.Millisecond)
	return &s
}
