package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

const (
	streamType = "text/event-stream"
	// heartbeat is how often a stream says something, so that its bars grow and a connection that broke is found out.
	heartbeat = 5 * time.Second
	// streamWrite bounds the writing of one event.
	streamWrite = 10 * time.Second
	// streamTime is how long a stream lasts; a browser then opens another one, if its session still stands.
	streamTime = 30 * time.Minute
)

// state is what a stream tells of an operation.
type state struct {
	Status  string `json:"status"`
	Running int    `json:"running"`
	// Version counts what has happened to it.
	Version int64 `json:"version"`
	Ended   bool  `json:"ended"`
}

// watch is an operation that somebody looks at. However many do, it is looked up once at a time.
type watch struct {
	followers map[chan state]bool // each holds the newest state that was not sent
	last      state
	stop      context.CancelFunc
}

// watches are the operations that somebody looks at.
type watches struct {
	mu    sync.Mutex
	open  map[ledgerKey]*watch
	count int // of followers
}

// live tells a page when its operation has changed, until it has ended.
func (c *Console) live(v *visit) error {
	stack, err := c.stack(v)
	if err != nil {
		return err
	}
	op, err := c.operation(v, &stack)
	if err != nil {
		return err
	}
	now := stateOf(&stack, &op)
	changes, leave, ok := c.join(&stack, op.Number, now)
	if !ok {
		v.w.Header().Set("Retry-After", "30")
		return &failure{http.StatusServiceUnavailable, "Too many pages are kept up to date: reload this one now and then."}
	}
	defer leave()
	v.w.Header().Set("Content-Type", streamType)
	v.w.Header().Set("X-Accel-Buffering", "no") // a proxy in between is not to collect it
	v.w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithTimeout(v.r.Context(), streamTime)
	defer cancel()
	control := http.NewResponseController(v.w)
	tell := func(event string, s state) bool {
		text, err := json.Marshal(s)
		if err != nil {
			return false
		}
		_ = control.SetWriteDeadline(time.Now().Add(streamWrite)) // of the socket, whose clock this is
		_, err = fmt.Fprintf(v.w, "event: %s\nid: %d\ndata: %s\n\n", event, s.Version, text)
		return err == nil && control.Flush() == nil
	}
	if last := v.r.Header.Get("Last-Event-ID"); last != "" && last != strconv.FormatInt(now.Version, 10) && !now.Ended {
		if !tell("change", now) {
			return nil
		}
	} else if !now.Ended && !tell("begin", now) {
		return nil
	}
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for !now.Ended {
		select {
		case <-ctx.Done():
			return nil
		case now = <-changes:
			if !now.Ended && !tell("change", now) {
				return nil
			}
		case <-ticker.C:
			if !tell("tick", now) {
				return nil
			}
		}
	}
	tell("end", now)
	return nil
}

func stateOf(stack *store.Stack, op *store.Operation) state {
	return state{
		Status: statusOf(stack.Dialect, op.Shown(), op.Phase).Text, Running: op.Running, Version: op.Version, Ended: op.Phase.Final(),
	}
}

// join makes the caller a follower of an operation: changes holds its newest state whenever that is another one. ok is false if
// there are too many already. leave is called at the end.
func (c *Console) join(stack *store.Stack, number int, now state) (changes <-chan state, leave func(), ok bool) {
	w := &c.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= c.Streams {
		return nil, nil, false
	}
	key := ledgerKey{stack.Key, number}
	if w.open == nil {
		w.open = map[ledgerKey]*watch{}
	}
	one := w.open[key]
	if one == nil {
		// It belongs to all who follow, and ends with the last of them.
		ctx, stop := context.WithCancel(context.Background())
		one = &watch{followers: map[chan state]bool{}, last: now, stop: stop}
		w.open[key] = one
		go c.look(ctx, key, stack, one)
	}
	mine := make(chan state, 1)
	if one.last != now {
		mine <- one.last
	}
	one.followers[mine] = true
	w.count++
	return mine, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(one.followers, mine)
		w.count--
		if len(one.followers) == 0 {
			one.stop()
			if w.open[key] == one {
				delete(w.open, key)
			}
		}
	}, true
}

// look looks at an operation again and again, and tells who follows.
func (c *Console) look(ctx context.Context, key ledgerKey, stack *store.Stack, one *watch) {
	ticker := time.NewTicker(c.Look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		op, err := c.Rows.Operation(ctx, key.stack, key.number)
		now := stateOf(stack, &op)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrNotFound): // it was swept
			now = state{Status: "gone", Ended: true}
		case err != nil:
			c.Log.WarnContext(ctx, "a page could not be kept up to date", "error", err)
			continue
		}
		c.watches.tell(one, now)
		if now.Ended {
			return
		}
	}
}

// tell gives a state to all who follow, in place of one that they did not take yet.
func (w *watches) tell(one *watch, now state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now == one.last {
		return
	}
	one.last = now
	for follower := range one.followers {
		select {
		case <-follower:
		default:
		}
		follower <- now
	}
}
