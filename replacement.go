package pintle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// immutableChange is a difference in immutable properties. A nil one is that of a resource that is gone.
//
// The two digests tell apart two Updates which look alike: one that shall replace a resource, and the rollback of a
// replacement that failed. In both the immutable properties differ, but in the second the resource never got those that
// the request calls old. To replace it again would throw away a good resource, with all that is in it, for an empty one.
type immutableChange struct {
	names       []string
	before, now string // digests of all immutable properties
}

// attempt is the note of a replacement: from which properties to which.
type attempt struct{ From, To string }

func digest(values map[string]string) string {
	raw, _ := json.Marshal(values) // never fails: strings
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func attemptKey(r *Request) string {
	return memoryKey("attempt", string(r.StackID), string(r.LogicalID), string(r.ID))
}

// note writes down that a replacement begins. Without a memory, or when that fails, the rollback of a failed replacement
// is another replacement.
func (c *immutableChange) note(ctx context.Context, r *Request) {
	if c == nil || r.memory == nil {
		return
	}
	text, _ := json.Marshal(attempt{c.before, c.now}) // never fails: strings
	if err := r.memory.Put(ctx, attemptKey(r), text); err != nil {
		r.Log.Warn("the memory does not take a note of the replacement", "error", err)
	}
}

// forget takes the note back.
func (c *immutableChange) forget(ctx context.Context, r *Request) {
	if c == nil || r.memory == nil {
		return
	}
	if err := r.memory.Put(ctx, attemptKey(r), []byte("{}")); err != nil {
		r.Log.Warn("the memory does not forget the replacement", "error", err)
	}
}

// neverTook reports whether the request undoes a replacement that failed.
func (c *immutableChange) neverTook(ctx context.Context, r *Request) bool {
	if r.memory == nil {
		return false
	}
	text, ok, err := r.memory.Get(ctx, attemptKey(r))
	if err != nil {
		r.Log.Warn("the memory cannot be asked for an earlier replacement", "error", err)
	}
	var a attempt
	return ok && err == nil && json.Unmarshal(text, &a) == nil && a == attempt{From: c.now, To: c.before}
}
