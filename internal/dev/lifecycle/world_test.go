package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
	"github.com/pintle-dev/pintle/wire"
)

const region = "eu-west-1"

// world is a server with all its parts, connected as in the program.
type world struct {
	t      *testing.T
	url    string
	store  *watched
	engine *engine.Engine
	// stop stops the server, after which nothing more is sent.
	stop func()
}

// watched is a store that signals writes.
type watched struct {
	store.Store
	written chan struct{}
}

// Apply calls the store's Apply and signals the write.
func (w *watched) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	err := w.Store.Apply(ctx, target, decide)
	select {
	case w.written <- struct{}{}:
	default:
	}
	return err
}

// configure applies a scene's settings to the engine and to delivery.
func configure(settings []string, e *engine.Config, d *delivery.Config) error {
	for _, setting := range settings {
		name, text, _ := strings.Cut(setting, " ")
		var err error
		switch name {
		case "fidelity": // aws: like the real service, even where Pintle does better
			e.Fidelity, d.FidelityAWS = engine.Fidelity(text), text == string(engine.FidelityAWS)
		case "cancelled-wait": // for the answer of a cancelled request
			e.CancelledWait, err = time.ParseDuration(text)
		case "unknown-types": // record: types without a provider are only recorded
			e.UnknownTypes = engine.UnknownTypes(text)
			e.Native, err = native.CloudFormation(native.Config{
				SignalURL: func(responseurl.ResponseKey, string) (string, error) {
					return "", errors.New("no resource waits for signals")
				},
			})
			d.Native = e.Native
		default:
			err = fmt.Errorf("there is no such setting")
		}
		if err != nil {
			return fmt.Errorf("setting %s: %w", setting, err)
		}
	}
	return nil
}

// newWorld starts a server with its own database.
func newWorld(t *testing.T, settings []string) *world {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	w.url = "http://" + listener.Addr().String()
	base, err := url.Parse(w.url + "/" + server.ResponsePath)
	must(err)
	signer, err := responseurl.NewSigner(responseurl.SignerConfig{KeyID: "PINTLE", Secret: "correct horse battery staple", Bases: []*url.URL{base}})
	must(err)
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte{'a'}, store.KeySize)})
	must(err)
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	rows, err := sqlite.Open(t.Context(), sqlite.Config{
		Path: filepath.Join(t.TempDir(), "pintle.db"), Codec: store.NewCodec(keys), Log: log,
	})
	must(err)
	w.store = &watched{Store: rows, written: make(chan struct{}, 1)}

	// The two depend on each other, so one has to be set later.
	var sender *delivery.Delivery
	engineConfig := engine.Config{
		Store: w.store, Alone: true, CleanupPause: time.Millisecond, Log: log,
		Dispatch: func(ready []store.Request) { sender.Dispatch(ready) },
	}
	deliveryConfig := delivery.Config{
		Table: w.store,
		Node:  func() store.Incarnation { return w.engine.Node() },
		Report: func(ctx context.Context, id wire.RequestID, o delivery.Outcome) error {
			return w.engine.Report(ctx, id, reported(o))
		},
		ResponseURL: func(r store.Request) (string, error) {
			key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
			return signer.Sign(base, key, time.Now(), responseurl.SignOptions{})
		},
		WebhookSecret: []byte("correct horse battery staple"), AllowPrivate: true, Log: log,
	}
	must(configure(settings, &engineConfig, &deliveryConfig))
	w.engine, err = engine.Open(t.Context(), engineConfig)
	must(err)
	sender, err = delivery.New(deliveryConfig)
	must(err)
	door, err := server.New(server.Config{
		Engine: w.engine, Store: w.store, Signer: signer, Dev: true, Listener: listener, Version: "test", Log: log,
	})
	must(err)

	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{w.engine.Run, sender.Run, door.Serve} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	w.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(func() {
		w.stop()
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// reported converts outcomes of delivery for the engine, as the program does.
func reported(o delivery.Outcome) engine.Outcome {
	switch o := o.(type) {
	case delivery.Accepted:
		return engine.Outcome{Kind: engine.Accepted, Local: o.Local}
	case delivery.Answered:
		return engine.Outcome{Kind: engine.Answered, Body: o.Body, Delivered: true}
	case delivery.Refused:
		return engine.Outcome{Kind: engine.Refused, Text: o.Text, Delivered: o.Delivered}
	case delivery.Provided:
		return engine.Outcome{Kind: engine.Provided, Result: o.Result, Text: o.Failure, Delivered: true}
	case delivery.Died:
		return engine.Outcome{Kind: engine.Died, Text: o.Text, Log: o.Log, Delivered: o.Delivered}
	}
	panic(fmt.Sprintf("outcome %T", o))
}

// left returns the resources that the only stack left behind, and the number of its events.
func (w *world) left() (lines []string, events int, err error) {
	stacks, err := w.store.Stacks(w.t.Context(), sigv4.DefaultAccount, region, true, 0, 2)
	if err != nil || len(stacks) != 1 {
		return nil, 0, fmt.Errorf("there are %d stacks: %w", len(stacks), err)
	}
	instances, err := w.store.Instances(w.t.Context(), stacks[0].Key)
	if err != nil {
		return nil, 0, err
	}
	for _, i := range instances {
		switch i.Role {
		case store.RoleOrphan, store.RoleRetained:
			lines = append(lines, fmt.Sprintf("? %s %s id=%s", i.Logical, i.Role, i.PhysicalID))
		case store.RoleCurrent, store.RoleCondemned, store.RoleGone:
		}
	}
	rows, err := w.store.Events(w.t.Context(), stacks[0].Key, store.EventCursor{}, 1000)
	for _, row := range rows {
		events += len(row.Events)
	}
	return lines, events, err
}

// unsent returns the requests that are ready and not delivered. The server must be stopped.
func (w *world) unsent() ([]store.Request, error) {
	return w.store.Claim(w.t.Context(), w.engine.Node(), 100, nil)
}
