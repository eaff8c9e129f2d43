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

// Provider is a local provider as delivery sees it.
type Provider struct {
	// Name is what the runtime knows it by.
	Name string
	// URL is the http(s) address that serves it; empty if a process does.
	URL string
	// Webhook says that the URL gets the request document also behind the service token of an SNS topic.
	Webhook bool
	// Function, of a macro, is the token of the function that it stands for; empty if it is one itself.
	Function wire.ServiceToken
	// Account is the one whose stacks alone may ask it, as the functions of the local cloud; empty means those of all.
	Account string
	// Timeout is how long a process of it may take for one event; zero if that is not known.
	Timeout time.Duration
	// Later says that its answers may come long after its handler has returned, from elsewhere.
	Later bool
	// Unsure says that it cannot be told now who serves the token: what is to be sent rests, and is looked at again. The rest does
	// not count then.
	Unsure bool
}

// Local is the local providers. [NewLocal] makes one of a local.Runtime.
type Local interface {
	// Match returns the provider that serves a token.
	Match(token wire.ServiceToken) (Provider, bool)
	// Invoke takes an event for a process, without waiting: event.Started is called when a process is there for it, and its
	// end goes to [Delivery.Done]. local.ErrBusy and local.ErrClosed say that it was not taken and may be later; any
	// other error is final.
	Invoke(name string, event local.Event) error
	// Cancel ends an event that Invoke has taken, after a grace, because its request is settled. See [local.Runtime.Cancel].
	Cancel(id string, grace time.Duration)
}

// NewLocal joins the runtime of the local processes with the rule that reports which provider serves a token. Give
// [Delivery.Done] to the runtime as its Config.Done.
func NewLocal(runtime *local.Runtime, match func(token wire.ServiceToken) (Provider, bool)) Local {
	return processes{runtime, match}
}

type processes struct {
	*local.Runtime
	match func(wire.ServiceToken) (Provider, bool)
}

func (p processes) Match(token wire.ServiceToken) (Provider, bool) { return p.match(token) }

// match returns the local provider that serves a token for a request. One that is another account's alone is none.
func (d *Delivery) match(r store.Request, token wire.ServiceToken) (Provider, bool) {
	provider, ok := d.config.Local.Match(token)
	if ok && provider.Account != "" && provider.Account != accountOf(r) {
		return Provider{}, false
	}
	return provider, ok
}

// outOfRegion returns why a provider that runs here is not asked for a function of another region than the stack's, empty if it is.
// Functions of the local AWS emulation are in a region. Declared providers are in all of them, except where answers are to be those of
// AWS. Only creates are refused: a resource that exists keeps its function. Source: recorded answers, D22.
func (d *Delivery) outOfRegion(r store.Request, provider Provider) string {
	if r.Type != wire.Create || isROS(r) || provider.Account == "" && !d.config.FidelityAWS {
		return ""
	}
	token, err := wire.ParseToken(r.Body.ServiceToken())
	if err != nil || token.Service != wire.Lambda || token.Region == r.Body.Region {
		return ""
	}
	return d.elsewhere(r, token, invoke)
}

// accountOf returns the account of the stack that a request is of; empty if it is of none.
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

type nobody struct{}

func (nobody) Match(wire.ServiceToken) (Provider, bool) { return Provider{}, false }
func (nobody) Invoke(string, local.Event) error         { return local.ErrUnknown }
func (nobody) Cancel(string, time.Duration)             {}

// busyPoll bounds the wait for a busy provider, should its turn be taken by another request again and again.
const busyPoll = 5 * time.Second

