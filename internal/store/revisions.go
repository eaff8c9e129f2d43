package store

import "container/list"

type revisionKey struct {
	stack  StackKey
	number int
}

// RevisionCache caches the most recently used revisions. They never change, and every decision reads two or three. Put
// only committed revisions into it. It is not safe for concurrent use. It is for implementations of [Store].
type RevisionCache struct {
	limit, size int // bytes
	used        *list.List
	at          map[revisionKey]*list.Element
}

// NewRevisionCache returns a cache of about limit bytes, which must be positive.
func NewRevisionCache(limit int) *RevisionCache {
	c := &RevisionCache{limit: limit}
	c.Clear()
	return c
}

// Clear empties the cache.
func (c *RevisionCache) Clear() {
	c.size, c.used, c.at = 0, list.New(), make(map[revisionKey]*list.Element)
}

// Get returns a revision, and whether it is cached.
func (c *RevisionCache) Get(stack StackKey, number int) (Revision, bool) {
	element := c.at[revisionKey{stack, number}]
	if element == nil {
		return Revision{}, false
	}
	c.used.MoveToFront(element)
	return element.Value.(Revision), true
}

// Put adds a revision and evicts the least recently used ones. A cached revision stays.
func (c *RevisionCache) Put(r Revision) {
	key := revisionKey{r.Stack, r.Number}
	if c.at[key] != nil {
		return
	}
	c.at[key] = c.used.PushFront(r)
	c.size += weight(r)
	for c.size > c.limit {
		last := c.used.Back()
		r := c.used.Remove(last).(Revision)
		delete(c.at, revisionKey{r.Stack, r.Number})
		c.size -= weight(r)
	}
}

// weight is the approximate memory size of a revision: its template, with an allowance for its parameters.
func weight(r Revision) int { return 4096 + 2*len(r.Template) }
