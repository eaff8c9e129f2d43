package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/logs"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// logsDir is the directory of the events of log groups in the data directory.
const logsDir = "logs"

// maxOrigins is how many log streams are remembered whose group exists.
const maxOrigins = 4096

// functionLogs writes the output of functions and local providers to their log groups.
type functionLogs struct {
	node    *Node
	streams *logs.Store

	mu    sync.Mutex
	known map[local.Origin]bool
}

// openLogs opens the log groups' events. It needs the catalog.
func (c *cloud) openLogs(n *Node) error {
	kept, err := logs.New(logs.Config{
		Dir: n.config.Lock.path(logsDir), Log: n.log,
		Retention: func(ctx context.Context, place registry.Scope, group string) (int, error) {
			item, err := c.catalog.Groups.Get(ctx, place, group)
			return item.Of.Retention, err
		},
	})
	if err != nil {
		return fmt.Errorf("log groups: %w", err)
	}
	c.logs = &functionLogs{node: n, streams: kept, known: map[local.Origin]bool{}}
	return nil
}

// print adds a line to the stream of a process. The group is made if it does not exist.
func (l *functionLogs) print(o local.Origin, line string) {
	place := registry.Scope{Account: o.Account, Region: o.Region}
	err := l.ensure(place, o)
	if err == nil {
		var made bool
		made, err = l.streams.Append(place, o.Group, o.Stream, logs.Event{Time: time.Now().UnixMilli(), Message: line})
		if made && err == nil {
			err = l.group(place, o.Group) // the group may have been deleted meanwhile, and its streams with it
		}
	}
	if err != nil {
		l.node.log.Error("a log line was not stored", "group", o.Group, "error", err)
	}
}

// ensure makes the group of a stream that had no line yet.
func (l *functionLogs) ensure(place registry.Scope, o local.Origin) error {
	l.mu.Lock()
	known := l.known[o]
	l.mu.Unlock()
	if known {
		return nil
	}
	if err := l.group(place, o.Group); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) == maxOrigins {
		clear(l.known)
	}
	l.known[o] = true
	return nil
}

// group makes a group if it does not exist.
func (l *functionLogs) group(place registry.Scope, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	groups := l.node.cloud.catalog.Groups
	_, err := groups.Get(ctx, place, name)
	if errors.Is(err, registry.ErrNotFound) {
		_, err = groups.Put(ctx, registry.Item[registry.LogGroup]{Scope: place, Name: name, Of: registry.LogGroup{Implicit: true, Made: time.Now().UTC()}})
	}
	if errors.Is(err, registry.ErrExists) {
		err = nil
	}
	return err
}
