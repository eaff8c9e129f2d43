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

// most limits, in multiples of Quiet, how long a series of events may delay a comparison. Otherwise a log file in the
// directory could delay it forever.
const most = 20 // times quiet

// Config configures a [Watcher]. Zero fields mean the defaults.
type Config struct {
	// Quiet is how long Wait waits after the last event. Editors and tools write files in several steps.
	Quiet time.Duration
	// Every is the polling interval in addition to events. Some file systems send none.
	Every time.Duration
	// Poll is the polling interval without events.
	Poll time.Duration
	// NoEvents disables operating system events.
	NoEvents bool
}

// Watcher reports when to compare directories again. It is not safe for concurrent use. Create one with [New], and
// call [Watcher.Close] at the end.
type Watcher struct {
	config  Config
	events  *fsnotify.Watcher // nil without events
	watched []string          // directories that send events
	broken  error
}

// New returns a watcher without directories.
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

// Watch sets the directories to watch, sorted. Later events in them end [Watcher.Wait].
func (w *Watcher) Watch(folders []string) {
	if w.broken != nil {
		return
	}
	for _, old := range w.watched {
		if !slices.Contains(folders, old) {
			_ = w.events.Remove(old) // the directory may have been deleted
		}
	}
	for _, folder := range folders {
		// Add every directory again: one that was deleted and created again under the same name would send no events.
		if err := w.events.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) { // if just deleted, its parent sends an event
			w.fail(fmt.Errorf("%s: %w", folder, err))
			return
		}
	}
	w.watched = slices.Clone(folders)
}

// fail continues without events.
func (w *Watcher) fail(err error) {
	w.broken = err
	_ = w.events.Close() // the watcher is not used any more
	w.events = nil
}

// Broken returns the error that disabled events, or nil. Without events, changes are seen later.
func (w *Watcher) Broken() error { return w.broken }

// Wait returns when it is time to compare again. The error is that of ctx.
func (w *Watcher) Wait(ctx context.Context) error {
	pause := w.config.Every
	if w.events == nil {
		pause = w.config.Poll
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	// Without a watcher, the channels are nil and never receive.
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
		case _, ok := <-events: // any event
			if !ok {
				events = nil
				continue
			}
		case err, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) { // an overflow means that there were events
				w.fail(err)
				return nil
			}
		}
		if steps++; steps <= most {
			timer.Reset(w.config.Quiet)
		}
	}
}

// Close closes the watcher.
func (w *Watcher) Close() error {
	if w.events == nil {
		return nil
	}
	return w.events.Close()
}
