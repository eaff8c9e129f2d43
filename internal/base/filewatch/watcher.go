package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Defaults of [Config].
const (
	DefaultQuiet = 100 * time.Millisecond
	DefaultEvery = 5 * time.Second
	DefaultPoll  = 500 * time.Millisecond
)

// most is how long events may go on before somebody looks all the same: a log in the directory may be written all the time.
const most = 20 // times quiet

// Config configures a [Watcher]. Zero fields mean the defaults.
type Config struct {
	// Quiet is how long nothing may happen before it is time to look: editors, and tools that write many files, do so in steps.
	Quiet time.Duration
	// Every is how often it is time to look though nothing was told: there are file systems that tell nothing.
	Every time.Duration
	// Poll is how often it is time to look where nothing can be told.
	Poll time.Duration
	// NoEvents leaves the events of the operating system out, as if it had none.
	NoEvents bool
}

// Watcher says when to look at directories again. It is for one goroutine. Use [New], and [Watcher.Close] at the end.
type Watcher struct {
	config Config
	events *fsnotify.Watcher // nil without events
	told   []string          // directories of which events come
	broken error
}

// New returns a watcher of no directory yet.
func New(config Config) *Watcher {
	for field, fallback := range map[*time.Duration]time.Duration{
		&config.Quiet: DefaultQuiet, &config.Every: DefaultEvery, &config.Poll: DefaultPoll,
	} {
		if *field == 0 {
			*field = fallback
		}
	}
	w := &Watcher{config: config}
	if config.NoEvents {
		w.broken = errors.New("they are left out")
		return w
	}
	w.events, w.broken = fsnotify.NewWatcher()
	return w
}

// Watch says which directories count from now on, in order. What happens there after it has returned ends [Watcher.Wait].
func (w *Watcher) Watch(folders []string) {
	if w.broken != nil {
		return
	}
	for _, old := range w.told {
		if !slices.Contains(folders, old) {
			_ = w.events.Remove(old) // the directory may be gone
		}
	}
	for _, folder := range folders {
		// One that was removed and made again is another one by the same name, so it is always told.
		if err := w.events.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) { // it went just now, which its directory reports
			w.fail(fmt.Errorf("%s: %w", folder, err))
			return
		}
	}
	w.told = slices.Clone(folders)
}

// fail goes on without events.
func (w *Watcher) fail(err error) {
	w.broken = err
	_ = w.events.Close() // nothing of it is wanted any more
	w.events = nil
}

// Broken says why there are no events, so that changes are seen a moment later; nil if there are.
func (w *Watcher) Broken() error { return w.broken }

// Wait returns when it is time to look again. The error is that of ctx.
func (w *Watcher) Wait(ctx context.Context) error {
	pause := w.config.Every
	if w.events == nil {
		pause = w.config.Poll
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	// The channels of a watcher that is not there are nil, so they never have anything.
	var events <-chan fsnotify.Event
	var failures <-chan error
	if w.events != nil {
		events, failures = w.events.Events, w.events.Errors
	}
	for steps := 0; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case _, ok := <-events: // whatever it is
			if !ok {
				events = nil
				continue
			}
		case err, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) { // then something has happened, whatever it was
				w.fail(err)
				return nil
			}
		}
		if steps++; steps <= most {
			timer.Reset(w.config.Quiet)
		}
	}
}

// Close ends the watcher.
func (w *Watcher) Close() error {
	if w.events == nil {
		return nil
	}
	return w.events.Close()
}
