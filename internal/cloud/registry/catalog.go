// Package registry holds the rows of all emulated resources: functions, topics, state machines, buckets, and records
// of resources that are not emulated. It is kept in the store, so it is the same for all nodes and survives kill -9;
// secrets in it are sealed there.
//
// A [Collection] has the resources of one kind. A resource is changed from the version that was read, so that two changes at
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

// Scope is the account and region of a resource.
type Scope struct {
	Account string
	Region  string
}

// ScopeOf returns the scope of the resources of a caller.
func ScopeOf(c api.Caller) Scope { return Scope{Account: c.Account, Region: c.Region} }

// Global is the scope of resources whose names are globally unique, such as buckets.
var Global = Scope{Account: "-", Region: "-"}

// Item is a thing and who has made it.
type Item[T any] struct {
	Scope
	Name string
	// Owner is who created it: a resource of a stack, see [OwnerOf], or "" for a client.
	Owner string
	// Version counts from 1; 0 is one that is new.
	Version int64
	Of      T
}

// OwnerOf names a resource of a stack and the request that has created it, so that one which is served twice knows what it has
// made.
func OwnerOf(stack wire.StackID, logical wire.LogicalID, created wire.RequestID) string {
	return string(stack) + "|" + string(logical) + "|" + string(created)
}

// ResourceOf returns the resource in an owner that [OwnerOf] made. For other owners, logical is empty.
func ResourceOf(owner string) (stack wire.StackID, logical wire.LogicalID) {
	id, rest, _ := strings.Cut(owner, "|")
	name, _, _ := strings.Cut(rest, "|")
	return wire.StackID(id), wire.LogicalID(name)
}

// SystemTags begin the names of tags that only AWS itself sets.
const SystemTags = "aws:"

// TagsOf returns the tags of a thing together with those that CloudFormation puts on what its stacks make: the name and the ARN of the
// stack, and the logical ID. A holder that is not a resource of a stack adds none. The result is nil if there are no tags.
func TagsOf(holder string, tags map[string]string) map[string]string {
	stack, logical := ResourceOf(holder)
	arn, err := wire.ParseStackARN(stack)
	if err != nil || logical == "" {
		return tags
	}
	all := map[string]string{
		SystemTags + "cloudformation:stack-name": arn.Name, SystemTags + "cloudformation:stack-id": string(stack),
		SystemTags + "cloudformation:logical-id": string(logical),
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
	Functions     *Collection[Function]
	Layers        *Collection[Layer]
	EventConfigs  *Collection[EventConfig]
	Topics        *Collection[Topic]
	Subscriptions *Collection[Subscription]
	Machines      *Collection[Machine]
	Groups        *Collection[LogGroup]
	// Rules are [Global], so that one list has all that may be due. See [RuleName].
	Rules   *Collection[Rule]
	Targets *Collection[Target]
	// Buckets are [Global].
	Buckets *Collection[Bucket]
	Records *Collection[Record]
	Secrets *Collection[Secret]
	// Tags are those of things that are not of this catalog, by their kind, a slash and their name.
	Tags *Collection[Tags]
	// Keys are those of this cloud itself, by what they are for; [Global].
	Keys *Collection[Key]
}

// New returns the catalog that has these rows.
func New(rows Rows) *Catalog {
	return &Catalog{
		Functions: &Collection[Function]{rows, "function"}, Layers: &Collection[Layer]{rows, "layer"},
		EventConfigs: &Collection[EventConfig]{rows, "eventconfig"},
		Topics:       &Collection[Topic]{rows, "topic"}, Subscriptions: &Collection[Subscription]{rows, "subscription"},
		Machines: &Collection[Machine]{rows, "machine"}, Groups: &Collection[LogGroup]{rows, "loggroup"},
		Rules: &Collection[Rule]{rows, "rule"}, Targets: &Collection[Target]{rows, "target"},
		Buckets: &Collection[Bucket]{rows, "bucket"}, Records: &Collection[Record]{rows, "record"},
		Secrets: &Collection[Secret]{rows, "secret"}, Tags: &Collection[Tags]{rows, "tags"}, Keys: &Collection[Key]{rows, "key"},
	}
}

// Collection has the resources of one kind.
type Collection[T any] struct {
	rows Rows
	kind string
}

func (s *Collection[T]) key(place Scope, name string) store.EntryKey {
	return store.EntryKey{Account: place.Account, Region: place.Region, Kind: s.kind, Name: name}
}

func (s *Collection[T]) item(e store.Entry) (Item[T], error) {
	i := Item[T]{Scope: Scope{e.Account, e.Region}, Name: e.Name, Owner: e.Holder, Version: e.Version}
	if err := json.Unmarshal(e.Definition, &i.Of); err != nil {
		return i, fmt.Errorf("decode %s %s: %w", s.kind, e.Name, err)
	}
	return i, nil
}

// Get returns a thing, or [ErrNotFound].
func (s *Collection[T]) Get(ctx context.Context, place Scope, name string) (Item[T], error) {
	e, err := s.rows.Entry(ctx, s.key(place, name))
	if err != nil {
		return Item[T]{}, err
	}
	return s.item(e)
}

// List returns up to limit things of a place, by name, after one of them (empty: from the first).
func (s *Collection[T]) List(ctx context.Context, place Scope, after string, limit int) ([]Item[T], error) {
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
func (s *Collection[T]) Put(ctx context.Context, i Item[T]) (Item[T], error) {
	text, err := json.Marshal(i.Of)
	if err != nil {
		return i, fmt.Errorf("encode %s %s: %w", s.kind, i.Name, err)
	}
	i.Version, err = s.rows.PutEntry(ctx, store.Entry{
		EntryKey: s.key(i.Scope, i.Name), Version: i.Version, Holder: i.Owner, Definition: text,
	})
	return i, err
}

// tries is how often a change is tried whose thing was changed meanwhile.
const tries = 10

// Change changes a thing as change does, which may be called again, with the thing as it is then. Its error is returned as it
// is, and nothing is changed. It returns the thing as it is then, or [ErrNotFound].
func (s *Collection[T]) Change(ctx context.Context, place Scope, name string, change func(*Item[T]) error) (Item[T], error) {
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
func (s *Collection[T]) Delete(ctx context.Context, place Scope, name string, version int64) error {
	return s.rows.DropEntry(ctx, s.key(place, name), version)
}
