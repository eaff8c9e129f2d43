package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

// membership keeps this node among the nodes that share the store.
type membership struct {
	*runner
	name string
	// Only heartbeats use these: the time of the last heartbeat, and the time from which this node may declare others
	// dead.
	lastBeat, judgeFrom time.Time
}

func (m *membership) join(ctx context.Context) error {
	node, err := m.store.Join(ctx, m.name)
	if err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	m.node.Store(int64(node))
	return nil
}

func (m *membership) beats(ctx context.Context) {
	beat := time.NewTicker(m.beat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if err := m.live(ctx, time.Now()); err != nil && ctx.Err() == nil {
				m.log.Error("heartbeat", "error", err)
			}
		}
	}
}

// never is longer than any silence of a node.
const never = 100 * 365 * 24 * time.Hour

// silence returns how long another node must have been silent before this one declares it dead. Call it after a
// heartbeat of this node. A node that missed heartbeats, or just started, cannot judge whether others are alive: the
// database may have been down for all of them. Until the others have had time for a heartbeat, this node takes over
// only requests without an owner.
func (m *membership) silence(now time.Time) time.Duration {
	if now.Sub(m.lastBeat) > 3*m.beat {
		m.judgeFrom = now.Add(5 * m.beat)
	}
	m.lastBeat = now
	if now.Before(m.judgeFrom) {
		return never
	}
	return 5 * m.beat
}

// live sends a heartbeat, and takes over the work of dead nodes. now is this node's time.
func (m *membership) live(ctx context.Context, now time.Time) error {
	err := m.store.Beat(ctx, m.Node())
	if errors.Is(err, store.ErrGone) {
		m.log.Warn("this node was declared dead and joins again")
		err = m.join(ctx)
	}
	if err != nil {
		return err
	}
	taken, err := m.store.Reap(ctx, m.Node(), m.silence(now))
	if taken > 0 {
		m.log.Info("took over from a node that died", "requests", taken)
		m.observer.TookOver(taken)
	}
	if err != nil {
		return err
	}
	nodes, err := m.store.Nodes(ctx)
	if err == nil {
		m.turns.know(nodes)
	}
	return err
}
