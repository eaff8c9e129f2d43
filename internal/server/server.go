// Package server is the HTTP server: response URLs, APIs, the console and health checks.
//
//	PUT  …/response/KEY?X-Amz-…   a provider response, authenticated by the signature in its URL
//	POST …/ros/response?…         a provider response to ROS, likewise
//	PUT  …/signal/KEY?X-Amz-…     a signal to a waiting resource, likewise
//	POST /                        Alibaba Cloud's RPC protocol, for the API of ROS, by its parameters or its headers
//	POST /                        AWS's Query protocol, for the API that the signature's service or the Version names;
//	                              likewise AWS's JSON protocol, for the Parameter Store
//	     /pintle/v1/…             the operator API, see package operator
//	     /console/…               the console, see package console
//	GET  /healthz, /readyz        liveness; readiness: the server takes requests and the store takes writes
//	GET  /metrics                 metrics for Prometheus, if they are served here
//
// # Authentication
//
// All endpoints except response URLs and health checks require a signature: AWS Signature Version 4 or Alibaba
// Cloud's ACS3 in the Authorization header, or Alibaba Cloud's signature in the parameters.
//
// A development server requires one too, but accepts any key that it does not know. Pages in a browser cannot send
// the header, because the server sends no CORS headers and refuses OPTIONS. The server recognizes parameters that a
// browser sent by the other headers of the request. It also accepts requests only under the names of this machine,
// which prevents DNS rebinding. All other servers verify the signature.
//
// # Limits
//
// The server limits headers, bodies, the duration of a request and the number of requests served at a time. Provider
// responses and API calls have separate slots. A request that gets no slot in time receives 503 with Retry-After.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/api/intake"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/api/sts"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config].
const (
	DefaultConcurrency = 256              // provider responses, and as many calls, at a time
	DefaultConnections = 1024             // connections without an authenticated request
	DefaultWait        = 5 * time.Second  // for a slot
	DefaultTimeout     = 30 * time.Second // of one request, once its body was read
	DefaultDrain       = 10 * time.Second // for requests in flight when Serve is stopped
)

// Connection limits that have no setting.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10 // bytes
)

// Config configures a [Server]. Each field documents its zero value.
type Config struct {
	// Engine processes responses and calls. Store is for reads. Both are required.
	Engine *engine.Engine
	Store  store.Store
	// Signer checks response URLs. Required.
	Signer *responseurl.Signer
	// Signals checks signal URLs only: its base is PublicURL/signal. Nil disables signals.
	Signals *responseurl.Signer
	// ROS configures provider responses to ROS. The zero value accepts none.
	ROS ROSAnswers
	// Keys finds an access key by its ID, as [sigv4.Keys.Lookup] does. Required unless Dev.
	Keys func(id string) (sigv4.Key, bool)
	// Dev accepts any key that Keys does not know, but only under loopback names. The caller ensures that Listener is
	// a loopback listener.
	Dev bool
	// Sessions issues and verifies the keys of assumed roles. Nil means that no role can be assumed.
	Sessions *sigv4.Sessions
	// Account is the account of unknown keys in Dev; empty means [sigv4.DefaultAccount].
	Account string
	// Listener is the listener of [Server.Serve], which closes it.
	Listener net.Listener
	// PublicURL is the URL under which providers reach this server. Only its path is used here. Nil means a URL
	// without a path.
	PublicURL *url.URL
	// Services are additional services, by their names in the scope of a signature.
	Services map[string]Service
	// Bodies are the maximum body lengths by service, in bytes. The default is [sigv4.DefaultMaxBody].
	Bodies map[string]int64
	// Intake reads the bodies of calls that are not authenticated yet. Nil means one with the defaults of package
	// intake.
	Intake *intake.Bodies
	// Connections is the maximum number of open connections without an authenticated request. One address may have
	// half of them. Beyond that, a new connection closes the oldest. Zero means [DefaultConnections].
	Connections int
	// Console serves the pages under [ConsolePath] and authenticates them itself. Nil disables the console.
	Console http.Handler
	// Unsigned returns the handler of a request that needs no signature, and nil for a request that needs one. A nil
	// func means that all requests need one.
	Unsigned func(*http.Request) http.Handler
	// Patience is [cloudformation.Config.Patience].
	Patience time.Duration
	// FidelityAWS is [cloudformation.Config.FidelityAWS].
	FidelityAWS bool
	// Drift is [cloudformation.Config.Drift] and [ros.Config.Drift].
	Drift cloudformation.Drift
	// Texts fetches templates that calls pass by URL. Nil disables this.
	Texts cloudformation.Texts
	// Version is the program version that the operator API reports. Hooks connect that API to other parts of the
	// program.
	Version string
	// Forward is [operator.Config.Forward].
	Forward []string
	Hooks   operator.Hooks
	// TokenKey signs paging tokens. It has at least 16 bytes, and all nodes share it. Nil means a random key, so that
	// tokens become invalid when the process exits.
	TokenKey []byte
	// Metrics answers scrapes and authenticates them itself. Nil disables the endpoint.
	Metrics http.Handler
	// Served is called after every request, with its endpoint, one of [Endpoints], the status of the reply, 0 if
	// there was no reply, and the duration. It must not block. Nil is not called.
	Served func(door string, status int, took time.Duration)
	// Called is called with the identity of the caller before a call of an AWS service is served. changes reports
	// whether the call may change something. The returned func, unless nil, is called once if the call then fails.
	// Nil is not called.
	Called func(id sigv4.Identity, changes func() bool) (failed func())
	// Audit gets every call that may change something, after the call was served. Nil disables this.
	Audit func(audit.Entry)
	// Local reports whether an access key belongs to the local user. Nil means that no key does.
	Local func(keyID string) bool
	// ReadyCheck returns an error if requests cannot be served. Nil means the Ping method of Store.
	ReadyCheck func(context.Context) error
	// Log gets messages for operators, and every request at debug level. Nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Concurrency is the maximum number of provider responses, and of calls, served at a time. Zero means
	// [DefaultConcurrency].
	Concurrency int
	// Wait is how long a request waits for a slot. Zero means [DefaultWait].
	Wait time.Duration
	// Timeout bounds the serving of one request. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Drain is how long Serve waits for requests in flight after it is stopped. Zero means [DefaultDrain].
	Drain time.Duration
}

