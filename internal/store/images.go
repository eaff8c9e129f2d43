package store

import (
	"container/list"
	"slices"
)

// maxImageBytes bounds the memory of the images that are kept from one batch to the next. The image of the stack used last is
// kept however large it is.
const maxImageBytes = 20 << 20

// Resting is an image, or what has one in it.
type Resting interface {
	// Rest is called at the end of a batch: see [Image.Rest].
	Rest() int
}

// Images are those of the stacks that a writer wrote last, so that what it has read or written need not be read again. An
// image is in step with the database as long as every change goes through it: who changes rows otherwise clears them or knows
// them by something else. It is not safe for concurrent use. For implementations of [Store].
type Images[I Resting] struct {
	byStack map[StackKey]*list.Element // of *kept[I]
	order   list.List                  // the one used last at the front
	used    []*kept[I]                 // in this batch
	bytes   int
	busy    bool // one was used since WereBusy was asked
}

// kept is an image that was used since, or is kept between batches.
type kept[I Resting] struct {
	key   StackKey
	image I
	bytes int // when it was put to rest
	used  bool
}

// NewImages returns an empty set.
func NewImages[I Resting]() *Images[I] { return &Images[I]{byStack: make(map[StackKey]*list.Element)} }

// Get returns the image of a stack, and whether there is one.
func (s *Images[I]) Get(key StackKey) (image I, ok bool) {
	e := s.byStack[key]
	if e == nil {
		return image, false
	}
	s.order.MoveToFront(e)
	k := e.Value.(*kept[I])
	s.use(k)
	return k.image, true
}

// Put keeps the image of a stack that has none.
func (s *Images[I]) Put(key StackKey, image I) {
	k := &kept[I]{key: key, image: image}
	s.byStack[key] = s.order.PushFront(k)
	s.use(k)
}

// Drop drops the image of a stack, if there is one.
func (s *Images[I]) Drop(key StackKey) {
	e := s.byStack[key]
	if e == nil {
		return
	}
	k := s.order.Remove(e).(*kept[I])
	delete(s.byStack, key)
	s.bytes -= k.bytes
	s.used = slices.DeleteFunc(s.used, func(other *kept[I]) bool { return other == k })
}

func (s *Images[I]) use(k *kept[I]) {
	s.busy = true
	if !k.used {
		k.used = true
		s.used = append(s.used, k)
	}
}

// Rest ends a batch: it weighs the images that were used, and drops those used least lately as long as they are too
// much together.
func (s *Images[I]) Rest() {
	for _, k := range s.used {
		k.used = false
		s.bytes -= k.bytes
		k.bytes = k.image.Rest()
		s.bytes += k.bytes
	}
	s.used = s.used[:0]
	for s.bytes > maxImageBytes && s.order.Len() > 1 {
		e := s.order.Back()
		k := s.order.Remove(e).(*kept[I])
		delete(s.byStack, k.key)
		s.bytes -= k.bytes
	}
}

// WereBusy reports whether any was used since it was called last.
func (s *Images[I]) WereBusy() bool {
	busy := s.busy
	s.busy = false
	return busy
}

// Clear drops all of them.
func (s *Images[I]) Clear() { *s = *NewImages[I]() }
