package local

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// template is a process that has loaded an interpreter and forks the processes of functions, which makes them start
// much faster: see pintle_template.py. It gets no data of any function. It starts when it is first needed, and ends
// when none of its processes has run for [Config.Idle].
type template struct {
	runtime *Runtime
	key     string
	dead    chan struct{} // closed when it has exited
	started chan int      // its responses to fork requests: a process ID, or 0
	request sync.Mutex    // held for one request and its response

	mu      sync.Mutex // guards the following fields
	control *net.UnixConn
	users   int // its processes, and pending requests for one
	idle    *time.Timer
	waiting map[int]chan syscall.WaitStatus // processes whose end is awaited, by process ID
	ends    map[int]syscall.WaitStatus      // exit statuses that are not yet awaited
}

var errTemplate = errors.New("the template process has ended")

// forked is a process that a template forks. If forking fails, it is started normally.
type forked struct {
	child
	runtime  *Runtime
	template *template // nil if it was started normally
	number   int
	status   syscall.WaitStatus
}

func (f *forked) start() error {
	t, err := f.runtime.template(f.child.cmd.Path, f.child.cmd.Args[1])
	if err == nil {
		f.number, err = t.spawn(&f.child.cmd)
	}
	if err != nil {
		f.runtime.config.Logger.Debug("a process is not forked", "program", f.child.cmd.Path, "error", err)
		return f.child.start()
	}
	f.template = t
	return nil
}

func (f *forked) pid() int {
	if f.template == nil {
		return f.child.pid()
	}
	return f.number
}

func (f *forked) wait() error {
	if f.template == nil {
		return f.child.wait()
	}
	f.status = f.template.wait(f.number)
	f.kill() // kill remaining processes of the group, if any
	f.template.release()
	return nil
}

// orphan reports whether the template has exited. Then wait returns soon.
func (f *forked) orphan() bool { return f.template != nil && isClosed(f.template.dead) }

func (f *forked) terminate() {
	if f.template == nil {
		f.child.terminate()
		return
	}
	_ = terminateGroup(&os.Process{Pid: f.number}) // fails only if the process has exited
}

func (f *forked) kill() {
	if f.template == nil {
		f.child.kill()
		return
	}
	_ = killGroup(&os.Process{Pid: f.number})
}

func (f *forked) end(when string) Outcome {
	if f.template == nil {
		return f.child.end(when)
	}
	return ending(f.status, when)
}

// forks reports whether a provider's processes are forked: those of Python functions. Others have their own interpreter
// or environment.
func (p Provider) forks() bool {
	return canFork && p.Function != nil && p.Target.Kind() == Script && p.Target.script.language == bootstrap.Python
}

// template returns a template that runs the script. The caller has to release it.
func (r *Runtime) template(path, script string) (*template, error) {
	key := path + "\x00" + script
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if t := r.templates[key]; t != nil && t.take() {
		return t, nil
	}
	t := &template{
		runtime: r, key: key, dead: make(chan struct{}), started: make(chan int, 1), users: 1,
		waiting: map[int]chan syscall.WaitStatus{}, ends: map[int]syscall.WaitStatus{},
	}
	begun := make(chan error)
	r.wg.Go(func() { t.run(path, script, begun) })
	if err := <-begun; err != nil {
		return nil, err
	}
	r.templates[key] = t
	return t, nil
}

// environment returns the environment of a template: the common variables of all functions.
func (t *template) environment() []string {
	env := map[string]string{
		"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "TZ": functionEnv["TZ"], "LANG": functionEnv["LANG"],
	}
	for _, kv := range t.runtime.config.Environ {
		if name, text, ok := strings.Cut(kv, "="); ok && inherited(name) {
			env[name] = text
		}
	}
	return list(env)
}

// take registers the caller as a user of the template. It returns false if the template is ending.
func (t *template) take() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.dead:
		return false
	default:
	}
	if t.control == nil {
		return false
	}
	t.users++
	if t.idle != nil {
		t.idle.Stop()
	}
	return true
}

// release ends the caller's use of the template.
func (t *template) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users--; t.users == 0 {
		t.idle = time.AfterFunc(t.runtime.config.Idle, t.retire)
	}
}

// retire ends a template that has no users.
func (t *template) retire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == 0 {
		t.close()
	}
}

// close makes the template exit. The caller holds mu.
func (t *template) close() {
	if t.idle != nil {
		t.idle.Stop()
	}
	if t.control != nil {
		t.control.Close()
		t.control = nil
	}
}

// wait returns the exit status of a process. If the template ends, the kernel kills the process, and wait returns that
// status.
func (t *template) wait(number int) syscall.WaitStatus {
	t.mu.Lock()
	if status, ok := t.ends[number]; ok {
		delete(t.ends, number)
		t.mu.Unlock()
		return status
	}
	ended := make(chan syscall.WaitStatus, 1)
	t.waiting[number] = ended
	t.mu.Unlock()
	select {
	case status := <-ended:
		return status
	case <-t.dead:
		return killed
	}
}

// ended records the exit status of a process, which the template reports.
func (t *template) ended(number int, status syscall.WaitStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if waiting := t.waiting[number]; waiting != nil {
		delete(t.waiting, number)
		waiting <- status
		return
	}
	t.ends[number] = status
}

// endTemplates closes all templates. The runtime has no workers any more.
func (r *Runtime) endTemplates() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.templates {
		t.mu.Lock()
		t.close()
		t.mu.Unlock()
	}
}
