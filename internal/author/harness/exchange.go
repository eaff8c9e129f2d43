package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Limits of the data kept for one exchange.
const (
	maxAttempts = 16
	maxLines    = 200
)

// Order is one request that is to be sent.
type Order struct {
	// Request is the request for the provider. [Session.Send] sets its response URLs. In the dialect of ROS its ServiceToken is
	// not sent, but selects how the provider is called. Required.
	Request wire.Request
	// Edit changes the document before it is sent, to make one that no engine writes. Nil leaves it unchanged.
	Edit func(document []byte) []byte
	// SNS wraps the request in a notification from the topic that is its ServiceToken.
	SNS bool
	// Timeout is how long the answer may take. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Settle is how long an answer may take that was not there when the provider was done with the request. Zero means as
	// long as Timeout.
	Settle time.Duration
	// WhileWorking delays Settle until the provider's process has finished the work that its handler left behind, as an
	// engine has it.
	WhileWorking bool
	// Secrets are texts that no log may show.
	Secrets []string
	// Linger is how long the provider may continue after its answer, so that its log is whole. Zero means two seconds.
	Linger time.Duration
	// Unavailable is how many attempts to answer get 503 Service Unavailable, as S3 does when it gets too many requests.
	Unavailable int
	// Waiting is called when the provider is done with the request and has not answered. Nil means that it is not called.
	Waiting func()
}

// Exchange is the result of an order.
type Exchange struct {
	Result
	// Request is the request as sent, with its response URLs.
	Request wire.Request
	// Attempts are the requests that came to the response URL, or were meant for it, in their order; at most 16.
	Attempts []Attempt
	// End is how the provider ended with the request.
	End End
	// Lingers says that it had answered, and was at it still after the time that it may continue. See [Session.End].
	Lingers bool
	// Log has the lines that processes printed about it: at most 200, redacted.
	Log []string
	// Leaks are the secrets of the order that those lines held, in clear and in the spelling that they had; at most 200.
	Leaks []string
	// URLPrinted says that they held the signature of the response URL.
	URLPrinted bool
}

// Attempt is one attempt to answer.
type Attempt struct {
	// Method is the verb of HTTP; empty for an answer in the reply to a POST of ours.
	Method string
	// Intact says that path and query were those of the response URL, letter by letter.
	Intact bool
	// Header has the headers sent with it.
	Header http.Header
	// Length is the Content-Length; -1 if there was none.
	Length int64
	// Body is its beginning: no more than [wire.MaxResponse] bytes and one.
	Body []byte
	// Status is the HTTP status that the provider got: 200 if the answer was accepted.
	Status int
	// At is when it was there.
	At time.Time
}

// End is how a provider ended with a request.
type End struct {
	// Kind is how its process did, zero if that is not known: for a URL, or because it has not ended.
	Kind local.OutcomeKind
	// Err is why there can be no answer; nil if the provider is done and may still answer. It is redacted.
	Err error
	// At is when; zero if it has not ended.
	At time.Time
	// Log has the last lines that the process printed, if it exited before it asked for an event. They are redacted.
	// Otherwise it is nil.
	Log []string
	// Delivered says that a process got the request; false for a URL.
	Delivered bool
	// Invocation is the request ID of Lambda that its process had; empty for a URL.
	Invocation string
	// work is that of [local.Outcome].
	work func(context.Context) string
	// Busy says that a URL replied 429 or 503: an engine sends the request again.
	Busy bool
	// result is the result of the invocation, of a Plan.
	result []byte
}

// exchange is an order that is under way.
type exchange struct {
	order     Order
	signature string // of the response URL

	answers chan answer    // the first
	began   chan time.Time // when the provider got the request; at most one
	ended   chan End       // gets one

	mu       sync.Mutex // guards the fields below
	accepted int        // attempts that were taken
	attempts []Attempt
	lines    []string
	leaks    []string
	printed  bool // the signature
	last     End
	lingers  bool
	over     bool
}

type answer struct {
	body []byte
	size int
	at   time.Time
}

func (e *exchange) line(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.lines) < maxLines && !e.over {
		e.lines = append(e.lines, text)
	}
}

// leak notes the secrets of a line, each once.
func (e *exchange) leak(secrets []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, secret := range secrets {
		switch {
		case secret == e.signature:
			e.printed = true
		case len(e.leaks) < maxLines && !slices.Contains(e.leaks, secret):
			e.leaks = append(e.leaks, secret)
		}
	}
}

// end notes how the provider ended, once.
func (e *exchange) end(with End) {
	e.mu.Lock()
	e.last = with
	e.mu.Unlock()
	select {
	case e.ended <- with:
	default:
	}
}

