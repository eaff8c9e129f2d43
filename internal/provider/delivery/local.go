package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Provider is a local provider as package delivery sees it.
type Provider struct {
	// Name is the provider's name in the runtime.
	Name string
	// URL is the http(s) address of the provider. It is empty if the provider is a process.
	URL string
	// Webhook means that the URL gets the request document even if the service token is an SNS topic.
	Webhook bool
	// Function is the token of the function behind a macro. It is empty if the provider is the macro's function itself.
	Function wire.ServiceToken
	// Account is the only account whose stacks may use the provider, as for functions of the local AWS emulation. Empty
	// allows all accounts.
	Account string
	// Timeout is the maximum time that a process may take for one event. Zero means unknown.
	Timeout time.Duration
	// Later means that an answer may come from elsewhere, long after the handler has returned.
	Later bool
	// Unsure means that it is not yet known which provider serves the token. The request goes back to the table for a
	// while and is tried again. The other fields are then unset.
	Unsure bool
}

// Local is the set of local providers. [NewLocal] makes one from a local.Runtime.
type Local interface {
	// Match returns the provider that serves a token.
	Match(token wire.ServiceToken) (Provider, bool)
	// Invoke accepts an event for a process without waiting. It calls event.Started when the event has a process, and
	// the outcome goes to [Delivery.Done]. local.ErrBusy and local.ErrClosed mean that the event was not accepted but
	// may be later. Any other error is final.
	Invoke(name string, event local.Event) error
	// Cancel ends an accepted event after a grace period, because its request is settled. See [local.Runtime.Cancel].
	Cancel(id string, grace time.Duration)
}

// NewLocal combines the runtime of the local processes with a function that finds the provider of a token. Use
// [Delivery.Done] as the runtime's Config.Done.
func NewLocal(runtime *local.Runtime, match func(token wire.ServiceToken) (Provider, bool)) Local {
	return processes{runtime, match}
}

type processes struct {
	*local.Runtime
	match func(wire.ServiceToken) (Provider, bool)
}

func (p processes) Match(token wire.ServiceToken) (Provider, bool) { return p.match(token) }

// localSender sends requests to the processes of local providers.
type localSender struct {
	*documents

	config Config
	runs   *runs
}

// match returns the local provider that serves a token for a request. It ignores providers that are reserved for
// another account.
func (ls *localSender) match(r store.Request, token wire.ServiceToken) (Provider, bool) {
	provider, ok := ls.config.Local.Match(token)
	if ok && provider.Account != "" && provider.Account != accountOf(r) {
		return Provider{}, false
	}
	return provider, ok
}

// outOfRegion returns the reason why a local provider is not used for a function in a different region than the
// stack's, or "" if it is used. Functions of the local AWS emulation belong to a region. Declared providers serve all
// regions, unless FidelityAWS is set. Only creates are refused, because an existing resource keeps its function.
// Source: recorded answers, D22.
func (rt *router) outOfRegion(r store.Request, provider Provider) string {
	if r.Type != wire.Create || isROS(r) || provider.Account == "" && !rt.config.FidelityAWS {
		return ""
	}
	token, err := wire.ParseToken(r.Body.ServiceToken())
	if err != nil || token.Service != wire.Lambda || token.Region == r.Body.Region {
		return ""
	}
	return rt.elsewhere(r, token, invoke)
}

// accountOf returns the account of a request's stack, or "" if the request has no stack.
func accountOf(r store.Request) string {
	if isROS(r) {
		return r.Body.Account
	}
	stack, err := wire.ParseStackARN(r.Body.StackID)
	if err != nil {
		return ""
	}
	return stack.Account
}

type noProcesses struct{}

func (noProcesses) Match(wire.ServiceToken) (Provider, bool) { return Provider{}, false }
func (noProcesses) Invoke(string, local.Event) error         { return local.ErrUnknown }
func (noProcesses) Cancel(string, time.Duration)             {}

