package pintle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
)

// immutableChange is a difference in immutable properties. A nil one is that of a resource that is gone.
type immutableChange struct {
	names       []string
	before, now string // digests of all immutable properties
}

// attempt is the note of an Update that was refused before anything was done, or that began to replace the resource: from
// what to what. By it the rollback of such an Update is known, which looks like any other change. But the resource never
// got what that calls old: to replace it again would throw away a good resource, with all that is in it, for an empty
// one; and what was refused because it cannot be read cannot be read as old properties either.
//
// There is a note for the last Update of a resource at most, since it proves nothing once something else was done.
type attempt struct {
	From, To string `json:",omitempty"` // digests of the immutable properties, if those could be read
	// Was and Is are digests of all properties as they came. A note of earlier versions does not have them.
	Was, Is string `json:",omitempty"`
}

func digest(values map[string]string) string {
	raw, _ := json.Marshal(values) // never fails: strings
	return digestOf(raw)
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// digestProperties is the digest of properties, read or not, without what is the service's. The order of their members
// does not matter.
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

// attemptOf is what an Update attempts, as far as it is known without reading its properties.
func attemptOf(r *Request) attempt {
	return attempt{Was: digestProperties(r.RawOldProperties), Is: digestProperties(r.RawProperties)}
}

// undoes reports whether the Update that attempts this goes back from the one that the note is about.
func (a attempt) undoes(last attempt) bool {
	return last.Was != "" && last.Was == a.Is && last.Is == a.Was ||
		last.From != "" && last.From == a.To && last.To == a.From
}

func attemptKey(r *Request, id PhysicalID) string {
	return storeKey("attempt", string(r.StackID), string(r.LogicalID), string(id))
}

// keepAttempt writes a note down. Without a memory, or when that fails, a rollback is a change like any other.
func keepAttempt(ctx context.Context, r *Request, id PhysicalID, a attempt) {
	if r.store == nil {
		return
	}
	text, _ := json.Marshal(a) // never fails: strings
	ttl := keepNote
	if a == (attempt{}) {
		ttl = keepFor // it only replaces the note before it
	}
	if err := r.store.Put(ctx, attemptKey(r, id), text, ttl); err != nil {
		r.Log().Warn("the store does not take a note of the Update", "error", err)
	}
}

// lastAttempt returns the note that there is, the zero value for none.
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

// forgetAttempt takes back the note that there is, if there is one.
func forgetAttempt(ctx context.Context, r *Request, last attempt) {
	if last != (attempt{}) {
		keepAttempt(ctx, r, r.ID, attempt{})
	}
}

// noteRefused writes down that an Update was refused before anything was done; last is the note of the one before. The
// rollback of a refused Update that is refused itself renews that note instead: the next try of it must find it still.
func noteRefused(ctx context.Context, r *Request, last attempt) {
	this := attemptOf(r)
	if this.undoes(last) {
		this = last
	}
	keepAttempt(context.WithoutCancel(ctx), r, r.ID, this)
}

// refusedCreate is the note of a Create that was refused, with the properties of the request.
func refusedCreate(r *Request) attempt { return attempt{Is: digestProperties(r.RawProperties)} }

// noteRefusedCreate writes that down, for the Delete that [AlwaysDelete] asks for: what could not be read for the Create
// cannot be read for it either. The ID is the one that it has.
func noteRefusedCreate(ctx context.Context, r *Request) {
	keepAttempt(context.WithoutCancel(ctx), r, PhysicalID(r.RequestID), refusedCreate(r))
}

// note writes down that a replacement begins.
func (c *immutableChange) note(ctx context.Context, r *Request) {
	if c == nil {
		return
	}
	a := attemptOf(r)
	a.From, a.To = c.before, c.now
	keepAttempt(ctx, r, r.ID, a)
}

// forget takes the note back.
func (c *immutableChange) forget(ctx context.Context, r *Request) {
	if c != nil {
		keepAttempt(ctx, r, r.ID, attempt{})
	}
}
