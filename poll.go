package pintle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// await polls until the operation is done, fails, or runs out of time, and completes the answer. It returns
// [ErrInProgress] if the wait is to be handed over.
func (x *resource[P, A]) await(ctx context.Context, r *PollRequest[P], w *wait, answer *Answer) error {
	err := r.Request.await(ctx, x.policy, w, answer, func(ctx context.Context) (bool, time.Duration, error) {
		r.State, r.Try = w.State, w.Tries
		progress, err := x.poller.Poll(ctx, r)
		if err != nil {
			if r.Type == Delete && errors.Is(err, ErrGone) {
				return true, 0, nil
			}
			var verbatim interface{ Verbatim() } // of package cdkprovider, whose functions have no method Poll
			if errors.As(err, &verbatim) {
				return false, 0, err
			}
			return false, 0, fmt.Errorf("Poll after %s: %w", r.Type, err) // the operation itself succeeded
		}
		if progress.Done && w.Reported {
			answer.Reason = "" // it described the progress
		}
		if progress.Reason != "" {
			answer.Reason, w.Reported = progress.Reason, true
		}
		if progress.Done {
			if r.Type != Delete {
				x.attributes.addTo(answer, reflect.ValueOf(progress.Attributes))
				answer.ID = cmp.Or(progress.ID, answer.ID)
			}
			answer.Replaces = answer.Replaces || progress.Replaces
			answer.NoEcho = answer.NoEcho || progress.NoEcho
			hideSecrets(&r.Request, *answer)
			return true, 0, nil
		}
		return false, progress.After, w.keepState(progress.State)
	})
	if err != nil && !errors.Is(err, ErrInProgress) {
		answer.Reason = "" // it described the progress
	}
	return err
}

// resume continues a request that waits.
func (x *resource[P, A]) resume(ctx context.Context, r *Request) (Answer, error) {
	w := r.wait.resumed
	answer := w.answer(r)
	hideSecrets(r, answer)
	// The properties were accepted when the request came.
	properties, err := x.kept(ctx, r)
	if err != nil {
		if w.Replaces {
			answer.ID = "" // the answer keeps the ID of the old resource
		}
		return answer, err
	}
	poll := *r
	if w.Replaces {
		poll.Type, poll.ID, poll.RawOldProperties = Create, "", json.RawMessage("{}")
	}
	create := poll
	if w.ID != "" {
		poll.ID = w.ID
	}
	switch {
	case r.wait.overtaken != nil:
		answer.Reason, err = "", r.wait.overtaken.err()
	case x.poller == nil:
		answer.Reason, err = "", errors.New("the provider has no method Poll any more, which this operation needs")
	default:
		err = x.await(ctx, &PollRequest[P]{Request: poll, Properties: properties}, w, &answer)
	}
	if errors.Is(err, ErrInProgress) {
		return answer, err
	}
	switch {
	case w.Replaces && r.wait.overtaken != nil && r.wait.overtaken.ID == w.ID:
		answer.ID = "" // another process has answered, and the new resource is the current one
	case w.Replaces:
		var change *immutableChange
		if w.Noted {
			change = x.changeOf(ctx, r, properties)
		}
		return x.replaced(ctx, r, &create, properties, change, answer, err)
	case err != nil && r.Type == Create && r.wait.overtaken.leaves(w.ID):
		// No one receives this ID any more.
		err = x.undo(ctx, &create, properties, w.ID, &answer, err)
	}
	return answer, err
}

// changeOf returns the change that the note of a replacement describes, or nil if the properties cannot be read.
func (x *resource[P, A]) changeOf(ctx context.Context, r *Request, properties P) *immutableChange {
	old, _, err := x.former(ctx, r)
	if err != nil {
		return nil
	}
	change, err := x.immutableChange(properties, old)
	if err != nil {
		return nil
	}
	return &change
}

// undo deletes the resource of a failed Create when the service will not ask for its deletion. It returns the error of
// the Create, with any error of the deletion added.
func (x *resource[P, A]) undo(ctx context.Context, create *Request, properties P, made PhysicalID, answer *Answer, err error) error {
	remove := *create
	remove.Type, remove.ID = Delete, made
	remove.wait = nil // a handed-over wait would lose the answer
	if _, undo := x.remove(ctx, &remove, properties); undo != nil {
		create.Log().Error("the resource of a failed operation was not deleted", "physicalId", made, "error", logText(undo))
		if answer.Reason != "" {
			answer.Reason += fmt.Sprintf("; and %s, which it had made, is left behind", made)
		}
		return fmt.Errorf("%w; and %s, which it had made, is left behind: %w", err, made, undo)
	}
	return err
}
