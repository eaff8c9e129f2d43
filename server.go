package pintle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// ServerConfig configures a [Server]. The server reads nothing from the environment.
type ServerConfig struct {
	// Handlers answer the requests, each handler those of its resource type: see [For]. At least one is required.
	Handlers []Handler
	// WebhookSecrets sign HTTP requests. They have the form whsec_… or are the raw bytes, at least 24. With several
	// secrets you can rotate one without downtime. The command "pintle env" prints the secret of the engine.
	WebhookSecrets []string
	// Topics are the ARNs of the SNS topics whose notifications are accepted over HTTP and whose subscriptions the server
	// confirms. For ROS they are topics of SMQ, like acs:mns:REGION:ACCOUNT:topics/NAME.
	Topics []string
	// SNSEndpoint is the URL of the SNS that sends the notifications, if it is not Amazon's, such as Pintle's. Empty
	// means Amazon's.
	SNSEndpoint string
	// AllowUnsigned accepts unsigned HTTP requests. Anyone who can reach the server can then make it act and send an
	// answer to any URL. [Run] allows it only on a loopback address. The server then rejects requests from browsers.
	AllowUnsigned bool
	// Hold is how long an HTTP request stays open, so that the reply can be the answer. A later answer goes to the
	// response URL. Zero means 20 seconds; with a negative value no request stays open.
	Hold time.Duration
	// Concurrency is the number of HTTP requests handled at once; further ones get status 503. Zero means 100.
	Concurrency int
	// ROS configures requests of Alibaba Cloud ROS.
	ROS ROSConfig
	// Client sends the answers and fetches the certificates of SNS. Nil means a client that respects HTTPS_PROXY and
	// gives each try ten seconds.
	Client *http.Client
	// Idempotency stores the answers for requests that are delivered again. Nil means a [NewMemoryStore].
	Idempotency IdempotencyStore
	// Waiter keeps requests whose operations are in progress, see [Poller]. If it is nil, the server waits in place,
	// within the time of the request. For programs that it hosts, Pintle keeps the waits itself.
	Waiter Waiter
	// Logger is the log of the provider. Nil means short text on standard error.
	Logger *slog.Logger
}

// Server answers requests. It calls the handlers, makes sure that every request gets one answer that the service accepts,
// and sends the answer. [Main] and [Run] create their own Server. A Server is an [http.Handler] for programs with an HTTP
// server. [Server.ServeEvent] is for programs with a Lambda loop. Its methods are safe for concurrent use.
//
// An answer has at most 4,096 bytes. A longer reason loses its middle. Attributes that do not fit make the request
// FAILED, with a reason that names the largest. The server retries sending an answer until it arrives, within the time of
// the request. Response URLs, properties and attributes never appear in a log, a reason or an error.
type Server struct {
	handler Handler
	sender  sender
	log     *slog.Logger
	store   IdempotencyStore
	waiter  Waiter // nil: no waiter
	clock   clock.Clock
	calls   calls
	turns   turns
	web     web
	ros     ROSConfig
	work    sync.WaitGroup // of HTTP requests
}

// NewServer returns a server. The error describes an invalid configuration.
func NewServer(c ServerConfig) (*Server, error) {
	handler, err := newRouter(c.Handlers)
	if err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = textLogger(os.Stderr)
	}
	now := clock.Of(c.Idempotency)
	if c.Idempotency == nil {
		c.Idempotency = newMemoryStore(0, now)
	}
	s := &Server{
		handler: handler, sender: newSender(c.Client, now), log: c.Logger, store: c.Idempotency, waiter: c.Waiter, clock: now,
		calls: calls{now: map[string]*call{}}, turns: turns{held: map[string]*turn{}},
	}
	s.handler = rosGuard{handler}
	if s.ros, err = c.ROS.withDefaults(); err != nil {
		return nil, err
	}
	if s.web, err = newWeb(c, s.sender.client); err != nil {
		return nil, err
	}
	return s, nil
}

// ErrHandlerStuck is the error of [Server.ServeEvent] when a handler ignored its deadline and has not returned by the end
// of the context. The process should then exit: the handler could otherwise run at the same time as a Delete of what it
// makes.
var ErrHandlerStuck = errors.New("a handler ran out of time and does not stop; the program ends so that it cannot continue")