// Server serves all endpoints. Create one with [New].
type Server struct {
	config     Config
	log        *slog.Logger
	verifier   *sigv4.Verifier
	responses  string // the path before response keys
	signals    string // the path before signal keys
	rosAnswers string // the path of ROS response URLs
	rosSignals string // the path of ROS signal URLs
	services   services
	operator   http.Handler
	ros        *rpc.Service
	calling    *rpc.Verifier // verifies ROS calls
	answers    turns
	calls      turns
	pages      turns
	// connections are the connections that Serve has accepted.
	connections *intake.Connections
	ready       readiness
	draining    atomic.Bool
	// hard cancels the requests that are still in flight after the drain.
	hard context.Context
	stop context.CancelFunc
	// soft ends streams, which otherwise have no end, when the server is stopped.
	soft  context.Context
	leave context.CancelFunc
}

// New returns a server. It returns an error if config is invalid.
func New(config Config) (*Server, error) {
	switch {
	case config.Engine == nil || config.Store == nil || config.Signer == nil:
		return nil, errors.New("server: the engine, the store and the signer of response URLs are required")
	case config.Concurrency < 0 || config.Wait < 0 || config.Timeout < 0 || config.Drain < 0, config.Connections < 0:
		return nil, errors.New("server: Concurrency, Connections, Wait, Timeout and Drain must not be negative")
	case config.ROS.Limit < 0 || config.ROS.Limit > wire.MaxROSResponse:
		return nil, fmt.Errorf("server: ROS.Limit must be from 0 to %d", wire.MaxROSResponse)
	}
	config.ROS.Limit = cmp.Or(config.ROS.Limit, wire.MaxResponse)
	config.Concurrency = cmp.Or(config.Concurrency, DefaultConcurrency)
	config.Connections = cmp.Or(config.Connections, DefaultConnections)
	config.Wait = cmp.Or(config.Wait, DefaultWait)
	config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
	config.Drain = cmp.Or(config.Drain, DefaultDrain)
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Intake == nil {
		config.Intake = intake.New(intake.Config{})
	}
	if config.Served == nil {
		config.Served = func(string, int, time.Duration) {}
	}
	if config.ReadyCheck == nil {
		config.ReadyCheck = config.Store.Ping
	}
	s := &Server{
		config: config, log: config.Log, responses: "/" + ResponsePath + "/", signals: "/" + SignalPath + "/", rosAnswers: "/" + ROSResponsePath,
		rosSignals: "/" + ROSSignalPath,
		answers:    newTurns(config.Concurrency, config.Wait), calls: newTurns(config.Concurrency, config.Wait),
		pages: newTurns(config.Concurrency, config.Wait), connections: intake.NewConnections(config.Connections),
	}
	if config.PublicURL != nil {
		base := strings.TrimSuffix(config.PublicURL.Path, "/")
		s.responses, s.signals, s.rosAnswers, s.rosSignals = base+s.responses, base+s.signals, base+s.rosAnswers, base+s.rosSignals
	}
	var err error
	s.verifier, err = sigv4.New(sigv4.Config{
		Lookup: config.Keys, Dev: config.Dev, Account: config.Account, Now: config.Now, Bodies: config.Bodies, Sessions: config.Sessions,
		Intake: config.Intake,
	})
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := s.addServices(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := s.openROS(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.hard, s.stop = context.WithCancel(context.Background())
	s.soft, s.leave = context.WithCancel(s.hard)
	return s, nil
}

// addServices creates the services.
func (s *Server) addServices() error {
	tokens, err := query.NewTokens(s.config.TokenKey)
	if err != nil {
		return err
	}
	stacks, err := cloudformation.New(cloudformation.Config{
		Engine: s.config.Engine, Rows: s.config.Store, Texts: s.config.Texts, Tokens: tokens, Log: s.log, Patience: s.config.Patience,
		FidelityAWS: s.config.FidelityAWS,
		Drift:       s.config.Drift,
		Caller:      sigv4.Caller,
	})
	if err != nil {
		return err
	}
	identities, err := sts.New(sts.Config{
		Issue: s.issue(), AnyAccount: s.config.Dev, Now: s.config.Now, Log: s.log,
		Caller: sigv4.Caller,
	})
	if err != nil {
		return err
	}
	s.services = services{"cloudformation": QueryService(stacks, cloudformation.Version), "sts": QueryService(identities, sts.Version)}
	for service, face := range s.config.Services {
		face.turns = newTurns(s.config.Concurrency, s.config.Wait)
		s.services[service] = face
	}
	s.operator, err = operator.New(operator.Config{
		Engine: s.config.Engine, Rows: s.config.Store, Version: s.config.Version, Forward: s.config.Forward, Hooks: s.config.Hooks,
		Now: s.config.Now, Log: s.log,
		Caller: sigv4.Caller, ROSCaller: func(ctx context.Context) string { return callerInROS(ctx).ID },
	})
	return err
}

// issue returns the func that issues the keys of assumed roles, or nil if no role can be assumed.
func (s *Server) issue() func(sts.Session) sts.Keys {
	if s.config.Sessions == nil {
		return nil
	}
	return func(asked sts.Session) sts.Keys {
		session := sigv4.Session(asked)
		made := s.config.Sessions.Issue(session)
		return sts.Keys{
			ID: made.ID, Secret: string(made.Secret), Token: string(made.Token), ARN: session.ARN(), UserID: session.UserID(),
		}
	}
}

// Handler returns the handler of all endpoints. Use it to embed the server in another HTTP server.
func (s *Server) Handler() http.Handler { return s.exchange(http.HandlerFunc(s.route)) }

// Serve serves the listener until ctx ends. It then reports not ready, closes the listener and waits up to
// Config.Drain for requests in flight. It cancels the requests that remain, and returns an error that says so. No
// goroutine is left when it returns. Call it at most once.
func (s *Server) Serve(ctx context.Context) error {
	if s.config.Listener == nil {
		return errors.New("serve: no listener")
	}
	defer s.stop()
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		// A reply may have to wait for the body, a slot and the engine.
		WriteTimeout:   readTimeout + s.config.Wait + s.config.Timeout + 5*time.Second,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeader,
		// The server refuses OPTIONS * like any other OPTIONS request.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // mostly broken connections
		BaseContext:                  func(net.Listener) context.Context { return s.hard },
		ConnState:                    s.connections.State,
		ConnContext:                  s.connections.Context,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(s.config.Listener) }()
	select {
	case err := <-served:
		s.draining.Store(true)
		s.stop()
		_ = server.Close() // report the error of the listener instead
		s.connections.Wait()
		return fmt.Errorf("serve %s: %w", s.config.Listener.Addr(), err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	s.leave()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Drain)
	defer cancel()
	err := server.Shutdown(bounded)
	if err != nil {
		err = fmt.Errorf("requests were still being served after %v, and were cut off: %w", s.config.Drain, err)
		s.stop()
		_ = server.Close() // only reports that the listener is closed
	}
	<-served
	s.connections.Wait()
	return err
}
