package local_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// patience is how long a test waits before it fails.
const patience = 30 * time.Second

// kit is a runtime with its reports.
type kit struct {
	*local.Runtime
	t    *testing.T
	done chan report
	work func(context.Context) string // of the outcome that next returned

	mu    sync.Mutex
	lines []string // id: line
}

type report struct {
	id      string
	outcome local.Outcome
}

// newKit returns a runtime with a provider P of the given behaviour. change may alter both.
func newKit(t *testing.T, behaviour string, change func(*local.Config, *local.Provider)) *kit {
	t.Helper()
	target, err := local.ParseTarget("", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{t: t, done: make(chan report, 1000)}
	provider := local.Provider{Name: "P", Target: target, Env: map[string]string{behaviourVar: behaviour}}
	config := local.Config{
		Done:   func(id string, o local.Outcome) { k.done <- report{id, o} },
		Logger: slog.New(slog.DiscardHandler),
		Log: func(_, id, line string) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.lines = append(k.lines, id+": "+line)
		},
	}
	if change != nil {
		change(&config, &provider)
	}
	config.Providers = append(config.Providers, provider)
	k.Runtime, err = local.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

func (k *kit) invoke(id string, t task, secrets ...string) {
	k.t.Helper()
	event := local.Event{ID: id, Invocation: "i-" + id, Payload: t.payload(), Secrets: secrets, WantResult: true}
	if err := k.Invoke("P", event); err != nil {
		k.t.Fatal(err)
	}
}

// next returns the next report.
func (k *kit) next() report {
	k.t.Helper()
	select {
	case r := <-k.done:
		k.work = r.outcome.Work // no test compares it
		if r.outcome.Delivered != (r.outcome.Invocation != "") {
			k.t.Errorf("the invocation of %s is %q, and delivered is %t", r.id, r.outcome.Invocation, r.outcome.Delivered)
		}
		r.outcome.Work, r.outcome.Inside, r.outcome.Invocation = nil, false, ""
		return r
	case <-time.After(patience):
		k.t.Fatal("no outcome was reported")
		return report{}
	}
}

// run sends a task and returns the outcome.
func (k *kit) run(id string, t task, secrets ...string) local.Outcome {
	k.t.Helper()
	k.invoke(id, t, secrets...)
	r := k.next()
	if r.id != id {
		k.t.Fatalf("the outcome of %s was reported, want %s", r.id, id)
	}
	return r.outcome
}

func (k *kit) logged() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.lines...)
}

// post is a listener that processes connect to, so that the test can observe them.
type post struct {
	t *testing.T
	net.Listener
}

func newPost(t *testing.T) *post {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &post{t, l}
}

func (p *post) addr() string { return p.Addr().String() }

// visitor is a connected process.
type visitor struct {
	net.Conn
	reader *bufio.Reader
	pid    int
}

func (p *post) accept() *visitor {
	p.t.Helper()
	if err := p.Listener.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	conn, err := p.Accept()
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	v := &visitor{Conn: conn, reader: bufio.NewReader(conn)}
	line, err := v.reader.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	if v.pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		p.t.Fatal(err)
	}
	return v
}

// release lets the process continue; its own side of the connection stays open.
func (v *visitor) release(t *testing.T) {
	t.Helper()
	if err := v.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// gone waits until the process has exited, which breaks its connection.
func (v *visitor) gone(t *testing.T) {
	t.Helper()
	if err := v.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := v.reader.ReadByte(); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("process %d lives on: %v", v.pid, err)
	}
}

// runHost is a program with a runtime. A test kills it.
func runHost() {
	target, err := local.ParseTarget("", os.Args[0])
	if err != nil {
		panic(err)
	}
	r, err := local.New(local.Config{
		Done: func(string, local.Outcome) {},
		Providers: []local.Provider{{
			Name: "P", Target: target, Env: map[string]string{behaviourVar: "handle"},
		}},
	})
	if err != nil {
		panic(err)
	}
	payload := task{Do: "hang", Dial: os.Getenv("TEST_DIAL")}.payload()
	if err := r.Invoke("P", local.Event{ID: "1", Payload: payload}); err != nil {
		panic(err)
	}
	fmt.Println("hosting")
	_ = r.Run(context.Background())
}
