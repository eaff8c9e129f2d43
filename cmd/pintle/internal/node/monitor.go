package node

import (
	"context"
	"fmt"
	"net"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/metrics"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
)

// MetricsConfig configures how a node exposes its metrics.
type MetricsConfig struct {
	// Listen is host:port of a listener for scrapes alone; empty is none. Then they come to the main one, if Dev is set or
	// there is a Token.
	Listen string
	// Token is the bearer token of scrapes on every listener. Zero requires none.
	Token metrics.Token
}

// openMetrics has the parts counted that are there by now, and opens the place for scrapes.
func (b *builder) openMetrics(context.Context) (err error) {
	door := &b.door
	door.Served = b.metrics.Served
	door.Local = func(keyID string) bool { return keyID == b.record.Owner.ID }
	if b.config.Audit != nil {
		door.Audit = b.audit
	}
	queued := func() int { return 0 }
	if s, ok := b.store.(interface{ Queued() int }); ok {
		queued = s.Queued
	}
	b.metrics.Watch(metrics.Sources{
		Figures: b.store.Figures, Ping: b.store.Ping, Queued: queued, Log: b.log,
		Load: func() (inHand, waiting, sending int) {
			var load delivery.Load
			if b.delivery != nil {
				load = b.delivery.Load()
			}
			return load.InHand, load.Waiting, load.Sending
		},
	})
	c := b.config.Metrics
	switch {
	case b.config.Role != Server:
	case c.Listen != "":
		if b.scrapes, err = net.Listen("tcp", c.Listen); err != nil {
			return fmt.Errorf("listen for scrapes: %w", err)
		}
	case b.config.Dev || !c.Token.IsZero():
		door.Metrics = b.metrics.Handler(c.Token)
	}
	return nil
}

// audit puts a change on record. It has been made by then, so that all that is left to do about a log that cannot be written
// is to say so.
func (n *Node) audit(e audit.Entry) {
	if err := n.config.Audit.Write(e); err != nil {
		n.metrics.Unaudited()
		n.log.Error("an audit record was not written", "action", e.Action, "request", e.Request, "error", err)
	}
}

// MetricsURL is where scrapes are answered; empty if they are not.
func (n *Node) MetricsURL() string {
	switch c := n.config.Metrics; {
	case n.scrapes != nil:
		return "http://" + reachable(n.scrapes.Addr()) + metrics.Path
	case n.config.Role == Server && (n.config.Dev || !c.Token.IsZero()):
		return n.record.URL + metrics.Path
	}
	return ""
}
