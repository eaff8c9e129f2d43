package pintle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Config is how a [Server] serves providers, and [Run].
type Config struct {
	// Handlers answer the requests, each those of its resource type: see [For]. One at least is required.
	Handlers []Handler
	// RuntimeAPI is host and port of the Lambda Runtime API, for [Run]. Empty means the environment variable
	// AWS_LAMBDA_RUNTIME_API.
	RuntimeAPI string
	// Listen is the address for [Run] to serve HTTP on, host:port. If it is empty and there is no Lambda Runtime
	// API, the environment variable PINTLE_PROVIDER_LISTEN counts.
	Listen string
	// Listener is for Run to serve HTTP on, instead of Listen. It is closed in the end.
	Listener net.Listener
	// WebhookSecrets are those that HTTP requests may be signed with, in the form whsec_… or as the bytes themselves, 24
	// at least. Several let one take the place of another without a pause. Nil means the environment variable
	// PINTLE_WEBHOOK_SECRET, which may hold several with spaces between. The command "pintle env" prints the engine's.
	WebhookSecrets []string
	// Topics are the ARNs of the SNS topics whose notifications are taken over HTTP, and whose subscriptions are
	// confirmed; and of topics of SMQ for ROS, like acs:mns:REGION:ACCOUNT:topics/NAME. Nil means the environment variable PINTLE_PROVIDER_TOPICS, which has spaces between them.
	// They are Amazon's, or of the SNS that AWS_ENDPOINT_URL_SNS, or else AWS_ENDPOINT_URL, names, such as Pintle's own.
	Topics []string
	// AllowUnsigned takes HTTP requests from everybody: who can reach the server can have it do what it does, and send
	// an answer to any URL. [Run] allows it on a loopback address only. Requests of browsers are refused then: any page could
	// send them.
	AllowUnsigned bool
	// Hold is how long an HTTP request is held open for the answer to go into its reply. What takes longer is answered
	// at the response URL. Zero means 20 seconds; a negative value holds none.
	Hold time.Duration
	// Concurrency is how many HTTP requests are handled at once; further ones are told to come back. Zero means 100.
	Concurrency int
	// ROS is for requests of Alibaba Cloud ROS. Nil means what the environment has.
	ROS *ROSConfig
	// Client sends the answers, and gets the certificates of SNS. Nil means one of its own, which heeds HTTPS_PROXY and
	// tries for ten seconds at a time.
	Client *http.Client
	// Memory keeps the answers for requests that are delivered again. Nil means [NewMemory] of [DefaultMemory].
	Memory Memory
	// Waiter takes over requests whose operations go on, see [WithReady]. Nil means that they are waited for in place,
	// within the time that their handlers have; but Pintle waits for those of a program that it hosts, in its own store.
	Waiter Waiter
	// Logger takes the log of the provider. Nil means text on standard error.
	Logger *slog.Logger
	// Clock is for tests. Nil means the machine's.
	Clock Clock
}

// Server answers requests: it calls the handlers, makes sure that every request gets one answer that the service takes,
// and sends it. [Main] and [Run] have one of their own. It is an [http.Handler], for those who have an HTTP server, and
// its ServeEvent is for those who have a Lambda loop. Its methods may be called by many goroutines at once.
type Server struct {
	handler Handler
	sender  sender
	log     *slog.Logger
	memory  Memory
	waiter  Waiter // nil: none
	clock   Clock
	calls   calls
	turns   turns
	web     web
	ros     ROSConfig
	work    sync.WaitGroup // of HTTP requests
}

// NewServer returns a server. The error says what is wrong with the configuration.
func NewServer(c Config) (*Server, error) {
	handler, err := newRouter(c.Handlers)
	if err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	if c.Clock == nil {
		c.Clock = realClock{}
	}
	if c.Memory == nil {
		if c.Memory, err = NewMemory(DefaultMemory); err != nil {
			return nil, err
		}
	}
	s := &Server{
		handler: handler, sender: newSender(c.Client, c.Clock), log: c.Logger, memory: c.Memory, waiter: c.Waiter, clock: c.Clock,
		calls: calls{now: map[string]*call{}}, turns: turns{held: map[string]*turn{}},
	}
	s.handler = rosGuard{handler}
	if s.ros, err = newROS(c.ROS); err != nil {
		return nil, err
	}
	if s.web, err = newWeb(c, s.sender.client); err != nil {
		return nil, err
	}
	return s, nil
}

