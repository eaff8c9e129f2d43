// Package server is the HTTP server: response URLs, APIs, the console and health checks.
//
//	PUT  …/response/KEY?X-Amz-…   the answer to a request, authenticated by the URL's own signature
//	POST …/ros/response?…         the answer to a request of ROS, likewise by the signature in its URL
//	PUT  …/signal/KEY?X-Amz-…     a signal to a resource that waits for it, likewise
//	POST /                        Alibaba Cloud's RPC protocol, to the API of ROS, by its parameters or its headers
//	POST /                        AWS's Query protocol, to the API that the signature's service or the Version names
//	                              likewise AWS's JSON protocol, to the Parameter Store
//	     /pintle/v1/…             Pintle's own API, see package operator
//	     /console/…               pages for people, see package console
//	GET  /healthz, /readyz        the process lives; it takes requests and its store takes writes
//	GET  /metrics                 what Prometheus asks, if the server is to tell that here
//
// # Who may enter
//
// Everything but answers and health needs an Authorization header of AWS Signature Version 4 or of Alibaba Cloud's ACS3, or
// Alibaba Cloud's signature in the parameters; also on a development server, where any key is good that it does not know: a page
// in a browser cannot send that header, for there are no CORS headers here and OPTIONS is refused, and what a browser has sent in
// parameters is known by its other headers. A development server moreover takes requests only under a name of this
// machine, so that no foreign name can be pointed at it. Otherwise the signature is verified.
//
// # What is kept small
//
// Headers, bodies, the time a request takes and how many are served at a time are all bounded; answers and calls do not
// take each other's turns. A request that finds no turn is told 503 and when to come back.
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
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config].
const (
	DefaultConcurrency = 256              // answers, and as many calls, at a time
	DefaultConnections = 1024             // on which no request was authenticated yet
	DefaultWait        = 5 * time.Second  // for a turn
	DefaultTimeout     = 30 * time.Second // of one request, once its body is here
	DefaultDrain       = 10 * time.Second // of what is being served when Serve is asked to end
)

// Bounds of a connection that have no setting.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10 // bytes
)

// Config is what a [Server] is made of. Zero fields mean what they say.
type Config struct {
	// Engine answers and Store is read. Required.
	Engine *engine.Engine
	Store  store.Store
	// Signer checks response URLs. Required.
	Signer *wire.Signer
	// Signals checks the URLs that signals are sent to, and nothing else: its base is PublicURL/signal. Nil takes none.
	Signals *wire.Signer
	// ROS is how the answers of providers to ROS are taken; the zero value takes none.
	ROS ROSAnswers
	// Keys finds the access key of an id; [sigv4.Keys.Lookup] is one. Required unless Dev.
	Keys func(id string) (sigv4.Key, bool)
	// Dev takes any key that Keys does not know, but only under loopback names. The caller sees to it that Listener is a
	// loopback one.
	Dev bool
	// Sessions makes and knows the keys of those who have assumed a role. Nil means that no role can be assumed.
	Sessions *sigv4.Sessions
	// Account is the account of unknown keys in Dev; empty means [sigv4.DefaultAccount].
	Account string
	// Listener is what [Server.Serve] takes connections from, and closes.
	Listener net.Listener
	// PublicURL is where providers reach this server; only its path matters here. Nil means a URL without a path.
	PublicURL *url.URL
	// Faces are more services, by their names in the scope of a signature.
	Services map[string]Service
	// Bodies says how long the bodies of calls to a service may be, in bytes, where that is not [sigv4.DefaultMaxBody].
	Bodies map[string]int64
	// Intake reads the bodies of calls whose caller is not known yet. Nil means one of its own with the defaults of package intake.
	Intake *intake.Bodies
	// Connections is how many connections may be open on which no request was authenticated yet. An address may have half of them. Beyond
	// that, the oldest makes way for a new one. Zero means [DefaultConnections].
	Connections int
	// Console serves pages for people under [ConsolePath], and authenticates them itself. Nil serves none.
	Console http.Handler
	// Unsigned returns what serves a request that needs no signature, nil for those that do. Nil means that none is such.
	Unsigned func(*http.Request) http.Handler
	// Patience is [cloudformation.Config.Patience].
	Patience time.Duration
	// FidelityAWS is [cloudformation.Config.FidelityAWS].
	FidelityAWS bool
	// Drift is [cloudformation.Config.Drift].
	Drift cloudformation.Drift
	// Texts fetches templates that calls only name; nil fetches none.
	Texts cloudformation.Texts
	// Version is what the operator API reports of the program, and Hooks are its ends in other parts of it.
	Version string
	Hooks   operator.Hooks
	// TokenKey signs paging tokens, at least 16 bytes that all nodes share. Nil means tokens that end with the process.
	TokenKey []byte
	// Metrics answers scrapes; nil means that this is not the place for them. It does the asking for tokens itself.
	Metrics http.Handler
	// Served is notified of every request that was served: whose it was, one of the words of [Endpoints], the status of the answer, 0 if
	// there was none, and how long it took. It must not block. Nil gets nothing.
	Served func(door string, status int, took time.Duration)
	// Called is called with who makes a call of an AWS service, before the call is served. changes reports whether the call may
	// change something. The returned func, unless it is nil, is called once if the call then fails. Nil is not called.
	Called func(id sigv4.Identity, changes func() bool) (failed func())
	// Audit gets every call that may change something, once it was served. Nil gets nothing.
	Audit func(audit.Entry)
	// Local reports whether an access key is the one of the local user; nil means that there is none.
	Local func(keyID string) bool
	// ReadyCheck says whether requests can be served; nil means the store's Ping.
	ReadyCheck func(context.Context) error
	// Log gets what operators should know, and every request at debug level; nil discards it.
	Log *slog.Logger
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Concurrency is how many answers, and how many calls, are served at a time. Zero means [DefaultConcurrency].
	Concurrency int
	// Wait is how long a request waits for its turn. Zero means [DefaultWait].
	Wait time.Duration
	// Timeout bounds the serving of one request. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Drain is how long Serve waits for what is being served when it is asked to end. Zero means [DefaultDrain].
	Drain time.Duration
}

