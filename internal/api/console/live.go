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

// state is what a stream reports.
type state struct {
	Status  string `json:"status"`
	Running int    `json:"running"`
	// Version is another number after every change.
	Version int64 `json:"version"`
	Ended   bool  `json:"ended"`
}

// topic is what the pages of a stream follow: an operation, a request or a list of stacks.
type topic struct {
	// key is the same for all that follow the same.
	key string
	// look returns its state now. It is called by one goroutine at a time.
	look func(context.Context) (state, error)
	// ages says that its pages show times that pass, so that they change at each heartbeat.
	ages bool
}

// watch is a topic that someone follows. However many do, it is looked up once at a time.
type watch struct {
	followers map[chan state]bool // each holds the newest state that was not sent
	last      state
	stop      context.CancelFunc
}

// watches are the topics that someone follows.
type watches struct {
	mu    sync.Mutex
	open  map[string]*watch
	count int // of followers
}

// live reports to a page when its operation has changed, until it has finished.
func (c *Console) live(v *visit) error {
	stack, err := c.stack(v)
	if err != nil {
		return err
	}
	op, err := c.operation(v, &stack)
	if err != nil {
		return err
	}
	return c.stream(v, stateOf(&stack, &op), topic{
		key: fmt.Sprintf("operation %d %d", stack.Key, op.Number), ages: true,
		look: func(ctx context.Context) (state, error) {
			op, err := c.Rows.Operation(ctx, stack.Key, op.Number)
			return stateOf(&stack, &op), err
		},
	})
}

// stream sends the state of a topic whenever it changes, until it has ended.
func (c *Console) stream(v *visit, now state, t topic) error {
	changes, leave, ok := c.join(t, now)
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
	beat := "ping"
	if t.ages {
		beat = "tick"
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
			if !tell(beat, now) {
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

// join makes the caller a follower of a topic: changes holds its newest state whenever that is another one. ok is false if
// there are too many already. leave is called at the end.
func (c *Console) join(t topic, now state) (changes <-chan state, leave func(), ok bool) {
	w := &c.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= c.Streams {
		return nil, nil, false
	}
	if w.open == nil {
		w.open = map[string]*watch{}
	}
	one := w.open[t.key]
	if one == nil {
		// It belongs to all who follow, and ends with the last of them.
		ctx, stop := context.WithCancel(context.Background())
		one = &watch{followers: map[chan state]bool{}, last: now, stop: stop}
		w.open[t.key] = one
		go c.look(ctx, t, one)
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
			if w.open[t.key] == one {
				delete(w.open, t.key)
			}
		}
	}, true
}

// lookShare bounds what looking costs: a topic is not looked at for so many times as long as the last look took.
const lookShare = 20

// look looks at a topic again and again, and reports changes to all followers.
func (c *Console) look(ctx context.Context, t topic, one *watch) {
	timer := time.NewTimer(c.Look)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		begun := time.Now()
		now, err := t.look(ctx)
		timer.Reset(max(c.Look, lookShare*time.Since(begun)))
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrNotFound): // it was swept
			now = state{Status: "deleted", Ended: true}
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

// tell gives a state to all followers, instead of one that they did not take yet.
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
