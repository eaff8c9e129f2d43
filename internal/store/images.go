package store

import (
	"container/list"
	"slices"
)

// maxImageBytes limits the memory of the images that are kept from one batch to the next. The most recently used image
// is always kept.
const maxImageBytes = 20 << 20

// Resting is an image, or a type that contains one.
type Resting interface {
	// Rest is called at the end of a batch: see [Image.Rest].
	Rest() int
}

// Images caches the images of the stacks that a writer wrote most recently, so that their rows need not be read again.
// An image matches the database as long as every change goes through it: any other writer clears the images, or the
// reader detects its changes by other means. It is not safe for concurrent use. It is for implementations of [Store].
type Images[I Resting] struct {
	byStack map[StackKey]*list.Element // values of type *kept[I]
	order   list.List                  // most recently used first
	used    []*kept[I]                 // in this batch
	bytes   int
	busy    bool // an image was used since the last WereBusy
}

// kept is a cached image.
type kept[I Resting] struct {
	key   StackKey
	image I
	bytes int // size at the end of the last batch that used it
	used  bool
}

// NewImages returns an empty cache.
func NewImages[I Resting]() *Images[I] { return &Images[I]{byStack: make(map[StackKey]*list.Element)} }

// Get returns the image of a stack, and whether it is cached.
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

// Put adds the image of a stack that has none yet.
func (s *Images[I]) Put(key StackKey, image I) {
	k := &kept[I]{key: key, image: image}
	s.byStack[key] = s.order.PushFront(k)
	s.use(k)
}

// Drop removes the image of a stack, if it is cached.
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

// Rest ends a batch: it measures the images that the batch used, and evicts the least recently used images until the
// rest fits maxImageBytes.
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

// WereBusy reports whether an image was used since the last call.
func (s *Images[I]) WereBusy() bool {
	busy := s.busy
	s.busy = false
	return busy
}

// Clear removes all images.
func (s *Images[I]) Clear() { *s = *NewImages[I]() }
