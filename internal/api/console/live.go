package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

const (
	streamType = "text/event-stream"
	// heartbeat is the interval of a stream's heartbeats. They advance the bars on a page and detect broken
	// connections.
	heartbeat = 5 * time.Second
	// streamWrite limits the time to write one event.
	streamWrite = 10 * time.Second
	// streamTime is the maximum lifetime of a stream. The browser then opens another one if its session is still valid.
	streamTime = 30 * time.Minute
)

// state is the data that a stream sends.
type state struct {
	Status  string `json:"status"`
	Running int    `json:"running"`
	// Version changes with every change.
	Version int64 `json:"version"`
	Ended   bool  `json:"ended"`
}

// topic is the subject of a stream: an operation, a request or a list of stacks.
type topic struct {
	// key identifies the topic.
	key string
	// look returns the current state. It is not called concurrently.
	look func(context.Context) (state, error)
	// ages means that the pages show elapsed times, so that they change at each heartbeat.
	ages bool
}

// watch is a topic with followers. It is checked by one goroutine, regardless of the number of followers.
type watch struct {
	followers map[chan state]bool // each channel holds the newest unsent state
	last      state
	stop      context.CancelFunc
}

// watches are the topics with followers.
type watches struct {
	mu    sync.Mutex
	open  map[string]*watch
	count int // of followers
}

// streams sends live updates to pages. All followers of a topic share its checks.
type streams struct {
	pause   time.Duration // between two checks of a topic
	most    int           // followers
	log     *slog.Logger
	watches watches
}

// stream sends the state of a topic whenever it changes, until the topic's final state.
func (sm *streams) stream(v *visit, now state, t topic) error {
	changes, leave, ok := sm.join(t, now)
	if !ok {
		v.w.Header().Set("Retry-After", "30")
		return &failure{http.StatusServiceUnavailable, "Too many pages are kept up to date: reload this one now and then."}
	}
	defer leave()
	v.w.Header().Set("Content-Type", streamType)
	v.w.Header().Set("X-Accel-Buffering", "no") // asks proxies not to buffer the stream
	v.w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithTimeout(v.r.Context(), streamTime)
	defer cancel()
	control := http.NewResponseController(v.w)
	send := func(event string, s state) bool {
		text, err := json.Marshal(s)
		if err != nil {
			return false
		}
		_ = control.SetWriteDeadline(time.Now().Add(streamWrite)) // the socket uses this clock
		_, err = fmt.Fprintf(v.w, "event: %s\nid: %d\ndata: %s\n\n", event, s.Version, text)
		return err == nil && control.Flush() == nil
	}
	if last := v.r.Header.Get("Last-Event-ID"); last != "" && last != strconv.FormatInt(now.Version, 10) && !now.Ended {
		if !send("change", now) {
			return nil
		}
	} else if !now.Ended && !send("begin", now) {
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
			if !now.Ended && !send("change", now) {
				return nil
			}
		case <-ticker.C:
			if !send(beat, now) {
				return nil
			}
		}
	}
	send("end", now)
	return nil
}

func stateOf(stack *store.Stack, op *store.Operation) state {
	return state{
		Status: statusOf(stack.Dialect, op.Shown(), op.Phase).Text, Running: op.Running, Version: op.Version, Ended: op.Phase.Final(),
	}
}

// join makes the caller a follower of a topic. changes receives each new state. ok is false if there are too many
// followers. The caller must call leave at the end.
func (sm *streams) join(t topic, now state) (changes <-chan state, leave func(), ok bool) {
	w := &sm.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= sm.most {
		return nil, nil, false
	}
	if w.open == nil {
		w.open = map[string]*watch{}
	}
	one := w.open[t.key]
	if one == nil {
		// All followers share the watch. It stops when the last one leaves.
		ctx, stop := context.WithCancel(context.Background())
		one = &watch{followers: map[chan state]bool{}, last: now, stop: stop}
		w.open[t.key] = one
		go sm.look(ctx, t, one)
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

// lookShare limits the cost of checks: the pause between two checks is at least lookShare times the duration of the
// last one.
const lookShare = 20

// look checks a topic periodically and sends changes to all followers.
func (sm *streams) look(ctx context.Context, t topic, one *watch) {
	timer := time.NewTimer(sm.pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		begun := time.Now()
		now, err := t.look(ctx)
		timer.Reset(max(sm.pause, lookShare*time.Since(begun)))
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrNotFound): // it has been deleted
			now = state{Status: "deleted", Ended: true}
		case err != nil:
			sm.log.WarnContext(ctx, "a page could not be kept up to date", "error", err)
			continue
		}
		sm.watches.publish(one, now)
		if now.Ended {
			return
		}
	}
}

// publish sends a state to all followers. It replaces a state that they have not received yet.
func (w *watches) publish(one *watch, now state) {
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