// ErrRunaway is the error of [Server.ServeEvent] when a handler was given up and has not returned even by the end of the
// context. The process should end then, because the handler may be at work beside a Delete of what it makes.
var ErrRunaway = errors.New("a handler ran out of time and does not stop; the program ends so that it cannot go on")

// ServeEvent deals with an event of Lambda or Function Compute: a request, or SNS notifications with requests in them. It sends the answers
// and returns nil when all have arrived, or [Config.Waiter] has taken over those that go on; then the function must return
// without an error, or Lambda calls it again. The context's deadline is that of the function, 15 minutes from now if it
// has none; that the context is cancelled does not stop what has begun. For programs on aws-lambda-go:
//
//	lambda.Start(func(ctx context.Context, event json.RawMessage) error { return server.ServeEvent(ctx, event) })
//
// With an [EventWaiter] the function must return a result too: see [Server.Invoke].
func (s *Server) ServeEvent(ctx context.Context, event []byte) error {
	_, err := s.Invoke(ctx, event)
	return err
}

// Invoke is [Server.ServeEvent] with the result that the function must return: JSON, "{}" for a request.
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

// nothing is the result of an event that has none.
var nothing = []byte("{}")

// event answers what is in an event, and returns the result of the function. The channel is not nil if a handler was given
// up; it is closed when that returns. hosted says that the engine which hosts this program waits for what goes on.
func (s *Server) event(ctx context.Context, event []byte, deadline time.Time, hosted bool) ([]byte, <-chan struct{}, error) {
	if waiter, ok := s.waiter.(EventWaiter); ok {
		// The deadline goes with the context, so that Resume has it.
		bounded, stop := s.clock.WithDeadline(ctx, deadline)
		defer stop()
		if result, ok, err := waiter.Event(bounded, event, s.Resume); ok {
			return result, nil, err
		}
		hosted = false // the program has chosen who waits
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
		d := delivery{text: text, deadline: deadline, hosted: hosted && len(requests) == 1} // a reply tells of one
		a, err := s.take(ctx, d)
		switch {
		case err != nil:
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
	// Only what was not answered may be repeated: a plain success keeps Lambda from calling again.
	return result, nil, errors.Join(problems...)
}

// badEventError is that of an event without requests.
type badEventError struct{ error }

// join waits for a handler that was given up.
func (s *Server) join(ctx context.Context, running <-chan struct{}, deadline time.Time) error {
	ctx, stop := s.clock.WithDeadline(ctx, deadline)
	defer stop()
	select {
	case <-running:
		return nil
	case <-ctx.Done():
		return ErrRunaway
	}
}

// answered is what became of a request.
type answered struct {
	request  wire.Request
	response wire.Response
	body     []byte // the response, encoded
	by       time.Time
	start    time.Time
	log      *slog.Logger
	running  <-chan struct{} // closed when a handler that was given up returns; nil if none was
	waiting  *Pending        // the wait for the operation, which was handed over; nil if there is an answer
}

// delivery is a request that comes, or that is resumed.
type delivery struct {
	text     []byte
	deadline time.Time
	hosted   bool   // who delivers takes the wait over
	inPlace  bool   // nobody can: the answer is wanted in the reply
	key      string // that of the request, if its record has it; else it is made of the text
	resumed  *wait  // what is resumed; nil for a request that comes
	refused  error  // why it cannot be resumed
}

// take has a request handled once, however often it is delivered, and returns the answer, or that it waits. An error means
// that there is no way to answer.
func (s *Server) take(ctx context.Context, d delivery) (answered, error) {
	start := s.clock.Now()
	r, err := wire.ParseRequest(d.text)
	hide := &scrubber{}
	hide.add(urlSecrets(r)...)
	a := answered{request: r, start: start, log: requestLog(slog.New(scrubbedLog{s.log.Handler(), hide}), r)}
	w := &handover{able: !d.inPlace && (d.hosted || s.waiter != nil || d.resumed != nil), began: start, resumed: d.resumed}
	service := start.Add(s.listens(r)) // who answers later is not heard
	if d.resumed != nil {
		hide.add(d.resumed.Secrets...)
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
		if !ok {
			return a, err
		}
		return s.encode(a, response, Answer{}, hide)
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
		// It was a delivery, which found that the request waits, or began that. How far it is now is in what is resumed.
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
			a.log.Info("request", "resourceType", r.ResourceType, "physicalId", r.PhysicalResourceID)
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

// handle calls the handler, once no other request of the resource is at work.
func (s *Server) handle(ctx context.Context, a answered, b budget, hide *scrubber, w *handover, d delivery, key string) (answered, error) {
	r := newRequest(a.request, a.log)
	r.surroundings = surroundings{clock: s.clock, memory: s.memory, hide: hide, deadline: b.handler, wait: w, plain: s.ros.PlainSecrets}
	var o outcome
	var known PhysicalID // what was made, if that is known here
	if w.resumed != nil {
		known = w.resumed.answerID() // now: a handler that is given up may go on writing there
	}
	if done, ok := s.turns.take(ctx, s.clock, a.request, b.handler); ok {
		if d.resumed != nil {
			w.overtaken = s.overtaken(ctx, a, w.began)
		}
		o = ask(ctx, s.handler, r, b)
		// What was given up may still write to w.
		if o.running == nil && w.next != nil {
			if a.waiting = s.handOver(ctx, a, hide, w, d, key); a.waiting != nil {
				done()
				return a, nil
			}
			w.able, w.resumed, w.next = false, w.next, nil
			known = w.resumed.answerID()
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
			o.answer.ID = PhysicalID(a.request.RequestID) // what the earlier one makes must be deleted
		}
	}
	if o.err != nil {
		a.log.Error("handler failed", "error", logText(o.err))
	}
	a.running = o.running
	if o.running != nil {
		o.answer.ID = known // which its Delete must have
	}
	if raw, secrets, err := clearJSON(o.answer.Attributes); err == nil { // encode reports an error
		o.answer.NoEcho = o.answer.NoEcho || holdsSecret(raw, hide) || idHolds(a.request, string(o.answer.ID), hide)
		hide.add(secrets...)
	}
	return s.encode(a, settle(a.request, o, hide), o.answer, hide)
}

// encode makes the answer fit.
func (s *Server) encode(a answered, w wire.Response, answer Answer, hide *scrubber) (answered, error) {
	data := answer.Attributes
	if a.request.RequestType == Delete {
		data = nil
	}
	w = s.shown(a, w, answer, hide)
	whole := w.Reason
	var err error
	if a.response, a.body, err = encode(w, data, answer.NoEcho); err != nil {
		return a, err
	}
	if whole != "" && a.response.Reason != whole {
		a.log.Warn("reason was cut to fit", "reason", whole)
	}
	return a, nil
}

// send puts the answer to the response URL.
func (s *Server) send(ctx context.Context, a answered) error {
	ctx, cancel := s.clock.WithDeadline(ctx, a.by)
	defer cancel()
	if err := s.sender.send(ctx, a.request.Dialect, s.responseURL(a.request), a.body, a.log); err != nil {
		a.log.Error("not answered", "error", err)
		hide := &scrubber{}
		hide.add(urlSecrets(a.request)...)
		if clean := hide.text(err.Error()); clean != err.Error() { // who was asked may quote the URL
			err = errors.New(clean)
		}
		return err
	}
	s.sent(a)
	return nil
}

func (s *Server) sent(a answered) {
	a.log.Info("answered", "status", a.response.Status, "physicalId", a.response.PhysicalResourceID,
		"reason", a.response.Reason, "bytes", len(a.body), "took", s.clock.Now().Sub(a.start).Round(time.Millisecond))
}

// Wait waits until no HTTP request is at work, for an orderly end of the process. It returns the context's error if that
// ends before.
func (s *Server) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { // ends with the requests, which have deadlines, and with handlers that were given up
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
