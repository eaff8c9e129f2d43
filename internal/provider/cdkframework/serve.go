package cdkframework

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// Log selects which SDK log records go to the log of a request.
type Log int

const (
	// Whole logs the same as a provider's own process, without the attributes that are equal on each line.
	Whole Log = iota
	// Brief logs only errors that are not reported elsewhere. It is for handlers whose functions have logs of their
	// own.
	Brief
)

// Serve returns a function that runs the handler as a provider inside this process. store holds the provider's answers
// for requests that are delivered again.
func Serve(handler pintle.Handler, store pintle.IdempotencyStore, log Log) local.ServeFunc {
	return func(ctx context.Context, host local.Host) error {
		return pintle.Run(ctx, pintle.RunConfig{
			ServerConfig: pintle.ServerConfig{
				Handlers:    []pintle.Handler{handler},
				Idempotency: clockedStore{store, killable{killed: host.Killed}},
				// The host's log redacts the request's secrets; the process's own log does not.
				Logger: slog.New(log.handler(host.Log)),
			},
			LambdaRuntimeAPI: host.Address,
		})
	}
}

// clockedStore provides the server's clock.
type clockedStore struct {
	pintle.IdempotencyStore
	of clock.Clock
}

// Clock implements [clock.Source].
func (s clockedStore) Clock() clock.Clock { return s.of }

func (l Log) handler(to io.Writer) slog.Handler {
	if l == Brief {
		return untold{slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelError})}
	}
	return untold{slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "request", "stack": // the same on every line of the log
			return slog.Attr{}
		}
		return a
	}})}
}

// untold drops records that repeat the answer.
type untold struct{ slog.Handler }

func (u untold) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "handler failed" {
		return nil
	}
	return u.Handler.Handle(ctx, r)
}

func (u untold) WithAttrs(attrs []slog.Attr) slog.Handler { return untold{u.Handler.WithAttrs(attrs)} }

func (u untold) WithGroup(name string) slog.Handler { return untold{u.Handler.WithGroup(name)} }

// killable is the system clock with a context. After the context ends, no time remains, so that no answer is sent.
type killable struct {
	clock.System
	killed context.Context
}

func (c killable) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.killed.Done():
		return c.killed.Err()
	}
}

func (c killable) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithDeadline(ctx, at)
	stop := context.AfterFunc(c.killed, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
