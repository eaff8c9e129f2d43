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

// Limits of the stored log.
const (
	maxLine      = 8 << 10 // bytes of one line; the rest is dropped
	maxTailLines = 20
	maxTailBytes = 4 << 10
)

// logs reads the output of a process. Standard output and standard error share one pipe, so that their order is
// preserved. Each line is redacted, assigned to the current event, and passed to the sink and the tail.
//
// A process prints before it posts its answer, but the pipe and the answer are read concurrently. To assign each line
// to the right event, [logs.sync] writes a mark into the same pipe and waits until it is read. Then all earlier output
// has been read too.
type logs struct {
	redactor *redactor
	sink     func(id, line string)
	leaked   func(id string, secrets []string) // nil discards them
	reader   *os.File
	writer   *os.File // also the standard output and error of the process
	mark     string
	marked   chan struct{}
	ended    chan struct{} // closed when the reader has finished

	mu   sync.Mutex
	id   string
	tail tail
}

// newLogs returns logs whose writer is the process's output. Lines before the first event belong to the event that the
// process is started for. The owner calls finish.
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

// begin assigns the next lines to the event and starts a new tail.
func (l *logs) begin(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = id
	l.tail = tail{}
}

// end returns the tail. Later lines belong to no event.
func (l *logs) end() []string {
	l.sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = ""
	return l.tail.lines()
}

// sync waits until all previous output is read. It must not be called concurrently.
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

// finish reads the remaining output after the process has exited, and closes the pipe. A descendant outside the process
// group may keep the pipe open, so finish waits at most for patience.
func (l *logs) finish(patience time.Duration) {
	l.writer.Close()
	// If the pipe does not support deadlines, its last writer closes it.
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
	// Empty lines are skipped. The mark is preceded by one.
	if strings.TrimSpace(line) == "" {
		return
	}
	l.mu.Lock()
	id := l.id
	l.tail.add(line)
	l.mu.Unlock()
	l.sink(id, line)
}

// tail holds the last lines of a log, up to maxTailLines and maxTailBytes.
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
