package pintle

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
)

// IdempotencyStore records earlier requests of a provider. It holds answers, so that a request that is delivered
// again gets the same answer and is not handled twice. It also holds notes about replacements, waits and the last
// request of each resource. [NewMemoryStore] keeps them in the process. On Lambda that covers most duplicates, but
// functions start and end at any time. A store in a database, such as that of package waiter, works for all processes
// of a provider.
//
// Values contain attributes in clear text, including secret ones, and have at most 8 KiB. Keys are hexadecimal
// digits. The methods must be safe for concurrent use. If one returns an error, the server logs it and handles the
// request as if there were no store.
type IdempotencyStore interface {
	// Get returns the value of a key, and whether it exists. An expired value does not exist.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Put sets the value of a key. ttl is its time to live: minutes to a day for answers, a year for notes about
	// resources.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

const (
	// keepFor is the time to live of answers and of notes about requests.
	keepFor = 24 * time.Hour
	// keepNote is the time to live of a note about a resource. The stack may stay in a failed state for months before
	// its rollback continues or it is deleted. Without the note, the rollback of an Update would replace a good
	// resource.
	keepNote = 365 * 24 * time.Hour
	// keepFailure is the time to live of a failed answer. The service has been seen to reuse a request ID for an
	// operation that it repeats after a failure. Duplicates of a delivery arrive sooner.
	keepFailure = 5 * time.Minute
	// defaultEntries is the size of the store of a server without a configured store.
	defaultEntries = 1000
)

// NewMemoryStore returns a store in this process. When it holds more than the given number of entries, it evicts the
// least recently used one. Zero means 1,000; a negative number is an error.
func NewMemoryStore(entries int) (IdempotencyStore, error) {
	if entries < 0 {
		return nil, fmt.Errorf("a store cannot hold %d entries", entries)
	}
	return newMemoryStore(entries, clock.System{}), nil
}

func newMemoryStore(entries int, c clock.Clock) *lru {
	if entries == 0 {
		entries = defaultEntries
	}
	return &lru{most: entries, clock: c, at: map[string]*list.Element{}}
}

// lru keeps the most recently used entries at the front.
type lru struct {
	most  int
	clock clock.Clock
	mu    sync.Mutex
	order list.List // of *entry
	at    map[string]*list.Element
}

type entry struct {
	key     string
	value   []byte
	expires time.Time
}

func (m *lru) Get(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.at[key]
	if e == nil {
		return nil, false, nil
	}
	if !m.clock.Now().Before(e.Value.(*entry).expires) {
		m.remove(e)
		return nil, false, nil
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry).value, true, nil
}

func (m *lru) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.at[key]; e != nil {
		m.remove(e)
	}
	m.at[key] = m.order.PushFront(&entry{key, value, m.clock.Now().Add(ttl)})
	if m.order.Len() > m.most {
		m.remove(m.order.Back())
	}
	return nil
}

func (m *lru) remove(e *list.Element) {
	m.order.Remove(e)
	delete(m.at, e.Value.(*entry).key)
}

// storeKey hashes parts into one key. The separator keeps the parts distinct.
func storeKey(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}
