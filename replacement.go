package pintle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
)

// immutableChange is a difference in immutable properties. It is nil for the replacement of a resource that no longer
// exists.
type immutableChange struct {
	names       []string
	before, now string // digests of all immutable properties
}

// attempt is the note of an Update that was refused before it changed anything, or that began to replace the
// resource. It records the properties before and after. With it, the package recognizes the rollback of such an
// Update, which otherwise looks like any other change. But the resource never got the properties that the rollback
// calls old. Replacing it again would discard a good resource and its data for an empty one. And properties that were
// refused because they cannot be read cannot be read as old properties either.
//
// A resource has at most one note, about its last Update: any later operation invalidates the note.
type attempt struct {
	From, To string `json:",omitempty"` // digests of the immutable properties, if they could be read
	// Was and Is are digests of all raw properties. Notes of earlier versions do not have them.
	Was, Is string `json:",omitempty"`
}

func digest(values map[string]string) string {
	raw, _ := json.Marshal(values) // never fails: strings only
	return digestOf(raw)
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// digestProperties returns the digest of raw properties without ServiceToken and ServiceTimeout. The order of their
// members does not matter.
func digestProperties(raw json.RawMessage) string {
	object, err := parseProperties(raw, &shape{})
	if err != nil {
		return digestOf(raw)
	}
	text, err := clearjson.Encode(object)
	if err != nil {
		return digestOf(raw)
	}
	return digestOf(text)
}

// attemptOf returns the attempt of an Update, as far as it is known without decoding its properties.
func attemptOf(r *Request) attempt {
	return attempt{Was: digestProperties(r.RawOldProperties), Is: digestProperties(r.RawProperties)}
}

// undoes reports whether this attempt reverses the last one.
func (a attempt) undoes(last attempt) bool {
	return last.Was != "" && last.Was == a.Is && last.Is == a.Was ||
		last.From != "" && last.From == a.To && last.To == a.From
}

func attemptKey(r *Request, id PhysicalID) string {
	return storeKey("attempt", string(r.StackID), string(r.LogicalID), string(id))
}

// keepAttempt stores a note. Without a store, or if storing fails, a rollback is treated like any other change.
func keepAttempt(ctx context.Context, r *Request, id PhysicalID, a attempt) {
	if r.store == nil {
		return
	}
	text, _ := json.Marshal(a) // never fails: strings only
	ttl := keepNote
	if a == (attempt{}) {
		ttl = keepFor // it only replaces the previous note
	}
	if err := r.store.Put(ctx, attemptKey(r, id), text, ttl); err != nil {
		r.Log().Warn("the store does not take a note of the Update", "error", err)
	}
}

// lastAttempt returns the stored note, or the zero value.
func lastAttempt(ctx context.Context, r *Request) (a attempt) {
	if r.store == nil {
		return attempt{}
	}
	text, ok, err := r.store.Get(ctx, attemptKey(r, r.ID))
	if err != nil {
		r.Log().Warn("the store cannot be read for an earlier Update", "error", err)
	}
	if !ok || err != nil || json.Unmarshal(text, &a) != nil {
		return attempt{}
	}
	return a
}

// forgetAttempt removes the stored note, if any.
func forgetAttempt(ctx context.Context, r *Request, last attempt) {
	if last != (attempt{}) {
		keepAttempt(ctx, r, r.ID, attempt{})
	}
}

// noteRefused records that an Update was refused before it changed anything; last is the note of the previous one. If
// the refused Update is itself a rollback, noteRefused renews the previous note, because the next attempt of the
// rollback needs it.
func noteRefused(ctx context.Context, r *Request, last attempt) {
	this := attemptOf(r)
	if this.undoes(last) {
		this = last
	}
	keepAttempt(context.WithoutCancel(ctx), r, r.ID, this)
}

// refusedCreate returns the note of a refused Create, with the properties of the request.
func refusedCreate(r *Request) attempt { return attempt{Is: digestProperties(r.RawProperties)} }

// noteRefusedCreate records a refused Create for the Delete that [AlwaysDelete] requests. If the Create could not read
// the properties, the Delete cannot read them either. The note has the ID that the Delete will have.
func noteRefusedCreate(ctx context.Context, r *Request) {
	keepAttempt(context.WithoutCancel(ctx), r, PhysicalID(r.RequestID), refusedCreate(r))
}

// note records that a replacement begins.
func (c *immutableChange) note(ctx context.Context, r *Request) {
	if c == nil {
		return
	}
	a := attemptOf(r)
	a.From, a.To = c.before, c.now
	keepAttempt(ctx, r, r.ID, a)
}

// forget removes the note.
func (c *immutableChange) forget(ctx context.Context, r *Request) {
	if c != nil {
		keepAttempt(ctx, r, r.ID, attempt{})
	}
}
