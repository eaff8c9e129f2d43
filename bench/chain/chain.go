//go:build unix

// Package chain runs cycles on other engines, so that they can be compared with the cycles of package cycle.
//
// The load is the same: chains of steps, each equivalent to a step of a stack. The request of a step is recorded and
// delivered to a [cycle.Provider] over HTTP. The provider sends its answer over HTTP to a door. The door acknowledges it
// when the answer and the next step are durable. A [Peer] implements the engine in between. The packages river, dbos and
// goworkflows below bench/peer implement one each. [Run] measures one.
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

// Step is a step of a chain; both numbers count from 0.
type Step struct{ Chain, Number int }

// Document returns the record of a step's request: as many bytes as Pintle records for one.
func (s Step) Document() []byte {
	document, err := json.Marshal(map[string]any{
		"RequestType": "Create", "StackId": strings.Repeat("s", 96), "RequestId": fmt.Sprintf("%018d%018d", s.Chain, s.Number),
		"LogicalResourceId": fmt.Sprint("R", s.Number), "ResourceType": "Custom::Thing",
		"ResourceProperties": map[string]string{"Endpoint": "https://example.com/", "Size": fmt.Sprint(s.Number)},
	})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return document
}

// Config configures a peer.
type Config struct {
	Database measure.Database
	Size     cycle.Size
	// Send delivers a step's request with its recorded document. It returns when the provider has accepted it. It is safe
	// for concurrent use.
	Send func(ctx context.Context, step Step, document []byte) error
}

// Peer is an engine that runs chains. Its methods except Close are safe for concurrent use.
type Peer interface {
	// Begin records the first step of every chain. The peer then sends each.
	Begin(ctx context.Context) error
	// Answer records an answer. When it returns nil, the answer and the delivery of the next step of the chain, if any,
	// are durable.
	Answer(ctx context.Context, step Step, body []byte) error
	// Close stops the engine at any step of its chains.
	Close() error
}

// Open makes a peer. Its context ends when the peer should stop.
type Open func(context.Context, Config) (Peer, error)

// Run runs a peer's chains to their end, or for window if that is shorter, and returns their rate.
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
	provider.Close() // and all answers in flight, so that none reaches a closed engine
	door.Close()
	stop()
	return made, peer.Close()
}
