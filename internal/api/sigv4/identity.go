package sigv4

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/wire"
)

// Identity is the signer of a request, with the region and service of the signature.
type Identity struct {
	AccessKeyID string
	Account     string // twelve characters
	Role        string // as in the key: a name, an ARN, or empty
	ARN         string // of the role's session, or of the account's root for a key without a role
	UserID      string // the account; or for a role, an ID and the session name
	Region      string // of the credential scope, e.g. eu-west-1
	Service     string // of the credential scope, e.g. cloudformation
}

// identityKey is the context key of an Identity.
type identityKey struct{}

// WithIdentity returns a context with id. Handlers read it by [FromContext].
func WithIdentity(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// FromContext returns the identity that [WithIdentity] put into ctx, or false.
func FromContext(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(identityKey{}).(Identity)
	return id, ok
}

// Caller returns the caller for the identity in ctx, or false.
func Caller(ctx context.Context) (api.Caller, bool) {
	id, ok := FromContext(ctx)
	return api.Caller{Account: id.Account, Region: id.Region, KeyID: id.AccessKeyID, ARN: id.ARN, UserID: id.UserID}, ok
}

// identify returns the identity of a key. session is nil for a permanent key.
func identify(key Key, session *Session, auth authorization) Identity {
	id := Identity{
		AccessKeyID: auth.keyID,
		Account:     key.Account,
		Role:        key.Role,
		UserID:      auth.keyID + ":pintle",
		Region:      auth.region,
		Service:     auth.service,
	}
	if session != nil {
		id.UserID = session.UserID()
	}
	switch {
	case key.Role == "":
		id.UserID = key.Account
		id.ARN = "arn:" + wire.Partition(auth.region) + ":iam::" + key.Account + ":root"
	case strings.HasPrefix(key.Role, "arn:"):
		id.ARN = key.Role
	default:
		id.ARN = "arn:" + wire.Partition(auth.region) + ":sts::" + key.Account + ":assumed-role/" + key.Role + "/pintle"
	}
	return id
}
