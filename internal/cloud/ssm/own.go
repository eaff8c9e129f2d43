package ssm

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/store"
)

// Rows is the part of a [store.Store] that [Own] needs.
type Rows interface {
	Parameter(ctx context.Context, key store.ParameterKey, version int64) (store.Parameter, error)
	PutParameter(ctx context.Context, parameter store.Parameter, overwrite bool) (version int64, err error)
	DeleteParameter(ctx context.Context, key store.ParameterKey) error
}

// Own is the server's own parameter store.
type Own struct{ rows Rows }

// NewOwn returns the parameter store in rows. It also contains [Bootstrap] and AWS's public parameters for machine
// images from the start.
func NewOwn(rows Rows) *Own { return &Own{rows} }

// Parameter implements [Source].
func (o *Own) Parameter(ctx context.Context, place registry.Scope, name string, version int64) (store.Parameter, error) {
	key := store.ParameterKey{Account: place.Account, Region: place.Region, Name: name}
	p, err := o.rows.Parameter(ctx, key, version)
	if errors.Is(err, store.ErrNotFound) && name == Bootstrap && version <= 1 {
		return store.Parameter{
			ParameterKey: key, Version: 1, Type: store.ParameterString, Value: BootstrapVersion,
			Description: "What the CDK looks for before it deploys",
		}, nil
	}
	if id, public := image(name); public && errors.Is(err, store.ErrNotFound) && version <= 1 {
		return store.Parameter{
			ParameterKey: key, Version: 1, Type: store.ParameterString, Value: id, Description: "A stand-in for a machine image of AWS",
		}, nil
	}
	return p, err
}

// Put adds a version to a parameter and returns its number. Unless overwrite is set, it returns [store.ErrExists] if
// the parameter exists.
func (o *Own) Put(ctx context.Context, parameter store.Parameter, overwrite bool) (int64, error) {
	return o.rows.PutParameter(ctx, parameter, overwrite)
}

// Delete removes a parameter, or returns [store.ErrNotFound]. A deleted built-in parameter gets its initial value
// again.
func (o *Own) Delete(ctx context.Context, place registry.Scope, name string) error {
	return o.rows.DeleteParameter(ctx, store.ParameterKey{Account: place.Account, Region: place.Region, Name: name})
}

// OwnSecrets reads the server's own secrets.
type OwnSecrets struct {
	own  *secretsmanager.Secrets
	next Secrets
}

// NewOwnSecrets returns a source of the server's own secrets. It reads missing secrets from next, unless that is nil.
func NewOwnSecrets(own *secretsmanager.Secrets, next Secrets) *OwnSecrets {
	return &OwnSecrets{own, next}
}

// Secret implements [Secrets].
func (o *OwnSecrets) Secret(ctx context.Context, place registry.Scope, reference dynamic.Reference) (string, error) {
	_, version, err := o.own.Version(ctx, place, reference.Name, reference.VersionID, reference.Stage)
	refused, final := errors.AsType[*secretsmanager.Error](err)
	switch {
	case final && refused.Missing() && o.next != nil:
		return o.next.Secret(ctx, place, reference)
	case final:
		return "", &Final{refused.Message}
	case err != nil:
		return "", err
	case version.Text == nil:
		return "", &Final{"secret " + reference.Name + " has no SecretString"}
	}
	return *version.Text, nil
}
