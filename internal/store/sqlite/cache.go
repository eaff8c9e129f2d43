package sqlite

import (
	"container/list"

	"github.com/pintle-dev/pintle/internal/store"
)

// maxCachedBytes bounds the templates that the writer keeps.
const maxCachedBytes = 32 << 20

type revisionKey struct {
	stack  store.StackKey
	number int
}

// revisionCache keeps the revisions used last. They never change, and every decision reads two or three. It is not
// safe for concurrent use.
type revisionCache struct {
	limit, size int // bytes
	used        *list.List
	at          map[revisionKey]*list.Element
}

func newRevisionCache(limit int) *revisionCache {
	c := &revisionCache{limit: limit}
	c.clear()
	return c
}

func (c *revisionCache) clear() {
	c.size, c.used, c.at = 0, list.New(), make(map[revisionKey]*list.Element)
}

func (c *revisionCache) get(key revisionKey) (store.Revision, bool) {
	element := c.at[key]
	if element == nil {
		return store.Revision{}, false
	}
	c.used.MoveToFront(element)
	return element.Value.(store.Revision), true
}

// put adds a revision that is not there.
func (c *revisionCache) put(r store.Revision) {
	c.at[revisionKey{r.Stack, r.Number}] = c.used.PushFront(r)
	c.size += weight(r)
	for c.size > c.limit {
		last := c.used.Back()
		r := c.used.Remove(last).(store.Revision)
		delete(c.at, revisionKey{r.Stack, r.Number})
		c.size -= weight(r)
	}
}

// weight is about how much memory a revision takes: its template, and parameters in proportion.
func weight(r store.Revision) int { return 4096 + 2*len(r.Template) }
