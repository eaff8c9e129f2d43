package pintle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// await asks Ready until the operation is done, fails, or its time is over, and completes the answer. It returns
// [ErrWaiting] if the wait is to be handed over.
func (x *resource[P, A]) await(ctx context.Context, r *ReadyRequest[P], w *wait, answer *Answer) error {
	return r.Request.await(ctx, x.waiting, w, answer, func(ctx context.Context) (bool, time.Duration, error) {
		r.State, r.Try = w.State, w.Tries
		progress, err := x.ready.Ready(ctx, r)
		if err != nil {
			return r.Type == Delete && errors.Is(err, Gone), 0, unlessGone(r.Type, err)
		}
		if progress.Reason != "" {
			answer.Reason = progress.Reason
		}
		if progress.Done {
			if r.Type != Delete {
				x.attributes.addTo(answer, reflect.ValueOf(progress.Attributes))
			}
			answer.NoEcho = answer.NoEcho || progress.NoEcho
			return true, 0, nil
		}
		return false, progress.After, w.keepState(progress.State)
	})
}

// unlessGone is the error of an operation: for a Delete, that the resource is gone is none.
func unlessGone(kind RequestType, err error) error {
	if kind == Delete && errors.Is(err, Gone) {
		return nil
	}
	return err
}

// resume goes on with a request that waits.
func (x *resource[P, A]) resume(ctx context.Context, r *Request) (Answer, error) {
	w := r.wait.resumed
	answer := w.answer()
	// They were accepted when the request came.
	properties, err := x.kept(r)
	if err != nil {
		if w.Replaces {
			answer.ID = "" // of which there is nothing to know but that it is not the resource
		}
		return answer, err
	}
	poll := *r
	if w.Replaces {
		poll.Type, poll.ID, poll.OldProperties = Create, "", json.RawMessage("{}")
	}
	create := poll
	if w.ID != "" {
		poll.ID = w.ID
	}
	switch {
	case r.wait.overtaken != nil:
		err = r.wait.overtaken.err()
	case x.ready == nil:
		err = errors.New("the provider has no method Ready any more, which the operation had been begun for")
	default:
		err = x.await(ctx, &ReadyRequest[P]{Request: poll, Properties: properties}, w, &answer)
	}
	if errors.Is(err, ErrWaiting) {
		return answer, err
	}
	if err != nil {
		answer.Reason = "" // which told of progress
	}
	switch {
	case w.Replaces && r.wait.overtaken != nil && r.wait.overtaken.ID == w.ID:
		answer.ID = "" // somebody has answered in our place, and what was made is the resource now
	case w.Replaces:
		var change *immutableChange
		if w.Noted {
			change = x.changeOf(r, properties)
		}
		return x.replaced(ctx, r, &create, properties, change, answer, err)
	case err != nil && r.Type == Create && r.wait.overtaken.leaves(w.ID):
		// Nobody will hear of this ID any more.
		err = x.undo(ctx, &create, properties, w.ID, &answer, err)
	}
	return answer, err
}

// changeOf is the change that the note of a replacement is about, nil if it cannot be told any more.
func (x *resource[P, A]) changeOf(r *Request, properties P) *immutableChange {
	old, _, err := x.former(r)
	if err != nil {
		return nil
	}
	change, err := x.immutableChange(properties, old)
	if err != nil {
		return nil
	}
	return &change
}

// undo deletes what a Create has made that failed, where the service will not ask for it. It returns the error of the
// Create, with what went wrong here.
func (x *resource[P, A]) undo(ctx context.Context, create *Request, properties P, made PhysicalID, answer *Answer, err error) error {
	remove := *create
	remove.Type, remove.ID = Delete, made
	remove.wait = nil // the answer would be lost if this were waited for elsewhere
	if _, undo := x.remove(ctx, &remove, properties); undo != nil {
		create.Log.Error("what an operation that failed had made was not deleted", "physicalId", made, "error", logText(undo))
		if answer.Reason != "" {
			answer.Reason += fmt.Sprintf("; and %s, which it had made, is left behind", made)
		}
		return fmt.Errorf("%w; and %s, which it had made, is left behind: %w", err, made, undo)
	}
	return err
}
