// Package registry holds the rows of all emulated resources: functions, topics, state machines, buckets, and records
// of resources that are not emulated. It is kept in the store, so it is the same for all nodes and survives kill -9;
// secrets in it are sealed there.
//
// A [Collection] holds the resources of one kind. Updates use optimistic concurrency: an update names the version
// that was read, so concurrent updates do not overwrite each other.
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

// Errors for callers to check.
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

// Item is a resource with its scope, name and owner.
type Item[T any] struct {
	Scope
	Name string
	// Owner is the creator: a stack resource, see [OwnerOf], or "" for a client.
	Owner string
	// Version counts from 1. It is 0 for a new item.
	Version int64
	Of      T
}

// OwnerOf identifies a stack resource and the request that created it. If the request is served twice, the handler
// can find the item that it created.
func OwnerOf(stack wire.StackID, logical wire.LogicalID, created wire.RequestID) string {
	return string(stack) + "|" + string(logical) + "|" + string(created)
}

// ResourceOf returns the stack resource in an owner from [OwnerOf]. For other owners, logical is empty.
func ResourceOf(owner string) (stack wire.StackID, logical wire.LogicalID) {
	id, rest, _ := strings.Cut(owner, "|")
	name, _, _ := strings.Cut(rest, "|")
	return wire.StackID(id), wire.LogicalID(name)
}

// SystemTags is the prefix of tags that only AWS sets.
const SystemTags = "aws:"

// TagsOf returns tags together with those that CloudFormation sets on resources of a stack: the name and the ARN of
// the stack, and the logical ID. If the holder is not a stack resource, TagsOf adds none. The result is nil without
// tags.
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

// Rows is the part of a [store.Store] that the catalog needs.
type Rows interface {
	Entry(ctx context.Context, key store.EntryKey) (store.Entry, error)
	Entries(ctx context.Context, after store.EntryKey, limit int) ([]store.Entry, error)
	PutEntry(ctx context.Context, entry store.Entry) (version int64, err error)
	DropEntry(ctx context.Context, key store.EntryKey, version int64) error
}

// Catalog holds all collections. It is safe for concurrent use.
type Catalog struct {
	Functions     *Collection[Function]
	Layers        *Collection[Layer]
	EventConfigs  *Collection[EventConfig]
	Topics        *Collection[Topic]
	Subscriptions *Collection[Subscription]
	Machines      *Collection[Machine]
	Groups        *Collection[LogGroup]
	// Rules are [Global], so that one list contains all rules that may be due. See [RuleName].
	Rules   *Collection[Rule]
	Targets *Collection[Target]
	// Buckets are [Global].
	Buckets *Collection[Bucket]
	Records *Collection[Record]
	Secrets *Collection[Secret]
	// Tags are the tags of resources outside this catalog, by their kind, a slash and their name.
	Tags *Collection[Tags]
	// Forwarded are the stacks at other endpoints that hold forwarded resources, and the physical IDs of those resources.
	// See [ForwardedStack] and [ForwardedID].
	Forwarded *Collection[Forwarded]
	// Keys are the keys of the stand-ins themselves, by purpose. They are [Global].
	Keys *Collection[Key]
}

// New returns the catalog stored in rows.
func New(rows Rows) *Catalog {
	return &Catalog{
		Functions: &Collection[Function]{rows, "function"}, Layers: &Collection[Layer]{rows, "layer"},
		EventConfigs: &Collection[EventConfig]{rows, "eventconfig"},
		Topics:       &Collection[Topic]{rows, "topic"}, Subscriptions: &Collection[Subscription]{rows, "subscription"},
		Machines: &Collection[Machine]{rows, "machine"}, Groups: &Collection[LogGroup]{rows, "loggroup"},
		Rules: &Collection[Rule]{rows, "rule"}, Targets: &Collection[Target]{rows, "target"},
		Buckets: &Collection[Bucket]{rows, "bucket"}, Records: &Collection[Record]{rows, "record"},
		Secrets: &Collection[Secret]{rows, "secret"}, Tags: &Collection[Tags]{rows, "tags"}, Keys: &Collection[Key]{rows, "key"},
		Forwarded: &Collection[Forwarded]{rows, "forwarded"},
	}
}

// Collection holds the resources of one kind.
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

// Get returns an item, or [ErrNotFound].
func (s *Collection[T]) Get(ctx context.Context, place Scope, name string) (Item[T], error) {
	e, err := s.rows.Entry(ctx, s.key(place, name))
	if err != nil {
		return Item[T]{}, err
	}
	return s.item(e)
}

// List returns up to limit items of a scope, sorted by name. It starts after a name, or with the first if after is
// empty.
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

// Put adds an item whose version is 0, or returns [ErrExists]. With another version, it replaces that version, or
// returns [ErrChanged] or [ErrNotFound]. It returns the stored item.
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

// tries is how often a change is tried if the item changes concurrently.
const tries = 10

// Change applies change to an item and returns the stored item, or [ErrNotFound]. It calls change again, with the
// current item, after a concurrent change. If change returns an error, Change returns that error and changes nothing.
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

// Delete removes an item with a version, or with any version if version is 0. It returns [ErrNotFound] or
// [ErrChanged].
func (s *Collection[T]) Delete(ctx context.Context, place Scope, name string, version int64) error {
	return s.rows.DropEntry(ctx, s.key(place, name), version)
}
