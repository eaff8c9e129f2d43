package store

import "github.com/pintle-dev/pintle/internal/language/value"

// size returns the approximate memory size of a body, in bytes, counting only the parts that can be large. It is 0 for
// nil.
func (p *StepPlan) size() int {
	if p == nil {
		return 0
	}
	return len(p.Old) + len(p.New) + len(p.Tried)
}

func (b *InstanceBody) size() int {
	if b == nil {
		return 0
	}
	return sizeOf(b.Properties) + sizeOf(b.Attempted) + sizeOf(b.Data) + sizeOf(b.Metadata) + sizeOf(b.FormerData)
}

func (b *RequestBody) size() int {
	if b == nil {
		return 0
	}
	return sizeOf(b.Properties) + sizeOf(b.OldProperties) + sizeOf(b.Pending)
}

func sizeOf(v value.Value) int {
	const one = 48 // a value without the text and items that it refers to
	size := len(v.Text())
	for _, item := range v.Items() {
		size += one + sizeOf(item)
	}
	for _, member := range v.Members() {
		size += one + len(member.Key) + sizeOf(member.Value)
	}
	return size
}
