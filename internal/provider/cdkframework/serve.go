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

// Log is how much of what the SDK logs goes into the log of a request.
type Log int

const (
	// Whole is what a provider's own process prints, without what is the same on each line.
	Whole Log = iota
	// Brief is errors that no one else tells: it is for handlers whose functions have logs of their own.
	Brief
)

// Serve returns what answers for a provider by the handler, inside this process. store is that of the provider: it keeps
// the answers for requests that are delivered again.
func Serve(handler pintle.Handler, store pintle.IdempotencyStore, log Log) local.ServeFunc {
	return func(ctx context.Context, host local.Host) error {
		return pintle.Run(ctx, pintle.RunConfig{
			ServerConfig: pintle.ServerConfig{
				Handlers:    []pintle.Handler{handler},
				Idempotency: clockedStore{store, killable{killed: host.Killed}},
				// Not the program's own log: the host's is redacted of the request's secrets.
				Logger: slog.New(log.handler(host.Log)),
			},
			LambdaRuntimeAPI: host.Address,
		})
	}
}

// clockedStore gives the server its clock.
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
		case slog.TimeKey, "request", "stack": // of which the log is
			return slog.Attr{}
		}
		return a
	}})}
}

// untold leaves out what the answer says too.
type untold struct{ slog.Handler }

func (u untold) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "handler failed" {
		return nil
	}
	return u.Handler.Handle(ctx, r)
}

func (u untold) WithAttrs(attrs []slog.Attr) slog.Handler { return untold{u.Handler.WithAttrs(attrs)} }

func (u untold) WithGroup(name string) slog.Handler { return untold{u.Handler.WithGroup(name)} }

// killable is the system's clock, on which no time is left when its context is done: no answer is sent then.
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
