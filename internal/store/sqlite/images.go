package sqlite

import (
	"container/list"

	"github.com/pintle-dev/pintle/internal/store"
)

// maxRows bounds the rows in the images that are kept from one batch to the next, which take about 2 kB each. The image of the
// stack used last is kept however large it is.
const maxRows = 16_384

// images are those of the stacks that were written last. The writer is the only one who writes, so what it has read or
// written need not be read again: an image is in step with the database as long as every change goes through it. What
// changes rows otherwise than by a decision clears them, and so does a transaction that fails.
type images struct {
	byStack map[store.StackKey]*list.Element // of *kept
	order   list.List                        // the one used last at the front
	used    []*kept                          // in this batch
	rows    int
	busy    bool // one was used since wereBusy was asked
}

// kept is an image that was used since, or is kept between batches.
type kept struct {
	image *store.Image
	rows  int // when it was put to rest
	used  bool
}

func newImages() *images { return &images{byStack: make(map[store.StackKey]*list.Element)} }

// get returns the image of a stack, nil if there is none.
func (s *images) get(key store.StackKey) *store.Image {
	e := s.byStack[key]
	if e == nil {
		return nil
	}
	s.order.MoveToFront(e)
	k := e.Value.(*kept)
	s.use(k)
	return k.image
}

// put keeps the image of a stack that has none.
func (s *images) put(im *store.Image) {
	k := &kept{image: im}
	s.byStack[im.Stack.Key] = s.order.PushFront(k)
	s.use(k)
}

func (s *images) use(k *kept) {
	s.busy = true
	if !k.used {
		k.used = true
		s.used = append(s.used, k)
	}
}

// rest ends a batch: it counts the rows of the images that were used, and drops those used least lately as long as there
// are too many.
func (s *images) rest() {
	for _, k := range s.used {
		k.used = false
		s.rows -= k.rows
		k.rows = k.image.Rest()
		s.rows += k.rows
	}
	s.used = s.used[:0]
	for s.rows > maxRows && s.order.Len() > 1 {
		e := s.order.Back()
		k := s.order.Remove(e).(*kept)
		delete(s.byStack, k.image.Stack.Key)
		s.rows -= k.rows
	}
}

// wereBusy reports whether any was used since it was called last.
func (s *images) wereBusy() bool {
	busy := s.busy
	s.busy = false
	return busy
}

// clear drops all of them.
func (s *images) clear() { *s = *newImages() }