// ServeEvent handles an event of Lambda or Function Compute: a request, or SNS notifications that contain requests. It
// sends the answers. It returns nil when all have arrived or [ServerConfig.Waiter] has taken over the operations in
// progress. The function must then return without an error, or Lambda calls it again. The context's deadline is that of
// the function; without one it is 15 minutes from now. Cancelling the context does not stop an event in progress. For
// programs on aws-lambda-go:
//
//	lambda.Start(func(ctx context.Context, event json.RawMessage) error { return server.ServeEvent(ctx, event) })
//
// With an [EventWaiter] the function must also return a result: see [Server.Invoke].
func (s *Server) ServeEvent(ctx context.Context, event []byte) error {
	_, err := s.Invoke(ctx, event)
	return err
}

// Invoke is [Server.ServeEvent] with the result that the function must return: JSON, "{}" for a request, or the
// answer to a [Plan].
func (s *Server) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = s.clock.Now().Add(15 * time.Minute)
	}
	result, running, err := s.event(context.WithoutCancel(ctx), event, deadline, false)
	if running == nil {
		return result, err
	}
	return result, errors.Join(err, s.join(context.WithoutCancel(ctx), running, deadline))
}

// nothing is the result of an event without one.
var nothing = []byte("{}")

// event answers the requests in an event and returns the result of the function. The channel is not nil if a handler was
// abandoned; it is closed when that handler returns. hosted means that the engine hosts this program and keeps its waits.
func (s *Server) event(ctx context.Context, event []byte, deadline time.Time, hosted bool) ([]byte, <-chan struct{}, error) {
	if waiter, ok := s.waiter.(EventWaiter); ok {
		// The deadline is added to the context for Resume.
		bounded, stop := s.clock.WithDeadline(ctx, deadline)
		defer stop()
		if result, ok, err := waiter.Event(bounded, event, s.Resume); ok {
			return result, nil, err
		}
		hosted = false // the program has its own waiter
	}
	if hosted {
		if resume, ok, err := wire.ParseResume(event); ok {
			return s.hostedResume(ctx, resume, err, deadline)
		}
	}
	requests, err := unwrap(event)
	if err != nil {
		return nil, nil, &badEventError{err}
	}
	result := nothing
	var problems []error
	for n, text := range requests {
		d := delivery{text: text, deadline: deadline, hosted: hosted && len(requests) == 1} // a reply can report only one wait
		a, err := s.take(ctx, d)
		switch {
		case err != nil:
		case a.request.RequestType == Plan:
			result = a.body
		case a.waiting == nil:
			err = s.send(ctx, a)
		case d.hosted:
			result, err = waitingReply(a.waiting)
		}
		if err != nil {
			problems = append(problems, err)
		}
		if a.running != nil {
			if left := len(requests) - n - 1; left > 0 {
				problems = append(problems, fmt.Errorf("%d of %d requests in the event were not taken up", left, len(requests)))
			}
			return result, a.running, errors.Join(problems...)
		}
	}
	// Only requests that were not answered may be repeated: a plain success keeps Lambda from calling again.
	return result, nil, errors.Join(problems...)
}

// badEventError is the error of an event without requests.
type badEventError struct{ error }

// join waits for an abandoned handler.
func (s *Server) join(ctx context.Context, running <-chan struct{}, deadline time.Time) error {
	ctx, stop := s.clock.WithDeadline(ctx, deadline)
	defer stop()
	select {
	case <-running:
		return nil
	case <-ctx.Done():
		return ErrHandlerStuck
	}
}

// answered is the result of a request.
type answered struct {
	request  wire.Request
	response wire.Response
	body     []byte // the response, encoded
	by       time.Time
	start    time.Time
	log      *slog.Logger
	running  <-chan struct{} // closed when an abandoned handler returns; nil if none was abandoned
	waiting  *Pending        // the wait that was handed over; nil if there is an answer
}

// delivery is a request that arrives or is resumed.
type delivery struct {
	text     []byte
	deadline time.Time
	hosted   bool   // the engine that sent the request takes the wait over
	inPlace  bool   // no handover: the answer must be in the reply
	key      string // from the record of a wait; otherwise it is computed from the text
	resumed  *wait  // the resumed wait; nil for a request that arrives
	refused  error  // the reason why the wait cannot be resumed
}

