package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// TestImagesBound caches stacks that each have little data, or one large row, and checks the limit of the cache in
// bytes.
func TestImagesBound(t *testing.T) {
	large := value.Str(strings.Repeat("x", 1<<20))
	for name, c := range map[string]struct {
		delta Delta
		most  int // number of cached images
	}{
		"bare":      {Delta{}, maxImageBytes / (8 << 10)},
		"instances": {Delta{Instances: []Instance{{Number: 1, Logical: "A", Body: &InstanceBody{Properties: large}}}}, maxImageBytes >> 20},
		"requests":  {Delta{Requests: []Request{{ID: "r", Logical: "A", Body: &RequestBody{Pending: large}}}}, maxImageBytes >> 20},
		"settled":   {Delta{Requests: []Request{{ID: "r", Logical: "A", State: RequestSettled, Body: &RequestBody{Pending: large}}}}, maxImageBytes / (8 << 10)},
		"steps":     {Delta{Steps: []Step{{Logical: "A", Plan: &StepPlan{New: []byte(large.Text())}}}}, maxImageBytes >> 20},
	} {
		t.Run(name, func(t *testing.T) {
			images := NewImages[*Image]()
			for key := range StackKey(5000) {
				im := NewImage()
				im.Take(&c.delta)
				images.Put(key+1, im)
				images.Rest()
			}
			if kept := len(images.byStack); kept > c.most || kept < c.most/2 {
				t.Errorf("%d images are kept, want about %d", kept, c.most)
			}
		})
	}
}

// TestImageSize changes an image in every way, and compares its size with that of a new image with the same
// contents.
func TestImageSize(t *testing.T) {
	text := func(n int) value.Value { return value.Str(strings.Repeat("x", n)) }
	im := NewImage()
	for n := 1; n <= 3; n++ {
		logical := wire.LogicalID(fmt.Sprint("A", n%2))
		im.Take(&Delta{
			DropSteps: n == 3,
			Steps:     []Step{{Logical: logical, Plan: &StepPlan{New: []byte(text(1000 * n).Text())}}},
			Instances: []Instance{{Number: 1, Logical: logical, Body: &InstanceBody{Data: text(100 * n)}}, {Number: n, Logical: logical, Body: &InstanceBody{}}},
			Requests:  []Request{{ID: "r", Logical: "A1", Body: &RequestBody{Properties: text(10 * n)}}, {ID: "s", Logical: "A1", State: RequestSettled, Body: &RequestBody{Pending: text(7)}}},
		})
		im.Take(&Delta{Requests: []Request{{ID: "r", Logical: "A1"}}, Instances: []Instance{{Number: 2, Logical: logical, Body: &InstanceBody{Data: text(5)}}}})
		im.Rest()
	}
	again := NewImage()
	for _, row := range im.steps {
		again.LoadStep(row)
	}
	for _, row := range im.instances {
		again.LoadInstance(row)
	}
	for _, row := range im.requests {
		again.LoadRequest(row)
	}
	if got, want := im.Rest(), again.Rest(); got != want || im.size == 0 {
		t.Errorf("it weighs %d, and as it is %d", got, want)
	}
}
