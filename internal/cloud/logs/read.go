package logs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Position is the position of an event in the order of results: by time, then by stream, then by arrival.
type Position struct {
	Time   int64
	Stream string
	Seq    int64
}

// Compare orders positions.
func (p Position) Compare(o Position) int {
	return cmp.Or(cmp.Compare(p.Time, o.Time), strings.Compare(p.Stream, o.Stream), cmp.Compare(p.Seq, o.Seq))
}

// Found is an event with its position.
type Found struct {
	Position
	Message string
	// Ingested is the ingestion time, in milliseconds since 1970.
	Ingested int64
}

// Query selects events of a group.
type Query struct {
	// Streams are stream names. If it is empty, Prefix is a prefix of stream names. If both are empty, all streams
	// are searched.
	Streams []string
	Prefix  string
	// From and Until bound the times of events, inclusive, in milliseconds since 1970. A zero Until means no end.
	From, Until int64
	// After excludes the events up to a position, and Before those from a position on. Nil excludes none.
	After, Before *Position
	// Match reports whether a message is wanted. Nil means all.
	Match func(message string) bool
	// Limit and Bytes limit the result. At least one event is returned, however long it is. Both are required.
	Limit, Bytes int
	// Last requests the last events instead of the first, in the same order.
	Last bool
}

// Read returns events of a group in order, and whether there are more. Unknown streams have no events.
func (s *Store) Read(place registry.Scope, name string, q Query) (found []Found, more bool, err error) {
	g, err := s.open(place, name, false)
	if err != nil {
		return nil, false, err
	}
	defer g.mu.Unlock()
	c := collector{query: q}
	for _, st := range g.streams {
		if !q.wants(st) {
			continue
		}
		_, _, err := scan(g.file(st.Name), func(e entry) bool {
			c.add(st.Name, e)
			return true
		})
		if err != nil {
			return nil, false, fmt.Errorf("log stream %s: %w", st.Name, err)
		}
	}
	found, more = c.end()
	return found, more, nil
}

// wants reports whether a stream may have matching events.
func (q *Query) wants(st *stream) bool {
	switch {
	case st.Last == 0, st.Last < q.From, q.Until > 0 && st.First > q.Until, q.After != nil && st.Last < q.After.Time:
		return false
	case len(q.Streams) > 0:
		return slices.Contains(q.Streams, st.Name)
	}
	return strings.HasPrefix(st.Name, q.Prefix)
}

// collector keeps the first or the last matching events.
type collector struct {
	query Query
	found []Found
	more  bool
}

func (c *collector) add(stream string, e entry) {
	q := &c.query
	if e.Time < q.From || q.Until > 0 && e.Time > q.Until {
		return
	}
	at := Position{e.Time, stream, e.seq}
	if q.After != nil && at.Compare(*q.After) <= 0 || q.Before != nil && at.Compare(*q.Before) >= 0 {
		return
	}
	message := unescape.Replace(e.Message)
	if q.Match != nil && !q.Match(message) {
		return
	}
	c.found = append(c.found, Found{at, message, e.ingested})
	if len(c.found) >= 2*q.Limit+1024 {
		c.cut()
	}
}

// cut drops the events beyond the limit.
func (c *collector) cut() {
	slices.SortFunc(c.found, func(a, b Found) int { return a.Compare(b.Position) })
	over := len(c.found) - c.query.Limit
	if over <= 0 {
		return
	}
	c.more = true
	if c.query.Last {
		c.found = slices.Delete(c.found, 0, over)
	} else {
		c.found = slices.Delete(c.found, c.query.Limit, len(c.found))
	}
}

// end returns the events within the limits.
func (c *collector) end() ([]Found, bool) {
	c.cut()
	if c.query.Last {
		slices.Reverse(c.found)
	}
	size := 0
	for i, f := range c.found {
		if size += len(f.Message); size > c.query.Bytes && i > 0 {
			c.found, c.more = c.found[:i], true
			break
		}
	}
	if c.query.Last {
		slices.Reverse(c.found)
	}
	return c.found, c.more
}
