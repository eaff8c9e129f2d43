package node

import (
	"context"
	"errors"
	"net/http"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/base/trace"
)

// openConsole adds the console to the configuration of the server.
func (b *builder) openConsole(context.Context) (err error) {
	c := &b.door
	if b.config.NoConsole || b.config.Role == Reader {
		return nil
	}
	config := console.Config{
		Engine: b.engine, Rows: b.store, Key: b.store.Root().Derive("console session"), Keys: b.fileKeys.Lookup,
		Secure:   b.config.PublicURL != nil && b.config.PublicURL.Scheme == "https" && !b.config.Dev,
		Progress: c.Hooks.Progress, Logs: c.Hooks.Logs, Version: b.config.Version, Log: b.log,
	}
	if b.config.Audit != nil {
		config.Record = func(ctx context.Context, a console.Action) { b.audit(entryOf(ctx, a)) }
	}
	if b.console, err = console.New(config); err != nil {
		return err
	}
	c.Console, c.Hooks.Console = b.console, b.consoleLink
	return nil
}

// entryOf returns the audit entry of an action in the console.
func entryOf(ctx context.Context, a console.Action) audit.Entry {
	e := audit.Entry{
		Time: a.Time, Who: audit.Who{Key: a.KeyID, Account: a.Account, User: a.By, Role: string(a.Role)}, From: a.From,
		Endpoint: audit.EndpointConsole, Action: a.Name, Region: a.Region, Stack: string(a.Stack), Trace: trace.FromContext(ctx).ID(),
		Outcome: audit.OutcomeOf(a.Status), Status: a.Status, Request: a.Request,
	}
	if a.Name == "execute" || a.Name == "delete-change-set" {
		e.ChangeSet = a.Object
	} else {
		e.Resource = a.Object
	}
	return e
}

// consoleLink returns a link for the caller that signed the call: the server's own user, or one of its keys.
func (n *Node) consoleLink(ctx context.Context, caller api.Caller) (path string, err error) {
	known := true
	switch {
	case n.isOwner(ctx):
		path, err = n.console.Link(ctx, console.Identity{Name: "the local user", Role: console.Operator})
	case n.config.Dev:
		path, err = n.console.Link(ctx, console.Identity{
			Name: "access key " + caller.KeyID + " (--dev)", Account: caller.Account, Role: console.Operator,
		})
	default:
		path, known, err = n.console.LinkFor(ctx, caller.KeyID)
	}
	switch {
	case errors.Is(err, console.ErrManyLinks):
		return "", &operator.Error{Status: http.StatusTooManyRequests, Message: err.Error()}
	case err == nil && !known:
		return "", &operator.Error{Status: http.StatusForbidden, Message: "only keys from the credentials file can sign in to the console"}
	}
	return path, err
}
