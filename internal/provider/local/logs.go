package local

import (
	"bufio"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/redact"
)

// Bounds of what is kept of a log.
const (
	maxLine      = 8 << 10 // bytes of one line; the rest of it is dropped
	maxTailLines = 20
	maxTailBytes = 4 << 10
)

// logs reads what a process prints: standard output and standard error in one pipe, so that their order is kept. Each
// line is redacted, belongs to the event that runs while it is read, and goes to the sink and the tail.
//
// A process prints before it posts its answer, but the pipe is read next to the answer. So that no line is given to
// the wrong event, [logs.sync] writes a mark into the same pipe, through our copy of its write end, and waits until
// it is read: all that was printed before is then read too.
type logs struct {
	redactor *redactor
	sink     func(id, line string)
	leaked   func(id string, secrets []string) // nil drops them
	reader   *os.File
	writer   *os.File // also the standard output and error of the process
	mark     string
	marked   chan struct{}
	ended    chan struct{} // closed when the reader has finished

	mu   sync.Mutex
	id   string
	tail tail
}

// newLogs returns logs whose writer is to be given to the process. What it prints before its first event belongs to the
// event that it is started for. The owner calls finish.
func newLogs(s *redactor, id string, sink func(id, line string), leaked func(id string, secrets []string)) (*logs, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	l := &logs{
		redactor: s, id: id, sink: sink, leaked: leaked, reader: r, writer: w,
		mark: "mark " + rand.Text(), marked: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go l.read()
	return l, nil
}

// begin gives the lines that are read from now on, and a new tail, to the event.
func (l *logs) begin(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = id
	l.tail = tail{}
}

// end returns the tail and gives later lines to no event.
func (l *logs) end() []string {
	l.sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = ""
	return l.tail.lines()
}

// sync waits until everything that was printed before is read. Only one caller at a time.
func (l *logs) sync() {
	if _, err := l.writer.WriteString("\n" + l.mark + "\n"); err != nil {
		<-l.ended // finish has been called
		return
	}
	select {
	case <-l.marked:
	case <-l.ended:
	}
}

// finish reads what is left after the process has finished and closes the pipe. Something that the process left behind
// outside its group may hold the pipe open; it is read no longer than the patience.
func (l *logs) finish(patience time.Duration) {
	l.writer.Close()
	// The pipe may not support deadlines, then it is closed by its last writer.
	_ = l.reader.SetReadDeadline(time.Now().Add(patience))
	<-l.ended
	l.reader.Close()
}

func (l *logs) read() {
	defer close(l.ended)
	buffered := bufio.NewReaderSize(l.reader, maxLine)
	for {
		chunk, err := buffered.ReadSlice('\n')
		line := string(chunk)
		cut := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = buffered.ReadSlice('\n')
		}
		l.add(line, cut)
		if err != nil {
			return
		}
	}
}

func (l *logs) add(line string, cut bool) {
	if line = strings.TrimRight(line, "\r\n"); line == l.mark {
		select {
		case l.marked <- struct{}{}:
		default:
		}
		return
	}
	if l.leaked != nil {
		if found := l.redactor.leaks(line); len(found) > 0 {
			l.mu.Lock()
			id := l.id
			l.mu.Unlock()
			l.leaked(id, found)
		}
	}
	if cut {
		line = l.redactor.beginning(line)
	} else {
		line = l.redactor.line(line)
	}
	// An empty line says nothing, and the mark begins with one.
	if strings.TrimSpace(line) == "" {
		return
	}
	l.mu.Lock()
	id := l.id
	l.tail.add(line)
	l.mu.Unlock()
	l.sink(id, line)
}

// tail is the last lines of a log, within maxTailLines and maxTailBytes.
type tail struct {
	kept  []string
	bytes int
}

func (t *tail) add(line string) {
	if len(line) > maxTailBytes {
		line = redact.CutRune(line[:maxTailBytes-len("…")]) + "…"
	}
	t.kept = append(t.kept, line)
	t.bytes += len(line)
	for len(t.kept) > maxTailLines || t.bytes > maxTailBytes {
		t.bytes -= len(t.kept[0])
		t.kept = t.kept[1:]
	}
}

// lines returns a copy.
func (t *tail) lines() []string { return append([]string(nil), t.kept...) }
