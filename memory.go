package pintle

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
)

// DefaultMemory is how many entries the memory of a server has that is given none.
const DefaultMemory = 1000

// Memory keeps what a provider must know of requests that it has dealt with: answers, so that a request that is
// delivered again gets the same one without being handled twice, and notes of replacements, of waits and of what came last
// for a resource. [NewMemory] makes one that ends with the process: on Lambda it does its best, since functions start and
// end as they like. One in a database works for all processes of a provider. The values hold attributes in clear, secret ones too, and have at most 8 KiB;
// the keys are hexadecimal digits. What is older than a day is of no use. Its methods are called by many goroutines at
// once. An error of it is logged, and the request goes on as without a memory.
type Memory interface {
	// Get returns the last value that was put under the key, and whether there is one.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	// Put keeps a value. What is there already is replaced.
	Put(ctx context.Context, key string, value []byte) error
}

// NewMemory returns a memory of this process that forgets the entry that was not used for longest when it has more than
// the number given, which must be positive.
func NewMemory(entries int) (Memory, error) {
	if entries < 1 {
		return nil, errors.New("a memory needs room for one entry at least")
	}
	return &lru{most: entries, at: map[string]*list.Element{}}, nil
}

// lru keeps the latest entries at the front.
type lru struct {
	most  int
	mu    sync.Mutex
	order list.List // of *entry
	at    map[string]*list.Element
}

type entry struct {
	key   string
	value []byte
}

func (m *lru) Get(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.at[key]
	if e == nil {
		return nil, false, nil
	}
	m.order.MoveToFront(e)
	return e.Value.(*entry).value, true, nil
}

func (m *lru) Put(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.at[key]; e != nil {
		e.Value.(*entry).value = value
		m.order.MoveToFront(e)
		return nil
	}
	m.at[key] = m.order.PushFront(&entry{key, value})
	if m.order.Len() > m.most {
		last := m.order.Back()
		m.order.Remove(last)
		delete(m.at, last.Value.(*entry).key)
	}
	return nil
}

// memoryKey makes one key of many parts: none can run into the next.
func memoryKey(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}