// sendLocal hands the request to a process. A busy provider is waited for as long as it takes: its processes cannot
// hang longer than their own timeout. When too many wait already, the request goes back to the table. It is accepted
// only once there is a process for it: from then on its time runs, and neither a queue nor a build should use that up. The
// initialization of a new process does, as it does in the cloud.
func (d *Delivery) sendLocal(soft context.Context, s *send, hide *redactor, provider Provider) Outcome {
	if provider.Unsure {
		s.rests = true
		return nil
	}
	name := provider.Name
	of := askingOf(s.request)
	id := of.about
	event, err := d.event(s, hide)
	if err != nil {
		return Refused{Text: hide.text(err.Error())}
	}
	outcome, busy := d.invoke(of, event, hide, provider)
	for said := false; busy; {
		turn := d.runs.await(name)
		if turn == nil {
			s.rests = true
			return nil
		}
		// Once more: what would have given this turn may have finished before the wait began.
		if outcome, busy = d.invoke(of, event, hide, provider); !busy {
			d.runs.leave(name, turn, false)
			break
		}
		if !said {
			said = true
			d.config.Progress(of.subject(), fmt.Sprintf("all processes of %s are busy, waiting", name))
		}
		s.release()
		goOn := wait(soft, turn, busyPoll)
		d.runs.leave(name, turn, true)
		if !goOn {
			return nil
		}
		s.resume()
		if event, err = d.event(s, hide); err != nil { // again: its response URL ages
			return Refused{Text: hide.text(err.Error())}
		}
		outcome, busy = d.invoke(of, event, hide, provider)
	}
	if _, taken := outcome.(Accepted); !taken {
		return outcome
	}
	if running := d.runs.run(id); running != nil {
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

// invoke tries to hand the request over. The outcome is nil if the runtime is closed.
func (d *Delivery) invoke(of asking, event local.Event, hide *redactor, provider Provider) (outcome Outcome, busy bool) {
	id, name := of.about, provider.Name
	if !d.runs.begin(of, name, func(of asking, o local.Outcome) Outcome { return d.ended(of, provider, hide, o) }) {
		return Accepted{Local: true, Within: provider.Timeout}, false // still running since before the row was taken over
	}
	event.Started = func(most time.Duration) { d.runs.start(id, most) }
	event.Handed = func() { d.runs.hand(id) }
	err := d.config.Local.Invoke(name, event)
	if err == nil {
		return Accepted{Local: true, Within: provider.Timeout}, false
	}
	d.runs.drop(id)
	switch {
	case errors.Is(err, local.ErrBusy):
		return nil, true
	case errors.Is(err, local.ErrClosed):
		return nil, false
	}
	return Refused{Text: hide.text(fmt.Sprintf("provider %s: %v", name, err))}, false
}

// event wraps the request as the service in its token would; not so what asks again, which no service knows.
func (d *Delivery) event(s *send, hide *redactor) (local.Event, error) {
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
		event.Payload, err = d.resume(r)
	default:
		event.Payload, _, err = d.document(r)
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
			event.Payload = local.SNSEvent(string(r.Body.ServiceToken()), subject(r), event.Payload, d.config.Now(), string(r.ID))
		}
	case wire.Lambda, wire.FC:
		event.FunctionARN = string(r.Body.ServiceToken())
	case wire.Queue, wire.Topic:
		event.FunctionARN = string(r.Body.ServiceToken())
		if r.Type == wire.Create || r.Type == wire.Update || r.Type == wire.Delete || asksToRead(r) {
			event.Payload = messageEvent(token, event.Payload, r.ID, d.config.Now())
		}
	case wire.HTTP, wire.Web, wire.Other:
	}
	return event, nil
}

// wait ends after at most d, or when c is closed; false means that ctx ended first.
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

// resume returns the event that asks again.
func (d *Delivery) resume(r store.Request) ([]byte, error) {
	request, err := d.requestOf(r.Subject())
	if err != nil {
		return nil, err
	}
	event, err := wire.Resume{Pending: json.RawMessage(r.Body.Pending.Text()), Try: r.Wait.Try, Until: r.Wait.End(), Request: request}.Encode()
	if err != nil {
		return nil, errors.New("what the provider is to be asked with cannot be written as JSON") // the error may quote it
	}
	return event, nil
}

// ended returns what is to be reported of the end of an invocation; nil if nothing is.
func (d *Delivery) ended(of asking, provider Provider, hide *redactor, o local.Outcome) Outcome {
	name := provider.Name
	if of.task {
		return d.taskEnded(of, name, o)
	}
	what := hide.text(o.Message)
	switch o.Kind {
	case local.Returned:
		if of.macro {
			return Returned{Body: o.Result}
		}
		d.config.Log.Debug("a provider's handler returned", "provider", name, "request", of.about)
		if o.Inside || !of.once && of.try == 0 {
			return nil // it answers by itself, or no answer is expected
		}
		return silent{provider: provider, over: o.Over, document: o.Document, work: o.Work, hide: hide}
	case local.Waiting:
		d.config.Log.Debug("a provider is to be asked again", "provider", name, "request", of.about, "after", o.Waiting.After)
		return Waiting{
			After: o.Waiting.After, Until: o.Waiting.Until, Reason: hide.text(o.Waiting.Reason), ID: o.Waiting.PhysicalResourceID,
			Pending: o.Waiting.Pending,
		}
	case local.Stopped:
		return nil // this node stops; the node that takes over its rows sends the request again
	case local.Errored:
		what = "the handler reported an error: " + join(hide.text(o.Type), what)
	case local.InitFailed:
		what = "it could not be started: " + join(hide.text(o.Type), what)
	case local.Exited, local.Crashed, local.TimedOut:
	}
	text := fmt.Sprintf("provider %s: %s", name, what)
	d.config.Log.Warn("a provider died", "provider", name, "request", of.about, "how", o.Kind.String(), "text", text)
	if d.config.FidelityAWS && of.try == 0 && !of.macro {
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
