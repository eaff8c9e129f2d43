package logs

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// swept is a stream that a sweep may remove.
type swept struct {
	group  *group
	stream *stream
	age    int64
	bytes  int64
}

// Sweep removes the events of deleted groups, and streams whose events are all older than the retention of their
// group. If all streams together are too large, it also removes the oldest. It keeps a stream that never had an
// event.
func (s *Store) Sweep(ctx context.Context) {
	entries, err := os.ReadDir(s.config.Dir)
	if err != nil {
		s.config.Log.ErrorContext(ctx, "the log streams could not be read", "error", err)
		return
	}
	var kept []swept
	total := int64(0)
	for _, entry := range entries {
		if !entry.IsDir() || ctx.Err() != nil {
			continue
		}
		list, err := s.sweepGroup(ctx, filepath.Join(s.config.Dir, entry.Name()))
		if err != nil && ctx.Err() == nil {
			s.config.Log.ErrorContext(ctx, "old log events could not be removed", "directory", entry.Name(), "error", err)
		}
		for _, one := range list {
			total += one.bytes
		}
		kept = append(kept, list...)
	}
	slices.SortFunc(kept, func(a, b swept) int { return cmp.Compare(a.age, b.age) })
	for _, one := range kept {
		if total <= MaxTotal {
			return
		}
		one.group.mu.Lock()
		if err := one.group.remove(one.stream); err != nil {
			s.config.Log.ErrorContext(ctx, "a log stream could not be removed", "stream", one.stream.Name, "error", err)
		}
		one.group.mu.Unlock()
		total -= one.bytes
	}
}

// sweepGroup removes the expired streams of a group, and returns the others.
func (s *Store) sweepGroup(ctx context.Context, dir string) ([]swept, error) {
	id, err := readIdentity(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // it is being created or removed
	}
	if err != nil {
		return nil, err
	}
	days, err := s.config.Retention(ctx, id.Scope, id.Name)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, s.DeleteGroup(id.Scope, id.Name)
	}
	if err != nil {
		return nil, err
	}
	g, err := s.open(id.Scope, id.Name, false)
	if err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	oldest := s.Oldest(days)
	var kept []swept
	for _, st := range g.byAge() {
		if st.Last > 0 && st.Last < oldest {
			if err := g.remove(st); err != nil {
				return kept, err
			}
			continue
		}
		kept = append(kept, swept{g, st, st.age(), st.Bytes})
	}
	return kept, nil
}

// Oldest returns the time before which a group with a retention in days has no events, in milliseconds since 1970.
func (s *Store) Oldest(days int) int64 {
	if days == 0 {
		return 0
	}
	return s.config.Now().Add(-time.Duration(days) * 24 * time.Hour).UnixMilli()
}
