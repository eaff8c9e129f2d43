package node

import (
	"fmt"
	"net"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/metrics"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/server"
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
func (n *Node) openMetrics(door *server.Config) (err error) {
	door.Served = n.metrics.Served
	door.Local = func(keyID string) bool { return keyID == n.record.Owner.ID }
	if n.config.Audit != nil {
		door.Audit = n.audit
	}
	queued := func() int { return 0 }
	if s, ok := n.store.(interface{ Queued() int }); ok {
		queued = s.Queued
	}
	n.metrics.Watch(metrics.Sources{
		Figures: n.store.Figures, Ping: n.store.Ping, Queued: queued, Log: n.log,
		Load: func() (inHand, waiting, sending int) {
			var load delivery.Load
			if n.delivery != nil {
				load = n.delivery.Load()
			}
			return load.InHand, load.Waiting, load.Sending
		},
	})
	c := n.config.Metrics
	switch {
	case n.config.Role != Server:
	case c.Listen != "":
		if n.scrapes, err = net.Listen("tcp", c.Listen); err != nil {
			return fmt.Errorf("listen for scrapes: %w", err)
		}
	case n.config.Dev || !c.Token.IsZero():
		door.Metrics = n.metrics.Handler(c.Token)
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
