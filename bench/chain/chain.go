// Package chain is the load under which durable engines are compared: chains of steps, each of which is what a step of a
// stack is.
//
// A step's request is recorded, delivered to a provider over HTTP, and the provider sends its answer over HTTP to a door; the
// door acknowledges it when the answer is durable and the next step with it. [Provider] and the door are the same whatever
// engine stands between them, which is a [Peer]: package river, dbos and goworkflows below bench/peer make one each. [Run]
// measures one.
//
// Answers wait until the first request of every chain is there, so that what comes before the cycles is not measured.
package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Load is how many chains run at a time, 1 or more, and how many steps each has, 2 or more.
type Load struct{ Chains, Length int }

// cycles returns how many answers are measured: that of the last step of a chain leads to none.
func (l Load) cycles() int { return l.Chains * (l.Length - 1) }

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

// Database says where an engine keeps its state: in the SQLite file at Path or, where it is set, in the new PostgreSQL database
// at DSN, a URL.
type Database struct{ Path, DSN string }

// Config is what a peer is made of.
type Config struct {
	Database Database
	Load     Load
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

// Rate is how fast cycles were made.
type Rate struct {
	PerSecond float64 `json:"per_second"`
	// Processor is the time that this process had on processors for each cycle, in µs: engine, provider and HTTP on all
	// sides. That of a database's own processes is not in it.
	Processor float64 `json:"processor"`
	// Cycles is how many were made in all.
	Cycles int `json:"cycles"`
}

// Run runs a peer's chains to their end, or for window if that comes first, and returns how fast that went.
func Run(ctx context.Context, open Open, database Database, load Load, window time.Duration) (Rate, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	provider, err := NewProvider(load)
	if err != nil {
		return Rate{}, err
	}
	defer provider.Close()
	door, err := newDoor(provider)
	if err != nil {
		return Rate{}, err
	}
	defer door.Close()
	peer, err := open(ctx, Config{Database: database, Load: load, Send: door.send})
	if err != nil {
		return Rate{}, err
	}
	door.open(peer)
	if err := peer.Begin(ctx); err != nil {
		return Rate{}, fmt.Errorf("begin %d chains: %w", load.Chains, err)
	}
	made, err := provider.Measure(ctx, window)
	if err != nil {
		return Rate{}, err
	}
	provider.Close() // and with it all answers under way, so that none meets a closed engine
	door.Close()
	stop()
	return made, peer.Close()
}
