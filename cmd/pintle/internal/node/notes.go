package node

import (
	"slices"
	"sync"

	"github.com/pintle-dev/pintle/wire"
)

// Limits of the notes about requests.
const (
	maxNotes    = 1024
	maxLogLines = 20
)

// notes has information for people about requests that their rows lack: the reason for a delay, the executor, and the last lines
// that their providers printed. It is in memory only, and the engine does not depend on it.
type notes struct {
	mu    sync.Mutex
	known map[wire.RequestID]*note
	order []wire.RequestID // oldest first
}

type note struct {
	provider string // that executes it now, empty for none
	progress string
	lines    []string
}

func newNotes() *notes { return &notes{known: map[wire.RequestID]*note{}} }

// get returns the note of a request; the caller holds mu.
func (n *notes) get(id wire.RequestID) *note {
	if known := n.known[id]; known != nil {
		return known
	}
	if len(n.order) == maxNotes {
		delete(n.known, n.order[0])
		n.order = slices.Delete(n.order, 0, 1)
	}
	made := &note{}
	n.known[id], n.order = made, append(n.order, id)
	return made
}

func (n *notes) progress(id wire.RequestID, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.get(id).progress = text
}

// begin says that a provider executes the request, end that it has finished.
func (n *notes) begin(id wire.RequestID, provider string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*n.get(id) = note{provider: provider}
}

func (n *notes) end(id wire.RequestID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if known := n.known[id]; known != nil {
		known.provider, known.progress = "", ""
	}
}

func (n *notes) line(id wire.RequestID, line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := n.get(id)
	known.lines = append(known.lines, line)
	if len(known.lines) > maxLogLines {
		known.lines = slices.Delete(known.lines, 0, 1)
	}
}

// died keeps the log of a process that never got to print a line for the request, e.g. that of a build. It reports whether it did.
func (n *notes) died(id wire.RequestID, lines []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := n.get(id)
	if len(known.lines) > 0 {
		return false
	}
	known.lines = slices.Clone(lines)
	return true
}

func (n *notes) show(id wire.RequestID) (provider, progress string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if known := n.known[id]; known != nil {
		return known.provider, known.progress
	}
	return "", ""
}

func (n *notes) log(id wire.RequestID) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if known := n.known[id]; known != nil {
		return slices.Clone(known.lines)
	}
	return nil
}