// Server serves the endpoint. Make one with [New].
type Server struct {
	config     Config
	log        *slog.Logger
	verifier   *sigv4.Verifier
	responses  string // the path before response keys
	signals    string // the path before those of signals
	rosAnswers string // the path of response URLs of ROS
	rosSignals string // the path of the URLs of its handles
	services   services
	operator   http.Handler
	ros        *rpc.Service
	calling    *rpc.Verifier // of ROS's calls
	answers    turns
	calls      turns
	pages      turns
	// connections are those that Serve has accepted.
	connections *intake.Connections
	ready       readiness
	draining    atomic.Bool
	// hard ends what is still being served after the drain.
	hard context.Context
	stop context.CancelFunc
	// soft ends what would continue for as long as it is let, when the server is asked to end.
	soft  context.Context
	leave context.CancelFunc
}

// New returns a server. It returns an error if the config lacks something.
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

// addServices makes the services, each with its own view of who is calling.
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
		Engine: s.config.Engine, Rows: s.config.Store, Version: s.config.Version, Hooks: s.config.Hooks,
		Now: s.config.Now, Log: s.log,
		Caller: sigv4.Caller,
	})
	return err
}

// issue returns what makes the keys of those who assume a role; nil if no one can.
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

// Handler returns the handler of all routes, for a server of the caller's own.
func (s *Server) Handler() http.Handler { return s.exchange(http.HandlerFunc(s.route)) }

// Serve serves the listener until ctx ends. Then readiness goes red, the listener is closed, and what is being served
// is waited for, no longer than Config.Drain; what is not done by then is cut off, and the error says so. No goroutine
// of it is left when it returns. It may be called once.
func (s *Server) Serve(ctx context.Context) error {
	if s.config.Listener == nil {
		return errors.New("serve: no listener")
	}
	defer s.stop()
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		// A reply may have to wait for the body, a turn and the engine.
		WriteTimeout:   readTimeout + s.config.Wait + s.config.Timeout + 5*time.Second,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeader,
		// OPTIONS * is refused as any other OPTIONS is.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // of broken connections, mostly
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
		_ = server.Close() // the listener has failed, that is the error to tell
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
		_ = server.Close() // its error is that of the listener, which is closed
	}
	<-served
	s.connections.Wait()
	return err
}
