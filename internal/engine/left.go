package engine

import (
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
)

// Left returns the resources that a stack has left behind, oldest first: orphans, which could not be deleted, and
// retained resources. The field Left of an instance has the reason, and Changed the time. Left omits a resource that
// the stack has deleted since then, or holds again because a provider later answered with the same physical ID.
func (q Queries) Left(ctx context.Context, stack store.Stack) ([]store.Instance, error) {
	instances, err := q.store.Instances(ctx, stack.Key)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(instances, func(a, b store.Instance) int { return a.Changed.Compare(b.Changed) })
	last := map[string]store.Instance{} // the newest instance by provider and ID
	for _, i := range instances {
		key := i.Body.Token.Text() + "\x00" + string(i.PhysicalID)
		if held := last[key].Role; held != store.RoleCurrent && held != store.RoleCondemned {
			last[key] = i
		}
	}
	var left []store.Instance
	for _, i := range instances {
		is := last[i.Body.Token.Text()+"\x00"+string(i.PhysicalID)]
		if (i.Role == store.RoleOrphan || i.Role == store.RoleRetained) && is.Number == i.Number {
			left = append(left, i)
		}
	}
	return left, nil
}