// take has a request handled once, however often it is delivered, and returns the answer or the wait. An error means that
// the request cannot be answered.
func (s *Server) take(ctx context.Context, d delivery) (answered, error) {
	start := s.clock.Now()
	r, err := wire.ParseRequest(d.text)
	hide := newSecrets()
	hide.Add(urlSecrets(r)...)
	a := answered{request: r, start: start, log: requestLog(slog.New(redactedLog{s.log.Handler(), hide}), r)}
	w := &handover{able: !d.inPlace && (d.hosted || s.waiter != nil || d.resumed != nil), began: start, resumed: d.resumed}
	service := start.Add(s.listens(r)) // an answer after that is ignored
	if d.resumed != nil {
		hide.Add(d.resumed.Secrets...)
		w.began = d.resumed.Began
		service = w.began.Add(s.listens(r))
		w.limit = newBudget(w.began, service).handler
		service = latest(service, start.Add(lateGrace))
	} else {
		w.limit = newBudget(start, service).handler
	}
	if service.Before(d.deadline) {
		d.deadline = service
	}
	b := newBudget(start, d.deadline)
	a.by = b.send
	if err != nil {
		response, ok := unanswerable(r, err)
		if !ok || r.RequestType == Plan {
			return a, err
		}
		return s.encode(a, response, Answer{}, hide)
	}
	if r.RequestType == Plan {
		return s.plan(ctx, a, b, hide)
	}
	if r.RequestType == Delete && (r.PhysicalResourceID == CreateFailed || r.PhysicalResourceID == cdkCreateFailed) {
		a.log.Info("nothing to delete, the Create had failed")
		return s.encode(a, wire.ResponseTo(r, wire.Success), Answer{}, hide)
	}
	key := cmp.Or(d.key, requestKey(r))
	c, first := s.calls.begin(key)
	for !first {
		a.log.Info("the request is being handled already, waiting for its answer")
		other, err := s.wait(ctx, a, c, b)
		if err != nil || other.waiting == nil || d.resumed == nil || c.resumed {
			return other, err
		}
		// The other call was a delivery, which found or started the wait. The resumed wait has the current progress.
		c, first = s.calls.begin(key)
	}
	c.resumed = d.resumed != nil
	defer s.calls.end(key, c)
	switch kept, ok := s.recall(ctx, key, a.log); {
	case d.resumed != nil && d.resumed.Body != nil:
		a.body = d.resumed.Body
		a.response, err = r.Dialect.ParseResponse(a.body)
		c.body = a.body
		return a, err
	case ok && kept.Body != nil:
		a.log.Info("the request was handled before, it is answered as it was")
		a.body = kept.Body
		a.response, err = r.Dialect.ParseResponse(kept.Body)
		c.body = kept.Body
		return a, err
	case ok && d.resumed == nil && d.hosted && kept.Waiting != nil:
		a.log.Info("the request waits already")
		a.waiting = s.again(kept.Waiting, key, d.text)
		c.waiting = a.waiting
		return a, nil
	}
	if d.resumed == nil && !d.hosted && !d.inPlace && s.waiter != nil {
		bounded, stop := s.clock.WithDeadline(ctx, b.handler)
		waits, err := s.waiter.Waits(bounded, key)
		stop()
		if err != nil {
			a.log.Error("the waiter cannot be asked whether the request waits", "error", err)
		} else if waits {
			a.log.Info("the request waits already")
			a.waiting = &Pending{Key: key}
			c.waiting = a.waiting
			return a, nil
		}
	}
	switch {
	case d.refused != nil:
		a, err = s.refuse(a, d, hide)
	default:
		if d.resumed == nil {
			a.log.Info(logArrival, logStack, string(r.StackID), "resourceType", r.ResourceType, "physicalId", r.PhysicalResourceID)
			if w.able {
				s.arrive(ctx, a)
			}
		}
		a, err = s.handle(ctx, a, b, hide, w, d, key)
	}
	if err == nil {
		s.remember(ctx, key, a)
		c.body, c.waiting = a.body, a.waiting
	}
	return a, err
}

