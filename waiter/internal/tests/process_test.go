//go:build unix

package tests_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

const (
	requests = 16
	asks     = 4 // polls of each request until it is done
	patience = time.Minute
	secret   = "hunter2-marked"
	mark     = "5ec2e7marked"
)

// Processes are killed repeatedly while requests wait. Each request is answered, polled by one process at a time, and
// resumed with the last stored state.
func TestKilled(t *testing.T) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver, dsn := database(t)
			l := newLedger(t)
			one, two := newProcess(t, l, driver, dsn), newProcess(t, l, driver, dsn)
			one.start()
			two.start()
			var sent sync.WaitGroup
			sent.Go(func() {
				for n := range requests {
					to, other := one, two
					if n%2 == 1 {
						to, other = two, one
					}
					to.request(l.event(t, n))
					if n%3 == 0 {
						other.request(l.event(t, n)) // a second delivery
					}
				}
			})
			// Every few polls, a process is killed during a poll.
			for kills := 0; ; kills++ {
				select {
				case <-l.due:
					victim := []*process{one, two}[kills%2]
					victim.kill()
					l.died()
					victim.start()
					continue
				case <-l.all:
				case <-time.After(patience):
					t.Fatalf("not all requests are answered\n%s\n%s", &one.log, &two.log)
				}
				break
			}
			sent.Wait()
			one.kill()
			two.kill()
			l.check()
			rows := dump(t, driver, dsn)
			for _, text := range []string{secret, mark} {
				for place, where := range map[string]string{"log": one.log.String() + two.log.String(), "database": rows} {
					if strings.Contains(where, text) {
						t.Errorf("the %s shows %s", place, text)
					}
				}
			}
		})
	}
}

// ledger records what the providers report, and receives their answers.
type ledger struct {
	t      *testing.T
	server *httptest.Server
	due    chan struct{} // signals that a process must be killed
	all    chan struct{} // closed when all requests are answered

	mu       sync.Mutex
	notes    int
	released chan struct{} // closed after the next kill
	creates  map[string]int
	asking   map[string]bool
	steps    map[string][]string
	answers  map[string][]wire.Response
}

func newLedger(t *testing.T) *ledger {
	l := &ledger{t: t, due: make(chan struct{}), all: make(chan struct{}), released: make(chan struct{}),
		creates: map[string]int{}, asking: map[string]bool{}, steps: map[string][]string{}, answers: map[string][]wire.Response{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /create/{name}/{step}", func(_ http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.creates[r.PathValue("name")]++
	})
	mux.HandleFunc("POST /ready/{name}/{step}", l.ready)
	mux.HandleFunc("PUT /response/{name}", l.answer)
	l.server = httptest.NewServer(mux)
	t.Cleanup(l.server.Close)
	return l
}

// ready answers a poll. Every ninth poll waits until a process has been killed, perhaps the one that polls.
func (l *ledger) ready(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	l.mu.Lock()
	if l.asking[name] {
		l.t.Errorf("%s is asked about by two at once", name)
	}
	l.asking[name] = true
	l.steps[name] = append(l.steps[name], r.PathValue("step"))
	done := r.PathValue("step") == fmt.Sprint(asks-1)
	l.notes++
	var dies chan struct{}
	if l.notes%9 == 0 && l.notes < 9*8 {
		dies = l.released
	}
	l.mu.Unlock()
	if dies != nil {
		select {
		case l.due <- struct{}{}:
			<-dies
		case <-r.Context().Done():
		}
	}
	l.mu.Lock()
	l.asking[name] = false
	l.mu.Unlock()
	if done {
		_, _ = io.WriteString(w, "done") // the process may be dead
	}
}

// died releases the poll that waits for a kill.
func (l *ledger) died() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.released)
	l.released = make(chan struct{})
}

func (l *ledger) answer(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process died
	}
	response, err := wire.ParseResponse(body)
	if err != nil {
		l.t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name := r.PathValue("name")
	l.answers[name] = append(l.answers[name], response)
	if len(l.answers[name]) == 1 && len(l.answers) == requests {
		close(l.all)
	}
}

func (l *ledger) event(t *testing.T, n int) []byte {
	name := fmt.Sprint("r", n)
	text, err := wire.Request{
		RequestType: wire.Create, ServiceToken: "http://127.0.0.1/", ResponseURL: l.server.URL + "/response/" + name + "?X-Amz-Signature=" + mark,
		StackID: "arn:aws:cloudformation:us-east-1:123456789012:stack/s/1", RequestID: wire.RequestID(name), ResourceType: "Custom::Slow",
		LogicalResourceID: wire.LogicalID(name), ResourceProperties: json.RawMessage(fmt.Sprintf(`{"ServiceToken":"x","Name":%q,"Secret":%q}`, name, secret)),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// check verifies the history: a state may go back by at most the one poll that was lost.
func (l *ledger) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, answers := range l.answers {
		for _, a := range answers {
			if a.Status != wire.Success || a.PhysicalResourceID != wire.PhysicalID("made-"+name) {
				l.t.Errorf("%s was answered %v %s", name, a.Status, a.Reason)
			}
		}
		last := ""
		for _, step := range l.steps[name] {
			if step < last { // one digit each
				l.t.Errorf("%s was resumed with an old state: %v", name, l.steps[name])
			}
			last = step
		}
		if last != fmt.Sprint(asks-1) {
			l.t.Errorf("%s was asked about as %v", name, l.steps[name])
		}
	}
}

// process is a provider. The test owns its listener, so that no connection is lost while the process is dead.
type process struct {
	t        *testing.T
	env      []string
	listener *os.File
	url      string
	log      bytes.Buffer
	command  *exec.Cmd
}

func newProcess(t *testing.T, l *ledger, driver, dsn string) *process {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &process{t: t, listener: file, url: "http://" + listener.Addr().String(),
		env: append(os.Environ(), "WAITER_LEDGER="+l.server.URL, "WAITER_DRIVER="+driver, "WAITER_DSN="+dsn)}
}

func (p *process) start() {
	p.t.Helper()
	p.command = exec.Command(os.Args[0])
	p.command.Env, p.command.Stderr, p.command.ExtraFiles = p.env, &p.log, []*os.File{p.listener}
	if err := p.command.Start(); err != nil {
		p.t.Fatal(err)
	}
	command := p.command
	p.t.Cleanup(func() { _ = command.Process.Kill() })
}

func (p *process) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait() // the process was killed
}

// request delivers a request, and delivers it again like SNS if the process dies.
func (p *process) request(event []byte) {
	for {
		response, err := http.Post(p.url, "application/json", bytes.NewReader(event))
		if err != nil {
			continue
		}
		_ = response.Body.Close() // only the status matters
		if response.StatusCode != http.StatusAccepted && response.StatusCode != http.StatusOK {
			p.t.Errorf("a request was answered with %s", response.Status)
		}
		return
	}
}
