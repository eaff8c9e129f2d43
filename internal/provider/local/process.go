package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/panics"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// lastWords is how long input is still read after a process has exited: requests in flight, and output that a process
// outside its group keeps open.
const lastWords = time.Second

// invocation is the execution of an event by a process.
type invocation struct {
	event    Event
	timeout  time.Duration
	id       string       // the request ID that the process sees; set when the event is sent
	deadline time.Time    // set when the event is sent, before sent
	begun    time.Time    // set with deadline
	left     *work        // set before result if the handler has returned, nil if that cannot be observed
	sent     chan error   // the result of each attempt to send the event
	result   chan Outcome // what the process reported; at most one
}

func newInvocation(event Event, timeout time.Duration) *invocation {
	return &invocation{event: event, timeout: timeout, sent: make(chan error, 1), result: make(chan Outcome, 1)}
}

// begin sets the ID and the deadline. The deadline starts now, because the start of a process does not count as the
// handler's time.
func (i *invocation) begin(now time.Time) {
	i.id = cmp.Or(i.event.Invocation, newInvocationID())
	i.begun, i.deadline = now, now.Add(i.timeout)
	if d := i.event.Deadline; !d.IsZero() && d.Before(i.deadline) {
		i.deadline = d
	}
}

// newInvocationID returns a random UUID.
func newInvocationID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// said returns the outcome that the process has reported, if any.
func (i *invocation) said() (Outcome, bool) {
	select {
	case o := <-i.result:
		return o, true
	default:
		return Outcome{}, false
	}
}

// process is a running process with its Runtime API. A worker owns it.
type process struct {
	functionARN    string
	function       bool        // it is a cloud function, which stops when its handler has returned
	fc             *fcFunction // for Function Compute; nil for the Lambda contract
	log            *logs
	redactor       *redactor
	logger         *slog.Logger
	body           body
	isForeign      func(net.Conn) (foreign bool, uid int, err error)
	listensForeign func(net.Addr) bool
	addr           string       // host and port of the Runtime API
	secret         string       // the first element of its paths; empty if the user of the connection is checked instead
	aws            http.Handler // serves the built-in AWS SDK; nil disables it
	platform       *platform

	deliver    chan *invocation // received by the process's call for the next event
	initFailed chan Outcome     // the process reported an error before its first request
	ending     chan struct{}    // closed when the process has exited
	ended      chan struct{}    // closed when its server and log are closed too

	mu      sync.Mutex
	asked   bool // it asked for its first event, or listens for it
	current *invocation
	hints   map[string]*work // by event: the remaining work that runners reported
}

// start starts a process for the event. Its supervising goroutine ends with the process.
func (r *Runtime) start(provider Provider, command command, dir string, event Event, s *redactor) (*process, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for provider %s: %w", provider.Name, err)
	}
	var leaked func(id string, secrets []string)
	if r.config.Leaked != nil {
		leaked = func(id string, secrets []string) { r.config.Leaked(provider.Name, id, secrets) }
	}
	platform := newPlatform(r.config.Printed)
	log, err := newLogs(s, event.ID, func(id, line string) {
		platform.print(line)
		r.config.Log(provider.Name, id, line)
	}, leaked)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("open log of provider %s: %w", provider.Name, err)
	}
	p := &process{
		functionARN: provider.arn(&r.config), function: provider.Function != nil,
		log:            log,
		redactor:       s,
		logger:         r.config.Logger.With("provider", provider.Name),
		isForeign:      r.isForeign,
		listensForeign: r.listensForeign,
		addr:           listener.Addr().String(),
		secret:         r.secret(provider),
		aws:            r.config.AWS,
		platform:       platform,
		deliver:        make(chan *invocation),
		initFailed:     make(chan Outcome, 1),
		ending:         make(chan struct{}),
		ended:          make(chan struct{}),
	}
	if p.secret != "" {
		s.known.Add(p.secret)
	}
	if provider.Serve != nil {
		p.body = newInside(provider.Serve, Host{Address: p.address(), Log: log.writer})
	} else {
		at := surroundings{dir: dir, addr: p.address(), token: event.FunctionARN}
		if provider.Contract == bootstrap.FC && provider.Target.Kind() != Script {
			at.port = r.pickPort()
		}
		env := environment(&r.config, provider, command, at)
		if err := r.trust(env, &command, provider.Target.Kind()); err != nil {
			listener.Close()
			log.finish(0)
			r.release(at.port)
			return nil, fmt.Errorf("start provider %s: %w", provider.Name, err)
		}
		if provider.Contract != bootstrap.FC {
			platform.open(&r.config, provider, env)
		}
		if provider.Contract == bootstrap.FC {
			p.fc = newFCFunction(&r.config, provider, env, at.port)
			s.known.Add(p.fc.secrets()...)
		}
		run := child{cmd: exec.Cmd{
			Path: command.path, Args: command.args, Dir: dir, Env: list(env),
			Stdout: log.writer, Stderr: log.writer,
			SysProcAttr: processAttr(),
		}}
		if p.body = &run; provider.forks() {
			p.body = &forked{child: run, runtime: r}
		}
	}
	started := make(chan error)
	go func() {
		p.supervise(listener, started)
		if p.fc != nil {
			r.release(p.fc.port)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", command.path, err)
	}
	return p, nil
}

// supervise runs the process from start to end. This goroutine makes all calls of body's start and wait.
func (p *process) supervise(listener net.Listener, started chan<- error) {
	if err := p.body.start(); err != nil {
		listener.Close()
		p.log.finish(0)
		started <- err
		return
	}
	server := &http.Server{
		Handler:           panics.Handler(p.handler(), p.logger),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(&peers{listener, p.logger, p.isForeign, p.secret == ""}) // returns ErrServerClosed after Shutdown below
	}()
	pid := p.body.pid()
	p.logger.Debug("provider process started", "pid", pid)
	bridged := make(chan struct{})
	go func() { // ends when ending is closed
		defer close(bridged)
		if p.fc != nil && p.fc.port != "" {
			p.bridge()
		}
	}()
	started <- nil

	err := p.body.wait()
	close(p.ending)
	<-bridged
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		server.Close()
	}
	<-served
	p.log.finish(lastWords)
	p.logger.Debug("provider process ended", "pid", pid, "error", err)
	close(p.ended)
}

// stop asks the process to end, kills it after the grace period, and waits for its end.
func (p *process) stop(grace time.Duration) {
	if p.gone() {
		return // its process ID may have been reused
	}
	p.body.terminate()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.kill()
	}
}

// kill kills the process and waits for its end.
func (p *process) kill() {
	if !p.gone() {
		p.mu.Lock()
		p.current = nil // a ServeFunc may still post
		p.mu.Unlock()
		p.body.kill()
	}
	<-p.ended
}

// gone reports whether the process has exited. If its template has, the kernel has killed the process too.
func (p *process) gone() bool {
	if f, ok := p.body.(*forked); ok && f.orphan() {
		<-p.ended
		return true
	}
	select {
	case <-p.ending:
		<-p.ended
		return true
	default:
		return false
	}
}

// wanted describes how the process gets its first event.
func (p *process) wanted() string {
	if p.fc == nil || p.fc.port == "" {
		return "ask for an event"
	}
	return "ask FC_RUNTIME_API for an event, nor listen at the port FC_SERVER_PORT,"
}