// busyPoll limits the wait for a busy provider, in case other requests keep taking its free processes.
const busyPoll = 5 * time.Second

// sendLocal sends the request to a process. It waits for a busy provider without a limit, because processes cannot
// exceed their own timeout. If too many requests already wait, the request goes back to the table. The request is
// accepted only when it has a process: its time starts then, so that waiting in a queue or for a build uses none of it.
// As in the cloud, the initialization of a new process counts.
func (ls *localSender) sendLocal(soft context.Context, s *send, hide *redactor, provider Provider) Outcome {
	if provider.Unsure {
		s.rests = true
		return nil
	}
	name := provider.Name
	of := askingOf(s.request)
	id := of.about
	event, err := ls.event(s, hide)
	if err != nil {
		return Refused{Text: hide.text(err.Error())}
	}
	outcome, busy := ls.invoke(of, event, hide, provider)
	for said := false; busy; {
		turn := ls.runs.await(name)
		if turn == nil {
			s.rests = true
			return nil
		}
		// Try again: the process may have become free before the wait began.
		if outcome, busy = ls.invoke(of, event, hide, provider); !busy {
			ls.runs.leave(name, turn, false)
			break
		}
		if !said {
			said = true
			ls.config.Progress(of.subject(), fmt.Sprintf("all processes of %s are busy, waiting", name))
		}
		s.release()
		goOn := wait(soft, turn, busyPoll)
		ls.runs.leave(name, turn, true)
		if !goOn {
			return nil
		}
		s.resume()
		if event, err = ls.event(s, hide); err != nil { // make a new event: the response URL expires
			return Refused{Text: hide.text(err.Error())}
		}
		outcome, busy = ls.invoke(of, event, hide, provider)
	}
	if _, taken := outcome.(Accepted); !taken {
		return outcome
	}
	if running := ls.runs.run(id); running != nil {
		s.release()
		select {
		case <-running.started:
			if provider.Timeout > 0 && running.most > 0 {
				outcome = Accepted{Local: true, Within: running.most}
			}
		case <-soft.Done():
			return nil
		}
	}
	return outcome
}

// invoke tries to pass the request to a process. The outcome is nil if the runtime is closed.
func (ls *localSender) invoke(of asking, event local.Event, hide *redactor, provider Provider) (outcome Outcome, busy bool) {
	id, name := of.about, provider.Name
	if !ls.runs.begin(of, name, func(of asking, o local.Outcome) Outcome { return ls.ended(of, provider, hide, o) }) {
		return Accepted{Local: true, Within: provider.Timeout}, false // still running since before the takeover of the row
	}
	event.Started = func(most time.Duration) { ls.runs.start(id, most) }
	event.Handed = func() { ls.runs.hand(id) }
	err := ls.config.Local.Invoke(name, event)
	if err == nil {
		return Accepted{Local: true, Within: provider.Timeout}, false
	}
	ls.runs.drop(id)
	switch {
	case errors.Is(err, local.ErrBusy):
		return nil, true
	case errors.Is(err, local.ErrClosed):
		return nil, false
	}
	return Refused{Text: hide.text(fmt.Sprintf("provider %s: %v", name, err))}, false
}

