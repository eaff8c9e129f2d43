//go:build unix

// Package chain makes cycles with engines that others have made, so that they can be compared with those of package cycle.
//
// The load is the same: chains of steps, each of which is what a step of a stack is. A step's request is recorded, delivered to
// a [cycle.Provider] over HTTP, and the provider sends its answer over HTTP to a door, which acknowledges it when the answer is
// durable and the next step with it. What stands between provider and door is a [Peer]: the packages river, dbos and
// goworkflows below bench/peer make one each. [Run] measures one.
package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
)

// Step is one of a chain; both count from 0.
type Step struct{ Chain, Number int }

// Document returns what an engine has to record of a step's request: as many bytes as Pintle records of such a one.
func (s Step) Document() []byte {
	document, err := json.Marshal(map[string]any{
		"RequestType": "Create", "StackId": strings.Repeat("s", 96), "RequestId": fmt.Sprintf("%018d%018d", s.Chain, s.Number),
		"LogicalResourceId": fmt.Sprint("R", s.Number), "ResourceType": "Custom::Thing",
		"ResourceProperties": map[string]string{"Endpoint": "https://example.com/", "Size": fmt.Sprint(s.Number)},
	})
	if err != nil {
		panic(err) // strings have a form in JSON
	}
	return document
}

// Config is what a peer is made of.
type Config struct {
	Database measure.Database
	Size     cycle.Size
	// Send delivers a step's request, whose document it is given as recorded. It returns when the provider has accepted it. It is
	// safe for concurrent use.
	Send func(ctx context.Context, step Step, document []byte) error
}

// Peer is an engine that runs chains. Its methods are safe for concurrent use, but for Close.
type Peer interface {
	// Begin records the first step of every chain, each of which the peer then sends.
	Begin(ctx context.Context) error
	// Answer records an answer. When it returns nil the answer is durable, and so is that the next step will be sent, if the
	// chain has one.
	Answer(ctx context.Context, step Step, body []byte) error
	// Close ends the engine, at whatever step its chains are.
	Close() error
}

// Open makes a peer. Its context ends when the peer is to end.
type Open func(context.Context, Config) (Peer, error)

// Run runs a peer's chains to their end, or for window if that comes first, and returns how fast that went.
func Run(ctx context.Context, open Open, at measure.Database, size cycle.Size, window time.Duration) (cycle.Rate, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	provider := cycle.NewProvider(ctx, size)
	defer provider.Close()
	door, err := newDoor(provider.URL)
	if err != nil {
		return cycle.Rate{}, err
	}
	defer door.Close()
	peer, err := open(ctx, Config{Database: at, Size: size, Send: door.send})
	if err != nil {
		return cycle.Rate{}, err
	}
	door.open(peer)
	if err := peer.Begin(ctx); err != nil {
		return cycle.Rate{}, fmt.Errorf("begin %s: %w", size, err)
	}
	made, err := provider.MeasureFor(window)
	if err != nil {
		return cycle.Rate{}, err
	}
	provider.Close() // and with it all answers under way, so that none meets a closed engine
	door.Close()
	stop()
	return made, peer.Close()
}
