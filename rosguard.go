package pintle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/wire"
)

// rosGuard wraps a handler and handles the differences in requests of ROS. A Delete or an Update may lack the
// physical ID, because ROS records only the ID of a successful answer. rosGuard stores the ID that a Create made, so
// that a Delete after a failure finds it.
type rosGuard struct{ Handler }

// Handle runs while the resource has its turn, so no other request of the resource changes the stored ID.
func (g rosGuard) Handle(ctx context.Context, r *Request) (Answer, error) {
	if r.Dialect != wire.ROS {
		return g.Handler.Handle(ctx, r)
	}
	switch r.Type {
	case Create:
		answer, err := g.Handler.Handle(ctx, r)
		made := answer.ID
		if made == "" && err != nil && !errors.Is(err, ErrInProgress) {
			made = CreateFailed
		} else if made == "" {
			made = PhysicalID(r.RequestID)
		}
		keepMade(ctx, r, made)
		return answer, err
	case Read:
		if r.ID == "" {
			return Answer{}, errors.New("the Read names no resource")
		}
		return g.Handler.Handle(ctx, r)
	case Plan:
		return g.Handler.Handle(ctx, r)
	case Update, Delete:
	}
	own := *r
	if own.ID == "" {
		own.ID = recallMade(ctx, r)
	}
	if own.ID == "" || own.ID == CreateFailed {
		return withoutID(r, own.ID)
	}
	answer, err := g.Handler.Handle(ctx, &own)
	if answer.ID == "" {
		answer.ID = own.ID
	}
	if r.Type == Delete && r.ID == "" && checkID(answer.ID, wire.MaxROSPhysicalID, nil) != "" {
		answer.ID = CreateFailed // the Create failed because of such an ID
	}
	if r.Type == Delete && (err == nil || errors.Is(err, ErrGone)) {
		keepMade(ctx, r, CreateFailed)
	}
	return answer, err
}

// withoutID answers a request without a physical ID.
func withoutID(r *Request, made PhysicalID) (Answer, error) {
	switch {
	case r.Type == Update:
		return Answer{}, errors.New("the Update names no resource, because its Create had failed: delete the resource, or have ROS make it " +
			"again with ContinueCreateStack or with TaintResources of UpdateStack")
	case made == "":
		r.Log().Warn("nothing to delete: the request names no resource, and this process knows of none; what an earlier one made is left behind")
	default:
		r.Log().Info("nothing to delete, the Create had failed")
	}
	return Answer{ID: CreateFailed}, nil
}

// madeKey returns the store key of the ID that the Create of a resource made.
func madeKey(r *Request) string {
	return storeKey("made", string(r.StackID), string(r.LogicalID))
}

func keepMade(ctx context.Context, r *Request, id PhysicalID) {
	if r.store == nil {
		return
	}
	ttl := keepNote
	if id == CreateFailed {
		ttl = keepFor // there is nothing to delete, with or without the note
	}
	if err := r.store.Put(context.WithoutCancel(ctx), madeKey(r), []byte(id), ttl); err != nil {
		r.Log().Warn("the store cannot record the created resource", "error", err)
	}
}

func recallMade(ctx context.Context, r *Request) PhysicalID {
	if r.store == nil {
		return ""
	}
	id, _, err := r.store.Get(ctx, madeKey(r))
	if err != nil {
		r.Log().Warn("the store cannot be read for the created resource", "error", err)
		return ""
	}
	return PhysicalID(id)
}

// settleROS sets the physical ID of a response to ROS: the ID of the request, which no answer can change.
func settleROS(w wire.Response, r wire.Request, id PhysicalID) wire.Response {
	switch {
	case r.RequestType == Create: // settle has set the ID
	case r.PhysicalResourceID != "":
		if id != "" && id != r.PhysicalResourceID && r.RequestType == Update {
			w = fail(w, fmt.Sprintf("ROS cannot replace a resource in an Update, so an Update must answer with the ID that it was given; "+
				"the handler answered %q to the Update of %q", id, r.PhysicalResourceID))
		}
		w.PhysicalResourceID = r.PhysicalResourceID
	case id != "":
		w.PhysicalResourceID = id
	default:
		w.PhysicalResourceID = CreateFailed // a success must have an ID
	}
	return w
}

// noReplacement is the error of an Update in ROS that changes immutable properties.
func noReplacement(r *Request, names []string) error {
	are := " is"
	if len(names) > 1 {
		are = " are"
	}
	return fmt.Errorf("%s%s immutable, and ROS cannot replace a resource in an Update; nothing was changed. To have the resource deleted and "+
		"created again, update the stack with ReplacementOption=Enabled and TaintResources.1=%s, or give the resource another name in the template",
		strings.Join(names, ", "), are, r.LogicalID)
}

// errOtherID is the error of an Update in ROS that recreated a missing resource under another ID.
func errOtherID(was, is PhysicalID) error {
	return fmt.Errorf("%q does not exist any more, and ROS does not accept %q instead of it in an Update: update the stack with ReplacementOption=Enabled "+
		"and TaintResources, or give the resource another name in the template", was, is)
}

// rosName is [Request.Name] for ROS: at most 200 bytes, since physical IDs have 255, and without the brackets that
// ROS puts into the names of counted resources.
func rosName(stack, logical, sum string) string {
	clean := func(c rune) rune {
		if c == '[' || c == ']' || c == ' ' || c == '/' {
			return '-'
		}
		return c
	}
	const most = 200
	front := strings.Trim(strings.Map(clean, stack+"-"+logical), "-")
	if room := most - len(sum) - 1; len(front) > room {
		front = strings.ToValidUTF8(front[:room], "")
	}
	return front + "-" + sum
}