// handle calls the handler once no other request of the resource is in progress.
func (s *Server) handle(ctx context.Context, a answered, b budget, hide *redact.Secrets, w *handover, d delivery, key string) (answered, error) {
	r := newRequest(a.request, a.log)
	r.surroundings = surroundings{log: a.log, clock: s.clock, store: s.store, hide: hide, deadline: b.handler, wait: w, plain: s.ros.PlainSecrets}
	var o outcome
	var known Answer // the ID of the new resource, if known
	if w.resumed != nil {
		known = w.resumed.made(r.Type, r.ID) // read now, because an abandoned handler may still write to it
	}
	if done, ok := s.turns.take(ctx, s.clock, a.request, b.handler); ok {
		if d.resumed != nil {
			w.overtaken = s.overtaken(ctx, a, w.began)
		}
		o = ask(ctx, s.handler, r, b)
		// An abandoned handler may still write to w.
		if o.running == nil && w.next != nil {
			if a.waiting = s.handOver(ctx, a, hide, w, d, key); a.waiting != nil {
				done()
				return a, nil
			}
			w.able, w.resumed, w.next = false, w.next, nil
			known = w.resumed.made(r.Type, r.ID)
			o = ask(ctx, s.handler, r, b)
		}
		if o.running == nil {
			done()
		} else {
			s.work.Go(func() { // ends with the handler
				<-o.running
				done()
			})
		}
	} else {
		o.err = errors.New("an earlier request of this resource is still being handled")
		if d.resumed != nil {
			return a, errors.New("another request of this resource is still being handled") // it can be resumed later
		}
		if a.request.RequestType == Create {
			o.answer.ID = PhysicalID(a.request.RequestID) // the earlier request's resource must be deleted
		}
	}
	if o.err != nil {
		a.log.Error("handler failed", "error", logText(o.err))
	}
	a.running = o.running
	if o.running != nil {
		o.answer.ID, o.answer.Replaces = known.ID, known.Replaces // the Delete must have that ID
	}
	if raw, secrets, err := clearJSON(o.answer.Attributes); err == nil { // encode reports the error
		o.answer.NoEcho = o.answer.NoEcho || holdsSecret(raw, hide) || idHolds(a.request, string(o.answer.ID), hide)
		hide.Add(secrets...)
	}
	return s.encode(a, settle(a.request, o, hide), o.answer, hide)
}

// encode shortens the answer if necessary and encodes it.
func (s *Server) encode(a answered, w wire.Response, answer Answer, hide *redact.Secrets) (answered, error) {
	data := answer.Attributes
	if a.request.RequestType == Delete {
		data, answer.NoEcho = nil, false
	}
	w = s.shown(a, w, answer, hide)
	whole := w.Reason
	var err error
	if a.response, a.body, err = encode(w, data, answer.NoEcho); err != nil {
		return a, err
	}
	was := a.request.PhysicalResourceID
	if a.request.RequestType == Update && w.Status == wire.Success && a.response.Status == wire.Failed && w.PhysicalResourceID != was {
		// Its attributes cannot be sent. With the new ID the service would later delete the old resource, which is still in use.
		a.log.Error("the replacement cannot be answered and is left behind", "physicalId", w.PhysicalResourceID)
		a.response.PhysicalResourceID = was
		if a.response, a.body, err = cutReason(a.response); err != nil {
			return a, err
		}
	}
	if whole != "" && a.response.Reason != whole {
		a.log.Warn("reason was cut to fit", "reason", whole)
	}
	return a, nil
}

// send sends the answer to the response URL.
func (s *Server) send(ctx context.Context, a answered) error {
	if a.request.RequestType == Plan {
		return errPlanReply
	}
	ctx, cancel := s.clock.WithDeadline(ctx, a.by)
	defer cancel()
	if err := s.sender.send(ctx, a.request.Dialect, s.responseURL(a.request), a.body, a.log); err != nil {
		a.log.Error("not answered", "error", err)
		hide := newSecrets()
		hide.Add(urlSecrets(a.request)...)
		if clean := redacted(hide, err.Error()); clean != err.Error() { // the server may quote the URL
			err = errors.New(clean)
		}
		return err
	}
	s.sent(a)
	return nil
}

func (s *Server) sent(a answered) {
	if a.request.RequestType == Plan {
		return // the log has the plan
	}
	a.log.Info("answered", "status", a.response.Status, "physicalId", a.response.PhysicalResourceID,
		"reason", a.response.Reason, "bytes", len(a.body), "took", s.clock.Now().Sub(a.start).Round(time.Millisecond))
}

// Shutdown waits until all HTTP requests are answered, so that the process can exit cleanly. Stop the HTTP server first:
// its Shutdown keeps new requests from arriving. If the context ends before that, Shutdown returns the context's error.
func (s *Server) Shutdown(ctx context.Context) error {
	done := make(chan struct{})
	go func() { // ends with the requests, which have deadlines, and with abandoned handlers
		defer close(done)
		s.work.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
