package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/loopbacktls"
	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/cdkframework"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// SessionConfig says which provider a [Session] is with.
type SessionConfig struct {
	// Provider gets the requests. Its target may be a URL. Required, but for its target if Send is set.
	Provider local.Provider
	// Functions are the functions of a Provider made of functions. They run in processes of their own, and Calls routes their calls.
	Functions []local.Provider
	// Calls are those calls; nil if Provider is not made of functions.
	Calls *cdkframework.Calls
	// Runtime configures the processes; Done, Providers, Log and Leaked are set by [Open].
	Runtime local.Config
	// Send delivers a document to a provider that is not a local process and has no URL. It returns once the receiver has
	// accepted the document, or an error. Nil means that Provider gets it.
	Send func(ctx context.Context, request wire.Request, document []byte) error
	// WebhookSecret signs requests to a URL, as it is in PINTLE_WEBHOOK_SECRET. Empty means that they are not signed.
	WebhookSecret string
	// Listen is the address where answers are taken. Empty means a port of loopback.
	Listen string
	// PublicURL is where providers find that address, with a path or without. Nil means by the address itself.
	PublicURL *url.URL
	// Log gets each redacted line of the processes, one after the other, with the request that it belongs to; empty if that
	// is none. Nil drops them.
	Log func(id wire.RequestID, line string)
}

// Session is a provider that gets one request after the other, or several at once, and all that comes back. Make one with
// [Open]; its methods may be called concurrently.
type Session struct {
	config  SessionConfig
	runtime *local.Runtime // nil if no process is ours
	signer  *responseurl.Signer
	// notifications signs the notifications of a topic, and serves the certificate.
	notifications *notification.Signer
	base          *url.URL
	server        *http.Server
	served        chan struct{}
	door          *loopbacktls.Endpoint // nil if only HTTP is spoken, or none of the provider's processes is ours
	stopped       context.Context       // ends when the session is closed
	stop          context.CancelFunc
	logs          sync.Mutex // guards calls of config.Log
	mu            sync.Mutex // guards exchange and strays
	exchange      map[wire.RequestID]*exchange
	strays        []Stray
}

// Stray is an answer to an unknown request, or one that arrived after its request had finished.
type Stray struct {
	// RequestID is the finished request, or "" if it is unknown.
	RequestID wire.RequestID
	Attempt
}

// Open starts to listen for answers. Processes are started by the first request. The caller closes the session.
func Open(ctx context.Context, c SessionConfig) (*Session, error) {
	if c.Log == nil {
		c.Log = func(wire.RequestID, string) {}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cmp.Or(c.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("listen for the answer: %w", err)
	}
	s := &Session{config: c, exchange: map[wire.RequestID]*exchange{}, served: make(chan struct{})}
	s.base = &url.URL{Scheme: "http", Host: reachable(listener.Addr())}
	if c.PublicURL != nil {
		s.base = c.PublicURL
	}
	closing := listener.Close
	if s.local() && loopbacktls.Covers(s.base) {
		if err := s.openDoor(listener); err != nil {
			return nil, errors.Join(err, closing())
		}
		listener, closing = s.door.Listener(), s.door.Close
	}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, closing())
	}
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	go func() { // until the server is closed
		defer close(s.served)
		_ = s.server.Serve(listener)
	}()
	return s, nil
}

// reachable returns the address at which this machine finds a listener: one that listens everywhere has none of its own.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}

// local reports whether the provider is a local process.
func (s *Session) local() bool {
	return s.config.Send == nil && s.config.Provider.Target.Kind() != local.URL
}

// openDoor makes the listener speak TLS too, with files in a temporary directory.
func (s *Session) openDoor(listener net.Listener) error {
	dir, err := os.MkdirTemp("", "pintle-trial-")
	if err != nil {
		return err
	}
	if s.door, err = loopbacktls.Open(loopbacktls.Config{Listener: listener, Dir: dir, Log: s.config.Runtime.Logger}); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	s.config.Runtime.Trust = s.door.Trust
	return nil
}

// prepare makes the signer and the runtime.
func (s *Session) prepare() (err error) {
	if s.signer, err = newSigner(s.responses()); err != nil {
		return err
	}
	if s.notifications, err = notification.NewSigner(notification.Config{PublicURL: s.base.String()}); err != nil || !s.local() {
		return err
	}
	c := s.config.Runtime
	c.Providers = append([]local.Provider{s.config.Provider}, s.config.Functions...)
	calls := s.config.Calls
	c.Log = func(_, id, line string) { // there may be several processes, at once or one after the other
		request := s.about(id)
		if e := s.find(request); e != nil {
			e.line(line)
		}
		s.logs.Lock()
		defer s.logs.Unlock()
		s.config.Log(request, line)
	}
	c.Leaked = func(_, id string, secrets []string) {
		if e := s.find(s.about(id)); e != nil {
			e.leak(secrets)
		}
	}
	c.Done = func(id string, o local.Outcome) {
		if calls != nil && calls.Done(id, o) {
			return
		}
		if e := s.find(wire.RequestID(id)); e != nil {
			end := End{Kind: o.Kind, Err: died(o), At: time.Now(), Delivered: o.Delivered, Invocation: o.Invocation, work: o.Work, result: o.Result}
			if o.Kind == local.InitFailed && (o.ExitCode != 0 || o.Signal != "") {
				end.Log = o.Log
			}
			e.end(end)
		}
	}
	if s.runtime, err = local.New(c); err == nil && calls != nil {
		calls.Use(s.runtime)
	}
	return err
}

// about returns the request that an event of a process is about.
func (s *Session) about(event string) wire.RequestID {
	if s.config.Calls != nil {
		if request, ok := s.config.Calls.Request(event); ok {
			return wire.RequestID(request)
		}
	}
	return wire.RequestID(event)
}

func (s *Session) find(id wire.RequestID) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exchange[id]
}

// responses is the part of all response URLs of CloudFormation.
func (s *Session) responses() *url.URL {
	u := *s.base
	u.Path = strings.TrimSuffix(u.Path, "/") + "/response"
	return &u
}

// Schema returns the output of the provider's program for the command schema. The error is that of [local.Runtime.Schema].
// A provider that is not a local process is not asked and has no schema.
func (s *Session) Schema(ctx context.Context) ([]byte, error) {
	if s.runtime == nil {
		return nil, local.ErrNoSchema
	}
	return s.runtime.Schema(ctx, s.config.Provider.Name)
}

// Restart has later requests handled by new processes, of the provider and of its functions. It returns false if none of
// them is ours.
func (s *Session) Restart() (bool, error) {
	if s.runtime == nil {
		return false, nil
	}
	some := false
	for _, p := range append([]local.Provider{s.config.Provider}, s.config.Functions...) {
		if p.Serve != nil {
			continue
		}
		if err := s.runtime.Set(p); err != nil {
			return false, err
		}
		some = true
	}
	return some, nil
}

// Strays returns the attempts that belong to no request that is under way.
func (s *Session) Strays() []Stray {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Stray(nil), s.strays...)
}

// Close ends the processes and stops listening. Nothing of the session is left when it returns.
func (s *Session) Close() error {
	s.stop()
	var err error
	if s.runtime != nil {
		err = s.runtime.Close()
	}
	// An answer that arrives at this moment gets the reply that it was accepted.
	soon, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.server.Shutdown(soon) != nil {
		err = errors.Join(err, s.server.Close())
	}
	<-s.served
	if s.door != nil {
		err = errors.Join(err, s.door.Close())
	}
	return err
}
