// Package registry holds the rows of all emulated resources: functions, topics, state machines, buckets, and records
// of resources that are not emulated. It is kept in the store, so it is the same for all nodes and survives kill -9;
// secrets in it are sealed there.
//
// A [Shelf] has the things of one kind. A thing is changed from the version that one has read, so that two who change it at
// once do not undo each other.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Errors that callers branch on.
var (
	ErrNotFound = store.ErrNotFound
	ErrExists   = store.ErrExists
	ErrChanged  = store.ErrChanged
)

// Place is where a thing is.
type Place struct {
	Account string
	Region  string
}

// PlaceOf returns where the things of a caller are.
func PlaceOf(c api.Caller) Place { return Place{Account: c.Account, Region: c.Region} }

// Everywhere is the place of things whose names are taken everywhere, such as buckets.
var Everywhere = Place{Account: "-", Region: "-"}

// Item is a thing and who has made it.
type Item[T any] struct {
	Place
	Name string
	// Holder is who has made it: a resource of a stack, see [Holder], or "" a client.
	Holder string
	// Version counts from 1; 0 is one that is new.
	Version int64
	Of      T
}

// Holder names a resource of a stack and the request that has created it, so that one which is served twice knows what it has
// made.
func Holder(stack wire.StackID, logical wire.LogicalID, created wire.RequestID) string {
	return string(stack) + "|" + string(logical) + "|" + string(created)
}

// SystemTags begin the names of tags that only AWS itself sets.
const SystemTags = "aws:"

// TagsOf returns the tags of a thing together with those that CloudFormation puts on what its stacks make: the name and the ARN of the
// stack, and the logical ID. A holder that is not a resource of a stack adds none. The result is nil if there are no tags.
func TagsOf(holder string, tags map[string]string) map[string]string {
	stack, rest, _ := strings.Cut(holder, "|")
	logical, _, _ := strings.Cut(rest, "|")
	arn, err := wire.ParseStackARN(wire.StackID(stack))
	if err != nil || logical == "" {
		return tags
	}
	all := map[string]string{
		SystemTags + "cloudformation:stack-name": arn.Name, SystemTags + "cloudformation:stack-id": stack,
		SystemTags + "cloudformation:logical-id": logical,
	}
	maps.Copy(all, tags)
	return all
}

// Rows is what is needed of a [store.Store].
type Rows interface {
	Entry(ctx context.Context, key store.EntryKey) (store.Entry, error)
	Entries(ctx context.Context, after store.EntryKey, limit int) ([]store.Entry, error)
	PutEntry(ctx context.Context, entry store.Entry) (version int64, err error)
	DropEntry(ctx context.Context, key store.EntryKey, version int64) error
}

// Catalog is all there is. It is safe for concurrent use.
type Catalog struct {
	Functions     *Shelf[Function]
	Layers        *Shelf[Layer]
	Topics        *Shelf[Topic]
	Subscriptions *Shelf[Subscription]
	Machines      *Shelf[Machine]
	Groups        *Shelf[LogGroup]
	// Rules are [Everywhere], so that one list has all that may be due. See [RuleName].
	Rules   *Shelf[Rule]
	Targets *Shelf[Target]
	// Buckets are [Everywhere].
	Buckets *Shelf[Bucket]
	Records *Shelf[Record]
	Secrets *Shelf[Secret]
	// Tags are those of things that are not of this catalog, by their kind, a slash and their name.
	Tags *Shelf[Tags]
	// Keys are those of this cloud itself, by what they are for; [Everywhere].
	Keys *Shelf[Key]
}

// New returns the catalog that has these rows.
func New(rows Rows) *Catalog {
	return &Catalog{
		Functions: &Shelf[Function]{rows, "function"}, Layers: &Shelf[Layer]{rows, "layer"},
		Topics: &Shelf[Topic]{rows, "topic"}, Subscriptions: &Shelf[Subscription]{rows, "subscription"},
		Machines: &Shelf[Machine]{rows, "machine"}, Groups: &Shelf[LogGroup]{rows, "loggroup"},
		Rules: &Shelf[Rule]{rows, "rule"}, Targets: &Shelf[Target]{rows, "target"},
		Buckets: &Shelf[Bucket]{rows, "bucket"}, Records: &Shelf[Record]{rows, "record"},
		Secrets: &Shelf[Secret]{rows, "secret"}, Tags: &Shelf[Tags]{rows, "tags"}, Keys: &Shelf[Key]{rows, "key"},
	}
}

// Shelf is the things of one kind.
type Shelf[T any] struct {
	rows Rows
	kind string
}

func (s *Shelf[T]) key(place Place, name string) store.EntryKey {
	return store.EntryKey{Account: place.Account, Region: place.Region, Kind: s.kind, Name: name}
}

func (s *Shelf[T]) item(e store.Entry) (Item[T], error) {
	i := Item[T]{Place: Place{e.Account, e.Region}, Name: e.Name, Holder: e.Holder, Version: e.Version}
	if err := json.Unmarshal(e.Definition, &i.Of); err != nil {
		return i, fmt.Errorf("decode %s %s: %w", s.kind, e.Name, err)
	}
	return i, nil
}

// Get returns a thing, or [ErrNotFound].
func (s *Shelf[T]) Get(ctx context.Context, place Place, name string) (Item[T], error) {
	e, err := s.rows.Entry(ctx, s.key(place, name))
	if err != nil {
		return Item[T]{}, err
	}
	return s.item(e)
}

// List returns up to limit things of a place, by name, after one of them (empty: from the first).
func (s *Shelf[T]) List(ctx context.Context, place Place, after string, limit int) ([]Item[T], error) {
	entries, err := s.rows.Entries(ctx, s.key(place, after), limit)
	if err != nil {
		return nil, err
	}
	list := make([]Item[T], 0, len(entries))
	for _, e := range entries {
		i, err := s.item(e)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}

// Put adds a thing whose version is 0, or returns [ErrExists]; one with a version takes the place of that version, or it is
// [ErrChanged] or [ErrNotFound]. It returns the thing as it is then.
func (s *Shelf[T]) Put(ctx context.Context, i Item[T]) (Item[T], error) {
	text, err := json.Marshal(i.Of)
	if err != nil {
		return i, fmt.Errorf("encode %s %s: %w", s.kind, i.Name, err)
	}
	i.Version, err = s.rows.PutEntry(ctx, store.Entry{
		EntryKey: s.key(i.Place, i.Name), Version: i.Version, Holder: i.Holder, Definition: text,
	})
	return i, err
}

// tries is how often a change is tried whose thing was changed meanwhile.
const tries = 10

// Change changes a thing as change does, which may be called again, with the thing as it is then. Its error is returned as it
// is, and nothing is changed. It returns the thing as it is then, or [ErrNotFound].
func (s *Shelf[T]) Change(ctx context.Context, place Place, name string, change func(*Item[T]) error) (Item[T], error) {
	for try := 1; ; try++ {
		i, err := s.Get(ctx, place, name)
		if err != nil {
			return i, err
		}
		if err := change(&i); err != nil {
			return i, err
		}
		i, err = s.Put(ctx, i)
		if !errors.Is(err, ErrChanged) || try == tries {
			return i, err
		}
	}
}

// Delete removes a thing, if it is at a version (0: whichever it is at), or returns [ErrNotFound] or [ErrChanged].
func (s *Shelf[T]) Delete(ctx context.Context, place Place, name string, version int64) error {
	return s.rows.DropEntry(ctx, s.key(place, name), version)
}
