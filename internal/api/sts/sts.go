// Package sts is the API of the Security Token Service: the identity of the caller, and keys for a role.
//
// A role need not exist, and its permissions are ignored, because permissions are not enforced. The keys of a role give
// access to its account. Only a development server issues keys for other accounts than the caller's.
//
// Source: STS API Reference, version 2011-06-15, GetCallerIdentity and AssumeRole.
package sts

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/query"
)

const (
	// Version is the version of the API.
	Version = "2011-06-15"
	// Namespace is the xmlns of the responses.
	Namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
)

const (
	defaultDuration = time.Hour
	// maxChained is the maximum lifetime of keys for a role that were requested with another role's keys. Source: IAM
	// User Guide, role chaining.
	maxChained = time.Hour
)

// Session is a session of an assumed role.
type Session struct {
	// Partition and Account are those of the role. Role is its name without a path.
	Partition, Account, Role string
	// Name is the session name.
	Name string
	// Until is when the session's keys expire.
	Until time.Time
}

// Keys are the keys of a session.
type Keys struct {
	ID, Secret, Token string
	// ARN and UserID are those that GetCallerIdentity returns for the keys.
	ARN, UserID string
}

// Config configures the handler.
type Config struct {
	// Caller returns the signer of a request. False is an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Issue issues the keys of a session. Nil means that roles cannot be assumed.
	Issue func(Session) Keys
	// AnyAccount allows callers to assume roles of other accounts.
	AnyAccount bool
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

type handler struct{ Config }

type identityOutput struct {
	Account string
	Arn     string
	UserID  string `query:"UserId"`
}

// New returns a service that answers GetCallerIdentity and, if Config.Issue is set, AssumeRole. It returns an error if
// a required field is missing.
func New(config Config) (*query.Service, error) {
	if config.Caller == nil {
		return nil, errors.New("sts: the caller is required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	service, err := query.New(query.Config{Name: "sts", Namespace: Namespace, Version: Version, Logger: config.Log})
	if err != nil {
		return nil, err
	}
	f := &handler{config}
	query.Handle(service, "GetCallerIdentity", f.identity)
	if config.Issue != nil {
		query.Handle(service, "AssumeRole", f.assumeRole)
	}
	return service, nil
}

func (f *handler) who(ctx context.Context) (api.Caller, error) {
	caller, ok := f.Caller(ctx)
	if !ok {
		return api.Caller{}, errors.New("the request reached STS without a caller")
	}
	return caller, nil
}

func (f *handler) identity(ctx context.Context, _ query.None) (identityOutput, error) {
	caller, err := f.who(ctx)
	return identityOutput{Account: caller.Account, Arn: caller.ARN, UserID: caller.UserID}, err
}

// assumeRoleInput omits parameters that only restrict the session, because permissions are not enforced.
type assumeRoleInput struct {
	RoleARN         string `query:"RoleArn,required" length:"20,2048"`
	RoleSessionName string `query:",required" length:"2,64" pattern:"[\\w+=,.@-]*"`
	DurationSeconds *int   `range:"900,43200"`
	SourceIdentity  string
}

type credentials struct {
	AccessKeyID     string `query:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      time.Time
}

type assumeRoleOutput struct {
	Credentials     credentials
	AssumedRoleUser struct {
		AssumedRoleID string `query:"AssumedRoleId"`
		Arn           string
	}
	SourceIdentity string `query:",omitempty"`
}

// roleARN parses a role's ARN: partition, account, and the name after the path. Source: IAM and STS API References,
// quotas and characters of names.
var roleARN = regexp.MustCompile(`^arn:(aws[a-z-]*):iam::([A-Za-z0-9]{12}):role/(?:[\x21-\x7e]*/)?([A-Za-z0-9_+=,.@-]{1,64})$`)

func (f *handler) assumeRole(ctx context.Context, in assumeRoleInput) (out assumeRoleOutput, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	role := roleARN.FindStringSubmatch(in.RoleARN)
	if role == nil {
		return out, query.Validation("%s is invalid", in.RoleARN)
	}
	duration := defaultDuration
	if in.DurationSeconds != nil {
		duration = time.Duration(*in.DurationSeconds) * time.Second
	}
	switch {
	case duration > maxChained && strings.Contains(caller.ARN, ":assumed-role/"):
		return out, query.Validation("The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining")
	case role[2] != caller.Account && !f.AnyAccount:
		return out, &query.Error{
			Code: "AccessDenied", Message: "User: " + caller.ARN + " is not authorized to perform: sts:AssumeRole on resource: " + in.RoleARN,
			Status: http.StatusForbidden, Sender: true,
		}
	}
	until := f.Now().UTC().Add(duration).Truncate(time.Second)
	keys := f.Issue(Session{Partition: role[1], Account: role[2], Role: role[3], Name: in.RoleSessionName, Until: until})
	out.Credentials = credentials{AccessKeyID: keys.ID, SecretAccessKey: keys.Secret, SessionToken: keys.Token, Expiration: until}
	out.AssumedRoleUser.Arn, out.AssumedRoleUser.AssumedRoleID = keys.ARN, keys.UserID
	out.SourceIdentity = in.SourceIdentity
	return out, nil
}
