//go:build unix

package cycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/internal/base/idlemem"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const secret = "correct horse battery staple" // of a server that runs for seconds, on loopback

// linger is the engine's setting in a server; see package node of the command.
const linger = 50 * time.Millisecond

// Engine runs stacks, each with one chain of resources, with the engine, delivery and server of this process on a new
// database. It returns the rate of the cycles.
func Engine(ctx context.Context, at measure.Database, size Size) (made Rate, err error) {
	defer idlemem.Pace()() // garbage collection as in a server, here and in the floor
	s, err := openStore(ctx, at)
	if err != nil {
		return Rate{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p := NewProvider(ctx, size)
	defer p.Close()
	runs, e, err := join(ctx, s, p)
	if err != nil {
		return Rate{}, err
	}
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for _, run := range runs {
		all.Go(func() {
			if err := run(running); err != nil {
				p.Fail(err)
			}
		})
	}
	for n := range size.Chains {
		_, err := e.Create(ctx, engine.CreateStack{
			Name:     store.StackName{Account: "000000000000", Region: "us-east-1", Name: fmt.Sprint("chain-", n)},
			Template: chain(p.URL, n, size.Length),
		})
		if err != nil {
			return Rate{}, err
		}
	}
	return p.Measure()
}

// chain returns the template of a stack whose resources depend on each other in a chain.
func chain(provider string, number, length int) string {
	var resources []string
	for i := range length {
		after := ""
		if i > 0 {
			after = fmt.Sprintf(`, "DependsOn": "R%d"`, i-1)
		}
		resources = append(resources, fmt.Sprintf(
			`"R%d": {"Type": "Custom::Thing", "Properties": {"ServiceToken": %q, "Endpoint": "https://example.com/", "Size": "%d"}%s}`, i, provider, number, after))
	}
	return `{"Resources": {` + strings.Join(resources, ", ") + `}}`
}

// join connects a store, an engine, a delivery and a server as the program does. It returns the functions to run, and the
// engine.
func join(ctx context.Context, s store.Store, p *Provider) (runs []func(context.Context) error, e *engine.Engine, err error) {
	log := slog.New(slog.DiscardHandler)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = listener.Close() // nothing serves it
		}
	}()
	base := &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/" + server.ResponsePath}
	signer, err := responseurl.NewSigner(responseurl.SignerConfig{KeyID: "PINTLE", Secret: secret, Bases: []*url.URL{base}})
	if err != nil {
		return nil, nil, err
	}
	var d *delivery.Delivery
	e, err = engine.Open(ctx, engine.Config{Store: s, Alone: true, Log: log, Linger: linger, Dispatch: func(r []store.Request) { d.Dispatch(r) }})
	if err != nil {
		return nil, nil, err
	}
	d, err = delivery.New(delivery.Config{
		Table: s, Node: e.Node, AllowPrivate: true, WebhookSecret: []byte(secret), Log: log,
		Report: func(ctx context.Context, id wire.RequestID, o delivery.Outcome) error {
			if _, ok := o.(delivery.Accepted); !ok {
				p.Fail(fmt.Errorf("a request ended with %T", o))
			}
			return e.Report(ctx, id, engine.Outcome{Kind: engine.Accepted, Delivered: true})
		},
		ResponseURL: func(r store.Request) (string, error) {
			key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
			return signer.Sign(base, key, time.Now(), responseurl.SignOptions{Region: r.Body.Region, Expires: responseurl.DefaultURLLife})
		},
	})
	if err != nil {
		return nil, nil, err
	}
	door, err := server.New(server.Config{Engine: e, Store: s, Signer: signer, Dev: true, Listener: listener, Log: log})
	if err != nil {
		return nil, nil, err
	}
	return []func(context.Context) error{d.Run, door.Serve, e.Run}, e, nil
}
