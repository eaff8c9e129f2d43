// Package sts answers the one question of the Security Token Service that clients ask before they do anything else: who
// am I.
//
// Source: STS API Reference, version 2011-06-15, GetCallerIdentity.
package sts

import (
	"context"
	"errors"
	"log/slog"

	"github.com/pintle-dev/pintle/internal/api/query"
)

const (
	// Version is the version of the API.
	Version = "2011-06-15"
	// Namespace is the xmlns of its replies.
	Namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
)

// Caller is who signed a request.
type Caller struct {
	Account string
	ARN     string
	UserID  string // unique, e.g. the account or the access key
}

// Config is what the face is made of.
type Config struct {
	// Caller tells who signed a request; false is a fault of the server. Required.
	Caller func(context.Context) (Caller, bool)
	// Log gets internal errors; nil discards them.
	Log *slog.Logger
}

type identityOutput struct {
	Account string
	Arn     string
	UserID  string `query:"UserId"`
}

// New returns a service that answers GetCallerIdentity. It returns an error if the config lacks something.
func New(config Config) (*query.Service, error) {
	if config.Caller == nil {
		return nil, errors.New("sts: the caller is required")
	}
	service, err := query.New(query.Config{Name: "sts", Namespace: Namespace, Version: Version, Logger: config.Log})
	if err != nil {
		return nil, err
	}
	query.Handle(service, "GetCallerIdentity", func(ctx context.Context, _ query.None) (identityOutput, error) {
		caller, ok := config.Caller(ctx)
		if !ok {
			return identityOutput{}, errors.New("the request reached STS without a caller")
		}
		return identityOutput{Account: caller.Account, Arn: caller.ARN, UserID: caller.UserID}, nil
	})
	return service, nil
}
