// Package logs is the local stand-in for CloudWatch Logs: it stores the events of log groups on disk.
//
// A group is a directory, and a stream is an append-only file in it:
//
//	DIR/=GROUP/group.json      the account, the region and the name
//	DIR/=GROUP/=STREAM.log     a header, then one line for each event
//
// Names are hashed, because log group names may be longer than file names. The catalog holds the groups and their
// retention; this package gets it from [Config].Retention.
//
// # Durability
//
// An event is in the file when [Store.Append] returns, so it survives the end of the process, including kill -9. It
// is not flushed to the disk, so a machine crash may lose the last seconds. An incomplete last line is removed at the
// next write to the stream.
//
// # Limits
//
// A stream has at most [MaxStream] bytes, a group [MaxGroup] bytes and [MaxStreams] streams, and all groups
// [MaxTotal] bytes. Beyond that the oldest events are removed: half of a stream, or the least recently written
// streams. [Store.Run] removes streams whose events are all older than the retention of their group.
package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Errors for callers to check.
var (
	ErrExists   = errors.New("the specified log stream already exists")
	ErrNotFound = errors.New("the specified log stream does not exist")
)

// Limits, in bytes except MaxStreams.
const (
	MaxStream  = 4 << 20
	MaxGroup   = 64 << 20
	MaxTotal   = 512 << 20
	MaxStreams = 1000 // per group
	// MaxMessage is the maximum length of an event. Source: CloudWatch Logs quotas, PutLogEvents.
	MaxMessage = 1 << 20
)

const sweepEvery = 10 * time.Minute

// Config configures a [Store].
type Config struct {
	// Dir is the directory of the files. New creates it if it does not exist. Required.
	Dir string
	// Retention returns the retention of a group in days, zero for no limit. The error is [registry.ErrNotFound] if
	// the group does not exist. Its events are then removed. Required.
	Retention func(ctx context.Context, place registry.Scope, group string) (days int, err error)
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets write and clean-up errors. Nil discards them.
	Log *slog.Logger
}

// Event is an event of a stream.
type Event struct {
	// Time is when the event happened, in milliseconds since 1970.
	Time    int64
	Message string
}

// Stream is the state of a stream.
type Stream struct {
	Name string
	// Made is the creation time, First and Last are the times of the first and last event, and Ingested is the last
	// ingestion time, all in milliseconds since 1970. The last three are zero for a stream without events.
	Made, First, Last, Ingested int64
	// Bytes is the size of its file.
	Bytes int64
}

// Store stores events. Its methods are safe for concurrent use. Only one Store may use a directory.
type Store struct {
	config Config

	mu     sync.Mutex
	groups map[string]*group // by directory
}

// group is a group with its streams, which are loaded on first use.
type group struct {
	dir string

	mu      sync.Mutex
	loaded  bool
	streams map[string]*stream // by name
}

type stream struct {
	Stream
	seq int64 // of the last event
}

