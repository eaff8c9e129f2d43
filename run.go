package pintle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// ErrNoRuntime is the error of [Run] in a program that nobody hands requests to.
var ErrNoRuntime = errors.New("AWS_LAMBDA_RUNTIME_API is not set")

const usage = `This program is a provider of custom resources. It does nothing by itself: something must hand it requests.

  On this machine:  pintle deploy DIR --provider NAME=%[1]s
  On AWS Lambda:    name it bootstrap, put it into a zip file, and make a function of it with the runtime provided.al2023

(AWS_LAMBDA_RUNTIME_API, which both of them set, is not set.)
`

// Config is how [Run] serves a provider.
type Config struct {
	// Handler answers the requests. Required.
	Handler Handler
	// RuntimeAPI is host and port of the Lambda Runtime API. Empty means the environment variable
	// AWS_LAMBDA_RUNTIME_API.
	RuntimeAPI string
	// Client sends the answers. Nil means one of its own, which heeds HTTPS_PROXY and tries for ten seconds at a time.
	Client *http.Client
	// Logger takes the log of the provider. Nil means text on standard error.
	Logger *slog.Logger
}

// Main serves the handler until the program is told to stop by an interrupt or SIGTERM, then ends the program: with
// status 0, with 1 after an error, or with 2 and an explanation if it was started by hand. A request that is being
// handled is finished first; a second signal ends the program at once.
func Main(h Handler) { os.Exit(run(h, os.Stderr)) }

func run(h Handler, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // from the first signal on, the next one has its usual effect
	log := slog.New(slog.NewTextHandler(stderr, nil))
	err := Run(ctx, Config{Handler: h, Logger: log})
	switch {
	case errors.Is(err, ErrNoRuntime):
		fmt.Fprintf(stderr, usage, os.Args[0])
		return 2
	case err != nil:
		log.Error("provider stopped", "error", err)
		return 1
	}
	return 0
}

// Run serves the handler as [Main] does, until the context ends, which is no error. A request that is being handled is
// finished first. It returns [ErrNoRuntime] if there is no runtime API, an error if that cannot be used any more, and
// an error if a handler was given up and is still running: then the program should end.
func Run(ctx context.Context, c Config) error {
	if c.RuntimeAPI == "" {
		c.RuntimeAPI = os.Getenv("AWS_LAMBDA_RUNTIME_API")
	}
	if c.RuntimeAPI == "" {
		return ErrNoRuntime
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	s := server{handler: c.Handler, api: newLambdaAPI(c.RuntimeAPI), sender: newSender(c.Client), log: c.Logger}
	defer s.api.client.CloseIdleConnections()
	if c.Client == nil {
		defer s.sender.client.CloseIdleConnections()
	}
	if c.Handler == nil {
		err := errors.New("provider has no handler")
		return errors.Join(err, s.api.failInit(ctx, "Pintle.NoHandler", err))
	}
	for {
		next, err := s.api.next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		// What has begun is finished: half an answer is worse than a late stop.
		if err := s.serve(context.WithoutCancel(ctx), next); err != nil {
			return err
		}
	}
}

// server deals with events one after the other.
type server struct {
	handler Handler
	api     lambdaAPI
	sender  sender
	log     *slog.Logger
}

// serve deals with one event. An error means that the program cannot go on.
func (s server) serve(ctx context.Context, i invocation) error {
	requests, err := unwrap(i.event)
	if err != nil {
		s.log.Error("event refused", "error", err)
		return s.api.fail(ctx, i.id, "Pintle.BadEvent", err)
	}
	var problems []error
	var running <-chan struct{}
	for n, text := range requests {
		if running != nil {
			problems = append(problems, fmt.Errorf("%d of %d requests in the event were not taken up", len(requests)-n, len(requests)))
			break
		}
		if running, err = s.answer(ctx, text, i.deadline); err != nil {
			problems = append(problems, err)
		}
	}
	// Only what was not answered may be repeated: a plain success keeps Lambda from calling again.
	if problem := errors.Join(problems...); problem != nil {
		s.log.Error("event not answered", "error", problem)
		err = s.api.fail(ctx, i.id, "Pintle.NotAnswered", problem)
	} else {
		err = s.api.succeed(ctx, i.id)
	}
	if err != nil || running == nil {
		return err
	}
	timer := time.NewTimer(time.Until(i.deadline))
	defer timer.Stop()
	select {
	case <-running:
		return nil
	case <-timer.C:
		return errors.New("a handler ran out of time and does not stop; the program ends so that it cannot go on")
	}
}

// answer deals with one request. The channel is not nil if its handler was given up, and closed when it returns.
func (s server) answer(ctx context.Context, text []byte, deadline time.Time) (<-chan struct{}, error) {
	start := time.Now()
	b := newBudget(start, deadline)
	r, err := wire.ParseRequest(text)
	log := requestLog(s.log, r)
	var w wire.Response
	var o outcome
	switch {
	case err != nil:
		var ok bool
		if w, ok = unanswerable(r, err); !ok {
			return nil, err
		}
	case r.RequestType == Delete && r.PhysicalResourceID == CreateFailed:
		log.Info("nothing to delete, the Create had failed")
		w = wire.ResponseTo(r, wire.Success)
	default:
		log.Info("request", "resourceType", r.ResourceType, "physicalId", r.PhysicalResourceID, "stack", r.StackID)
		o = ask(ctx, s.handler, newRequest(r, log), b)
		w = settle(r, o)
	}
	if o.err != nil {
		log.Error("handler failed", "error", wire.Redact(o.err.Error()))
	}
	data := o.response.Data
	if r.RequestType == Delete {
		data = nil
	}
	whole := w.Reason
	w, body, err := encode(w, data, o.response.NoEcho)
	if err != nil {
		return o.running, err
	}
	if whole != "" && w.Reason != whole {
		log.Warn("reason was cut to fit", "reason", whole)
	}
	ctx, cancel := context.WithDeadline(ctx, b.send)
	defer cancel()
	if err := s.sender.send(ctx, r.ResponseURL, body, log); err != nil {
		return o.running, err
	}
	log.Info("answered", "status", w.Status, "physicalId", w.PhysicalResourceID, "reason", w.Reason, "bytes", len(body),
		"took", time.Since(start).Round(time.Millisecond))
	return o.running, nil
}