// Send hands the request over, waits for its answer, and then briefly for anything that the provider does after it.
// The exchange holds the provider's mistakes. Send returns an error only if the test could not run, or if ctx ended.
// Two requests with the same ID must not be in flight at once, but may follow each other.
func (s *Session) Send(ctx context.Context, o Order) (Exchange, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Waiting == nil {
		o.Waiting = func() {}
	}
	e := &exchange{order: o, answers: make(chan answer, 1), began: make(chan time.Time, 1), ended: make(chan End, 1)}
	if err := s.address(e); err != nil {
		return Exchange{}, err
	}
	id := o.Request.RequestID
	s.mu.Lock()
	s.exchange[id] = e
	s.mu.Unlock()
	result, err := s.carry(ctx, e)
	if err != nil {
		return Exchange{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	lines := e.lines
	e.lines = nil // they may be long
	result.Again = max(e.accepted-1, 0)
	return Exchange{
		Result: result, Request: e.order.Request, Attempts: slices.Clone(e.attempts), End: e.last, Lingers: e.lingers,
		Log: lines, Leaks: slices.Clone(e.leaks), URLPrinted: e.printed,
	}, nil
}

// errNoProcess is the error of [Session.Plan] for a provider that is not a local process.
var errNoProcess = errors.New("only local processes can be asked for a Plan")

// Plan hands a request of the type Plan to a process. Its answer is the result of the invocation: there is no response URL, and no
// notification. A valid answer has neither a Problem nor an Error. Otherwise it is like [Session.Send], without attempts to answer.
func (s *Session) Plan(ctx context.Context, o Order) (Exchange, wire.Planned, error) {
	if s.runtime == nil {
		return Exchange{}, wire.Planned{}, errNoProcess
	}
	o.SNS = false
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	e := &exchange{order: o, answers: make(chan answer, 1), began: make(chan time.Time, 1), ended: make(chan End, 1)}
	if o.Request.Dialect == wire.ROS {
		e.order.Request.ServiceToken = "" // only the template has it
	}
	message, err := e.order.Request.Encode()
	if err != nil {
		return Exchange{}, wire.Planned{}, err
	}
	e.order.Request = o.Request
	id := o.Request.RequestID
	s.mu.Lock()
	s.exchange[id] = e
	s.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, o.Timeout+lastWords)
	defer cancel()
	start := time.Now()
	if err := s.invoke(e, message, start); err != nil {
		return Exchange{}, wire.Planned{}, err
	}
	var result Result
	var planned wire.Planned
	select {
	case end := <-e.ended:
		result.Took = end.At.Sub(e.since(start))
		if result.Problem = end.Err; end.Err == nil {
			planned, err = wire.ParsePlanned(end.result)
			result.Answered, result.Size = err == nil, len(end.result)
			result.Problem = err
		}
	case <-limited.Done():
		if ctx.Err() != nil {
			return Exchange{}, wire.Planned{}, ctx.Err()
		}
		result = Result{Problem: fmt.Errorf("no answer within %s", o.Timeout), Took: time.Since(e.since(start))}
	}
	planned.Reason, planned.Error = e.redact(planned.Reason), e.redact(planned.Error)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	return Exchange{Result: result, Request: o.Request, End: e.last, Log: e.lines, Leaks: slices.Clone(e.leaks)}, planned, nil
}

// carry takes the document to the provider.
func (s *Session) carry(ctx context.Context, e *exchange) (Result, error) {
	request := e.order.Request
	if request.Dialect == wire.ROS {
		request.ServiceToken = "" // only the template has it
	}
	message, err := request.Encode()
	if err != nil {
		return Result{}, err
	}
	if e.order.Edit != nil {
		message = e.order.Edit(message)
	}
	limited, cancel := context.WithTimeout(ctx, e.order.Timeout+lastWords)
	defer cancel()
	defer context.AfterFunc(s.stopped, cancel)()
	start := time.Now()
	if s.runtime != nil {
		if err := s.invoke(e, message, start); err != nil {
			return Result{}, err
		}
		return e.await(ctx, limited, start)
	}
	handed := make(chan struct{})
	go func() { // ends with limited
		defer close(handed)
		e.began <- time.Now()
		var err error
		if s.config.Send != nil {
			err = s.config.Send(limited, e.order.Request, message)
		} else {
			err = s.post(limited, e, message)
		}
		end := End{At: time.Now()}
		if err != nil {
			_, end.Busy = errors.AsType[*busyError](err)
			end.Err = errors.New(e.redact(err.Error()))
		}
		e.end(end)
	}()
	result, err := e.await(ctx, limited, start)
	cancel()
	<-handed
	return result, err
}

// invoke gives the event to a process.
func (s *Session) invoke(e *exchange, message []byte, start time.Time) error {
	request := e.order.Request
	if e.order.SNS {
		message = local.SNSEvent(string(request.ServiceToken), snsSubject, message,
			start, string(request.RequestID))
	}
	token := request.ServiceToken
	event := local.Event{
		ID: string(request.RequestID), Payload: message, Deadline: start.Add(e.order.Timeout),
		Resource: string(request.StackID) + "|" + string(request.LogicalResourceID), // as the engine does
		Secrets:  slices.DeleteFunc(append(slices.Clone(e.order.Secrets), e.signature), func(secret string) bool { return secret == "" }),
		Contract: local.ContractOf(token), WantResult: request.RequestType == wire.Plan, Started: func(time.Duration) { e.began <- time.Now() },
	}
	if request.Dialect == wire.ROS {
		event.FunctionARN = string(token)
	}
	if s.config.Calls != nil {
		s.config.Calls.Begin(event)
	}
	return s.runtime.Invoke(s.config.Provider.Name, event)
}

// died returns why there will be no answer; nil if there may be one.
func died(o local.Outcome) error {
	switch o.Kind {
	case local.Returned:
		return nil
	case local.Errored:
		return fmt.Errorf("the handler failed: %s", o)
	case local.Exited, local.Crashed, local.TimedOut, local.InitFailed, local.Stopped, local.Waiting: // waiting is not supported here
	}
	if o.Kind == local.InitFailed && len(o.Log) > 0 && o.ExitCode == 0 && o.Signal == "" {
		return fmt.Errorf("%s\n%s", o.Message, strings.Join(o.Log, "\n")) // the output of a build is in no other log
	}
	return errors.New(o.Message)
}

// await waits for the answer and then briefly for further attempts of the provider.
func (e *exchange) await(ctx, limited context.Context, start time.Time) (Result, error) {
	ended := e.ended
	var settled <-chan struct{} // never, before the end and without a bound
	for {
		select {
		case a := <-e.answers:
			r := e.read(a, start)
			if ended != nil {
				timer := time.NewTimer(cmp.Or(e.order.Linger, lastWords))
				defer timer.Stop()
				select {
				case <-ended: // how does not matter to the answer
				case <-timer.C:
					e.mu.Lock()
					e.lingers = true
					e.mu.Unlock()
				case <-limited.Done():
				}
			}
			return r, nil
		case end := <-ended:
			ended = nil
			select {
			case a := <-e.answers: // it came before the end
				return e.read(a, start), nil
			default:
			}
			if end.Err != nil {
				return Result{Problem: end.Err, Took: time.Since(e.since(start))}, nil
			}
			e.order.Waiting()
			if e.order.Settle > 0 {
				settled = e.settle(limited, end)
			}
		case <-settled:
			if limited.Err() != nil {
				settled = nil // the next case says it
				continue
			}
			return Result{
				Problem: fmt.Errorf("no answer within %s after the handler returned", e.order.Settle),
				Took:    time.Since(e.since(start)),
			}, nil
		case <-limited.Done():
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			return Result{
				Problem: fmt.Errorf("no answer within %s", e.order.Timeout), Took: time.Since(e.since(start)),
			}, nil
		}
	}
}

// workPause is the interval between checks of whether a process still works.
const workPause = 500 * time.Millisecond

// settle returns a channel that is closed when no answer is to be expected any more of a handler that has returned, or ctx ends.
func (e *exchange) settle(ctx context.Context, end End) <-chan struct{} {
	over := make(chan struct{})
	go func() { // ends with ctx
		defer close(over)
		for e.order.WhileWorking && end.work != nil && end.work(ctx) != "" && sleep(ctx, workPause) {
		}
		sleep(ctx, e.order.Settle)
	}()
	return over
}

// sleep returns after d, or false when ctx ends before that.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// End waits until the provider's process has finished a request after [Session.Send] returned, and returns how it ended. For
// other providers it returns at once with the known state. The error is that of ctx.
func (s *Session) End(ctx context.Context, id wire.RequestID) (End, error) {
	e := s.find(id)
	if e == nil {
		return End{}, nil
	}
	e.mu.Lock()
	last := e.last
	e.mu.Unlock()
	if !last.At.IsZero() || s.runtime == nil {
		return last, nil
	}
	select {
	case last = <-e.ended: // of each event exactly once
		return last, nil
	case <-ctx.Done():
		return End{}, ctx.Err()
	}
}

// since returns when the provider got the request, as far as that is known.
func (e *exchange) since(start time.Time) time.Time {
	select {
	case at := <-e.began:
		return at
	default:
		return start
	}
}

// read makes a result of an answer.
func (e *exchange) read(a answer, start time.Time) Result {
	response, err := e.order.Request.Dialect.ParseResponse(a.body)
	if refused, ok := errors.AsType[*wire.ResponseError](err); ok && a.size > len(a.body) {
		refused.Size = a.size
	}
	r := Result{Response: response, Answered: true, Size: a.size, Took: max(0, a.at.Sub(e.since(start))), Problem: err}
	r.Response.Reason = e.redact(r.Response.Reason)
	if err != nil {
		r.Problem = errors.New(e.redact(err.Error()))
		return r
	}
	r.Mismatches = response.Mismatches(e.order.Request)
	return r
}

// redact returns a text without signatures and secrets.
func (e *exchange) redact(text string) string {
	var known redact.Secrets
	known.Add(e.order.Secrets...)
	return known.Mask(wire.Redact(text))
}