// New opens the directory. It returns an error if config is incomplete.
func New(config Config) (*Store, error) {
	if config.Dir == "" || config.Retention == nil {
		return nil, errors.New("streams: the directory and the retention are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("streams: %w", err)
	}
	return &Store{config: config, groups: map[string]*group{}}, nil
}

// Run removes expired and excess events until ctx ends. The error is always nil.
func (s *Store) Run(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		s.Sweep(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// open locks and returns a group, and loads its streams. Without create, a group without a directory has no streams.
func (s *Store) open(place registry.Scope, name string, create bool) (*group, error) {
	dir := hashed(place.Account, place.Region, name)
	s.mu.Lock()
	g := s.groups[dir]
	if g == nil {
		g = &group{dir: filepath.Join(s.config.Dir, dir), streams: map[string]*stream{}}
		s.groups[dir] = g
	}
	s.mu.Unlock()
	g.mu.Lock()
	err := g.load()
	if err == nil && create {
		err = g.make(place, name)
	}
	if err != nil {
		g.mu.Unlock()
		return nil, fmt.Errorf("log group %s: %w", name, err)
	}
	return g, nil
}

// make creates the directory of a group.
func (g *group) make(place registry.Scope, name string) error {
	if err := os.Mkdir(g.dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return writeIdentity(g.dir, place, name)
}

// load reads the streams of a group.
func (g *group) load() error {
	if g.loaded {
		return nil
	}
	entries, err := os.ReadDir(g.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), extension) {
			continue
		}
		st, err := readStream(filepath.Join(g.dir, entry.Name()))
		if err != nil {
			return err
		}
		if st != nil {
			g.streams[st.Name] = st
		}
	}
	g.loaded = true
	return nil
}

// Create creates an empty stream. It returns [ErrExists] if the stream exists.
func (s *Store) Create(place registry.Scope, group, name string) error {
	g, err := s.open(place, group, true)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	if g.streams[name] != nil {
		return ErrExists
	}
	return s.create(g, name)
}

func (s *Store) create(g *group, name string) error {
	st := &stream{Stream: Stream{Name: name, Made: s.config.Now().UnixMilli()}}
	n, err := writeHeader(g.file(name), st)
	if err != nil {
		return fmt.Errorf("log stream %s: %w", name, err)
	}
	st.Bytes = n
	g.streams[name] = st
	return g.trim(name)
}

// Append appends events to a stream, in order. It creates the stream if it does not exist, and reports that as made.
// It truncates messages longer than [MaxMessage].
func (s *Store) Append(place registry.Scope, group, name string, events ...Event) (made bool, err error) {
	g, err := s.open(place, group, true)
	if err != nil {
		return false, err
	}
	defer g.mu.Unlock()
	st := g.streams[name]
	if st == nil {
		if err := s.create(g, name); err != nil {
			return false, err
		}
		st, made = g.streams[name], true
	}
	now := s.config.Now().UnixMilli()
	var text []byte
	seq := st.seq
	for _, e := range events {
		seq++
		text = appendLine(text, e, now, seq)
	}
	if err := appendFile(g.file(name), text); err != nil {
		return made, fmt.Errorf("log stream %s: %w", name, err)
	}
	st.seq, st.Bytes = seq, st.Bytes+int64(len(text))
	for _, e := range events {
		st.saw(e.Time, now)
	}
	if st.Bytes > MaxStream {
		if err := g.halve(st); err != nil {
			return made, fmt.Errorf("log stream %s: %w", name, err)
		}
	}
	return made, g.trim(name)
}

// saw updates the times for an event.
func (st *stream) saw(at, ingested int64) {
	if st.Last == 0 || at < st.First {
		st.First = at
	}
	st.Last, st.Ingested = max(st.Last, at), max(st.Ingested, ingested)
}

// age returns the sort key that orders streams from the least to the most recently written.
func (st *stream) age() int64 { return max(st.Made, st.Ingested) }

// trim removes the oldest streams of a group that is too large, but not the one being written.
func (g *group) trim(writing string) error {
	total := int64(0)
	for _, st := range g.streams {
		total += st.Bytes
	}
	if total <= MaxGroup && len(g.streams) <= MaxStreams {
		return nil
	}
	for _, st := range g.byAge() {
		if total <= MaxGroup && len(g.streams) <= MaxStreams {
			return nil
		}
		if st.Name == writing {
			continue
		}
		if err := g.remove(st); err != nil {
			return err
		}
		total -= st.Bytes
	}
	return nil
}

// byAge returns the streams, the least recently written first.
func (g *group) byAge() []*stream {
	list := make([]*stream, 0, len(g.streams))
	for _, st := range g.streams {
		list = append(list, st)
	}
	slices.SortFunc(list, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(a.age(), b.age()), strings.Compare(a.Name, b.Name))
	})
	return list
}

func (g *group) remove(st *stream) error {
	if err := os.Remove(g.file(st.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(g.streams, st.Name)
	return nil
}

// Delete removes a stream. It returns [ErrNotFound] if it does not exist.
func (s *Store) Delete(place registry.Scope, group, name string) error {
	g, err := s.open(place, group, false)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	st := g.streams[name]
	if st == nil {
		return ErrNotFound
	}
	return g.remove(st)
}

// DeleteGroup removes all streams of a group.
func (s *Store) DeleteGroup(place registry.Scope, name string) error {
	g, err := s.open(place, name, false)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := os.RemoveAll(g.dir); err != nil {
		return fmt.Errorf("log group %s: %w", name, err)
	}
	g.streams = map[string]*stream{}
	return nil
}

// Streams returns the streams of a group, sorted by name.
func (s *Store) Streams(place registry.Scope, group string) ([]Stream, error) {
	g, err := s.open(place, group, false)
	if err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	list := make([]Stream, 0, len(g.streams))
	for _, st := range g.streams {
		list = append(list, st.Stream)
	}
	slices.SortFunc(list, func(a, b Stream) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Bytes returns the size of a group.
func (s *Store) Bytes(place registry.Scope, group string) (int64, error) {
	list, err := s.Streams(place, group)
	total := int64(0)
	for _, st := range list {
		total += st.Bytes
	}
	return total, err
}
