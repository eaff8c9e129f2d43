package pintle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/suggest"
)

// For returns h as the handler of one resource type. Programs with several types use it:
//
//	pintle.Main(
//		pintle.For("Custom::Site", pintle.New(site{})),
//		pintle.For("Custom::Certificate", pintle.New(certificate{})),
//	)
//
// A request of another type goes to the handler without For. If no such handler exists, the request fails with a reason
// that lists the known types.
func For(resourceType string, h Handler) Handler { return &named{resourceType, h} }

type named struct {
	resourceType string
	Handler
}

func (n *named) unwrap() Handler { return n.Handler }

// AlwaysDelete returns h as a handler that gets a Delete after every failed Create, even if the Create reported that it
// made nothing. The Delete has the ID from the answer, or else the ID of the request.
func AlwaysDelete(h Handler) Handler { return &alwaysDelete{h} }

type alwaysDelete struct{ Handler }

func (a *alwaysDelete) Handle(ctx context.Context, r *Request) (Answer, error) {
	answer, err := a.Handler.Handle(ctx, r)
	if err != nil && answer.ID == "" && r.Type == Create {
		answer.ID = PhysicalID(r.RequestID)
	}
	return answer, err
}

func (a *alwaysDelete) unwrap() Handler { return a.Handler }

// wrapper is a handler that wraps another.
type wrapper interface{ unwrap() Handler }

// router passes each request to the handler of its type.
type router struct {
	types map[string]Handler
	rest  Handler // nil: no default handler
}

func newRouter(handlers []Handler) (*router, error) {
	r := &router{types: map[string]Handler{}}
	if len(handlers) == 0 {
		return nil, errors.New("provider has no handler")
	}
	for _, h := range handlers {
		if h == nil {
			return nil, errors.New("provider has no handler: one is nil")
		}
		resourceType := ""
		for inner := h; inner != nil; {
			if n, ok := inner.(*named); ok {
				resourceType = n.resourceType
				if n.Handler == nil {
					return nil, fmt.Errorf("the handler for %s is nil", resourceType)
				}
			}
			w, ok := inner.(wrapper)
			if !ok {
				break
			}
			inner = w.unwrap()
		}
		switch {
		case resourceType == "" && r.rest != nil:
			return nil, errors.New("two handlers are for all resource types: say with For which type each is for")
		case resourceType == "":
			r.rest = h
		case r.types[resourceType] != nil:
			return nil, fmt.Errorf("two handlers are for %s", resourceType)
		default:
			r.types[resourceType] = h
		}
	}
	return r, nil
}

func (t *router) Handle(ctx context.Context, r *Request) (Answer, error) {
	h := t.types[r.ResourceType]
	if h == nil {
		h = t.rest
	}
	if h != nil && r.Type == Read && !reads(h) {
		return Answer{}, errNoRead
	}
	if h != nil && r.Type == Plan && !plans(h) {
		return Answer{}, errNoPlan
	}
	if h != nil {
		return h.Handle(ctx, r)
	}
	types := slices.Sorted(maps.Keys(t.types))
	hint := ""
	if near := suggest.Name(r.ResourceType, types); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return Answer{}, fmt.Errorf("this provider has no resource type %.100q, it has %s%s", r.ResourceType, strings.Join(types, ", "), hint)
}
