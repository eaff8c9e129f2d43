// Package ros is the engine's face towards the clients of Resource Orchestration Service of Alibaba Cloud: the aliyun CLI, the SDKs
// and what is built on them.
//
// It translates and holds no state: parameters into what the engine takes, rows into the structures of the API, missing things into
// the codes and sentences that clients look for. What a call asks for and this version would not do is refused by name, never
// ignored; parameters that the API does not have are ignored, as there.
//
// Source: ROS API Reference, version 2019-09-10.
package ros

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
)

// Version is the version of the API.
const Version = "2019-09-10"

// Caller is on whose behalf a call is served.
type Caller struct {
	// Account is the 16 digits of the account in which stacks are seen.
	Account string
	// ID is the account's, or that of a user in it: digits.
	ID string
}

// Config is what the face is made of.
type Config struct {
	// Caller tells on whose behalf a call is served; false is a fault of the server. Required.
	Caller func(context.Context) (Caller, bool)
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets internal errors; nil discards them.
	Log *slog.Logger
}

// face answers the actions.
type face struct {
	caller func(context.Context) (Caller, bool)
	now    func() time.Time
}

// New returns a service that answers the actions of ROS. It returns an error if the config lacks something.
func New(config Config) (*rpc.Service, error) {
	if config.Caller == nil {
		return nil, errors.New("ros: the caller is required")
	}
	f := &face{caller: config.Caller, now: config.Now}
	if f.now == nil {
		f.now = time.Now
	}
	service, err := rpc.New(rpc.Config{Name: "ros", Version: Version, Errors: shown, Log: config.Log})
	if err != nil {
		return nil, err
	}
	rpc.Handle(service, "DescribeRegions", f.describeRegions)
	return service, nil
}

// shown turns the engine's errors into the client's.
func shown(err error) *rpc.Error {
	input, ok := engine.InputError(err)
	if !ok {
		return nil
	}
	status := http.StatusBadRequest
	switch input.Code {
	case engine.CodeStackNotFound, engine.CodeResourceNotFound, engine.CodeChangeSetNotFound:
		status = http.StatusNotFound
	case engine.CodeStackExists, engine.CodeActionInProgress:
		status = http.StatusConflict
	default: // the codes of templates are of this class too
	}
	return &rpc.Error{Code: string(input.Code), Message: input.Message, Status: status}
}
