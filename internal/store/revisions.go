package store

import "container/list"

type revisionKey struct {
	stack  StackKey
	number int
}

// RevisionCache keeps the revisions used last. They never change, and every decision reads two or three. Only what is
// committed may be put into it. It is not safe for concurrent use. For implementations of [Store].
type RevisionCache struct {
	limit, size int // bytes
	used        *list.List
	at          map[revisionKey]*list.Element
}

// NewRevisionCache returns a cache of about limit bytes, above 0.
func NewRevisionCache(limit int) *RevisionCache {
	c := &RevisionCache{limit: limit}
	c.Clear()
	return c
}

// Clear forgets everything.
func (c *RevisionCache) Clear() {
	c.size, c.used, c.at = 0, list.New(), make(map[revisionKey]*list.Element)
}

// Get returns a revision, and whether it is there.
func (c *RevisionCache) Get(stack StackKey, number int) (Revision, bool) {
	element := c.at[revisionKey{stack, number}]
	if element == nil {
		return Revision{}, false
	}
	c.used.MoveToFront(element)
	return element.Value.(Revision), true
}

// Put adds a revision, in place of those used longest ago. One that is there already stays.
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

// weight is about how much memory a revision takes: its template, and parameters in proportion.
func weight(r Revision) int { return 4096 + 2*len(r.Template) }
