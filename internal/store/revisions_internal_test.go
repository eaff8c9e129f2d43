package store

import (
	"strings"
	"testing"
)

func TestRevisionCache(t *testing.T) {
	c := NewRevisionCache(3 * weight(Revision{Template: "t"}))
	for number := 1; number <= 3; number++ {
		c.Put(Revision{Stack: 1, Number: number, Template: "t"})
	}
	c.Get(1, 1) // revision 2 is now the least recently used
	c.Put(Revision{Stack: 1, Number: 4, Template: "t"})
	c.Put(Revision{Stack: 1, Number: 4, Template: "again"})
	for number, want := range map[int]bool{1: true, 2: false, 3: true, 4: true} {
		if r, ok := c.Get(1, number); ok != want || ok && (r.Number != number || r.Template != "t") {
			t.Errorf("revision %d: there %v, want %v: %+v", number, ok, want, r)
		}
	}
	c.Put(Revision{Stack: 2, Number: 1, Template: strings.Repeat("t", 1<<20)})
	if len(c.at) != 0 || c.used.Len() != 0 || c.size != 0 {
		t.Errorf("a revision larger than the cache leaves %d behind, %d bytes", len(c.at), c.size)
	}
}