// event wraps the request like the service in its token would. Polls are not wrapped, because no service sends them.
func (ls *localSender) event(s *send, hide *redactor) (local.Event, error) {
	r := s.request
	event := local.Event{
		ID: string(askingOf(r).about), Resource: string(r.Body.StackID) + "|" + string(r.Logical), Secrets: hide.secrets, Waits: r.Type != store.TypeNotification,
	}
	event.Trace = trace.Parse(r.Body.Trace)
	event.FunctionARN, event.Contract = s.function, local.ContractOf(r.Body.ServiceToken())
	var err error
	switch {
	case r.Type == store.TypeMacro:
		event.Payload, event.Resource, event.Waits, event.WantResult = macroEvent(r), "", false, true
	case r.Type == store.TypeExecution:
		event.Payload, event.Resource, event.Waits, event.WantResult = taskPayload(r), "", false, true
	case r.Type == store.TypeIsComplete:
		event.Payload, err = ls.resume(r)
	default:
		event.Payload, _, err = ls.document(r)
	}
	if err != nil {
		return local.Event{}, err
	}
	token, err := wire.ParseToken(r.Body.ServiceToken())
	if err != nil {
		return event, nil //nolint:nilerr // a token that is mapped as a whole may be any text
	}
	switch token.Service {
	case wire.SNS:
		if r.Type != store.TypeIsComplete && r.Type != store.TypeMacro && r.Type != store.TypeExecution {
			event.Payload = local.SNSEvent(string(r.Body.ServiceToken()), subject(r), event.Payload, ls.config.Now(), string(r.ID))
		}
	case wire.Lambda, wire.FC:
		event.FunctionARN = string(r.Body.ServiceToken())
	case wire.Queue, wire.Topic:
		event.FunctionARN = string(r.Body.ServiceToken())
		if r.Type == wire.Create || r.Type == wire.Update || r.Type == wire.Delete || asksToRead(r) {
			event.Payload = messageEvent(token, event.Payload, r.ID, ls.config.Now())
		}
	case wire.HTTP, wire.Web, wire.Other:
	}
	return event, nil
}

// wait waits for at most d, or until c is closed. It returns false if ctx ends first.
func wait(ctx context.Context, c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-c:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// resume returns the event that polls the provider.
func (ls *localSender) resume(r store.Request) ([]byte, error) {
	request, err := ls.requestOf(r.Subject())
	if err != nil {
		return nil, err
	}
	event, err := wire.Resume{Pending: json.RawMessage(r.Body.Pending.Text()), Try: r.Wait.Try, Until: r.Wait.End(), Request: request}.Encode()
	if err != nil {
		return nil, errors.New("the request for the provider cannot be written as JSON") // the error may quote it
	}
	return event, nil
}

// ended returns the outcome to report after an invocation, or nil for none.
func (ls *localSender) ended(of asking, provider Provider, hide *redactor, o local.Outcome) Outcome {
	name := provider.Name
	if of.task {
		return ls.taskEnded(of, name, o)
	}
	what := hide.text(o.Message)
	switch o.Kind {
	case local.Returned:
		if of.macro {
			return Returned{Body: o.Result}
		}
		ls.config.Log.Debug("a provider's handler returned", "provider", name, "request", of.about)
		if o.Inside || !of.once && of.try == 0 {
			return nil // it answers by itself, or no answer is expected
		}
		return silent{provider: provider, over: o.Over, document: o.Document, work: o.Work, hide: hide}
	case local.Waiting:
		ls.config.Log.Debug("a provider is to be asked again", "provider", name, "request", of.about, "after", o.Waiting.After)
		return Waiting{
			After: o.Waiting.After, Until: o.Waiting.Until, Reason: hide.text(o.Waiting.Reason), ID: o.Waiting.PhysicalResourceID,
			Pending: o.Waiting.Pending,
		}
	case local.Stopped:
		return nil // this node is stopping; the node that takes over its rows sends the request again
	case local.Errored:
		what = "the handler reported an error: " + join(hide.text(o.Type), what)
	case local.InitFailed:
		what = "it could not be started: " + join(hide.text(o.Type), what)
	case local.Exited, local.Crashed, local.TimedOut:
	}
	text := fmt.Sprintf("provider %s: %s", name, what)
	ls.config.Log.Warn("a provider died", "provider", name, "request", of.about, "how", o.Kind.String(), "text", text)
	if ls.config.FidelityAWS && of.try == 0 && !of.macro {
		return nil
	}
	log := make([]string, len(o.Log))
	for i, line := range o.Log {
		log[i] = hide.text(line)
	}
	return Died{Text: text, Log: log, Delivered: o.Delivered}
}

func join(kind, message string) string {
	return strings.Trim(kind+": "+message, ": ")
}
