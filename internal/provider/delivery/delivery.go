// Package delivery sends requests to providers and reports the result. It decides nothing about stacks.
//
// A request row that is ready belongs to the node that committed it. After the commit, [Delivery.Dispatch] puts it
// straight into a bounded queue. If the queue is full, the row stays in the table. Claim reads such rows when there
// is room, after a start, and on a slow tick. So the table is the queue, and the one in memory only saves reading it.
// Both are fair: stacks take turns.
//
// The service token says where a request goes. A request without one is for a native type and served in this process.
// The name of a local provider comes first, whatever account and region the token has; then local topics, then
// http(s) URLs, Lambda functions and SNS topics. Temporary errors (a refused connection, 429, 5xx, a throttled call)
// are retried for a minute with jitter. Permanent ones (another 4xx, missing permissions) fail at once with the error
// text of the other side. Each send has one [Outcome], and the report of it is repeated until the engine has accepted
// it. The row stays ready until then, so after a crash the request is sent again. Providers may therefore get a
// request twice, with the same RequestId.
//
// # Dynamic references
//
// Rows hold dynamic references as they are written. They are resolved each time that a request is sent, and the
// values appear only in the document that is sent. Secrets among the values are removed from the texts that come
// back.
//
// # Providers behind URLs
//
// These providers get the request document as a POST, signed as in Standard Webhooks v1:
//
//	webhook-id         the RequestId
//	webhook-timestamp  seconds since 1970
//	webhook-signature  v1,base64(HMAC-SHA256(secret, "<id>.<timestamp>.<body>"))
//
// A 2xx accepts the request. If its body is a response document, a JSON object with a Status, that is the answer.
// Otherwise the answer must come to the response URL. Connections into private networks are refused unless
// [Config.AllowPrivate] is set, by the address that is dialled and not by its name; no proxy is used. A URL that the
// operator mapped a name to is not guarded.
//
// A URL that the operator mapped the name of an SNS topic to gets a notification instead, with the headers and the signature of
// SNS. A response document in its reply is ignored, as SNS does.
//
// # ROS
//
// Requests of ROS stacks have the document format of ROS and go where the ROS tokens say. A URL in a token with web:
// gets them as ROS sends them, without a signature by Pintle. A Create is retried only while no byte of it has left
// this machine, unless the token says idempotent. Function Compute and Simple Message Queue are called with an access
// key that is found as Alibaba Cloud's tools find it, by [acs.Find]; ALIBABA_CLOUD_FC_ENDPOINT,
// ALIBABA_CLOUD_FC3_ENDPOINT and ALIBABA_CLOUD_MNS_ENDPOINT name other endpoints.
//
// # AWS
//
// Lambda and SNS are called with the AWS SDK's own configuration: environment, shared files, profiles, SSO,
// AWS_ENDPOINT_URL. Credentials from EC2 instance metadata are looked for only if AWS_EC2_METADATA_DISABLED is set to
// false, since elsewhere that search is a wait for a host that is not there.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config].
const (
	DefaultRetryFor = time.Minute            // trying again what may pass
	DefaultBackoff  = 200 * time.Millisecond // bound of the first pause between two tries
	DefaultQueue    = 2048                   // requests in hand
	DefaultSends    = 256                    // sends at a time
	DefaultPoll     = 5 * time.Second        // between two readings of the table
	DefaultDrain    = 5 * time.Second        // for what is being sent when Run is asked to end
)

// minSecret is the least length of a webhook secret. Source: Standard Webhooks, signature scheme, 24 to 64 bytes.
const minSecret = 24

// Table is the part of the store that delivery reads.
type Table interface {
	// Claim is store.Store's.
	Claim(ctx context.Context, node store.Incarnation, limit int, skip func(wire.RequestID) bool) ([]store.Request, error)
}

// Config configures a [Delivery]. All functions in it are called from many goroutines.
type Config struct {
	// Table is where overflow is read from. Required.
	Table Table
	// Node returns this node's incarnation; requests of any other owner are dropped unsent. Required.
	Node func() store.Incarnation
	// Report records an outcome. It is called again until it returns nil, store.ErrClosed or store.ErrNotFound. For a
	// request that a local process executes it may be called again after Accepted: with Died or Waiting, or with Silent. Required.
	Report func(ctx context.Context, id wire.RequestID, outcome Outcome) error
	// ResponseURL returns the URL that the provider is to answer at, signed now for longer than the request's timeout.
	// Its error is what the request is refused with. Required.
	ResponseURL func(request store.Request) (string, error)
	// WebhookSecret signs requests to providers behind URLs, at least 24 bytes. Required.
	WebhookSecret []byte
	// Notifications signs what goes to a URL that stands in for a topic. Nil means that such a URL gets the request document, as
	// every other does.
	Notifications Notifications
	// Local runs the local providers. Nil means that there are none.
	Local Local
	// Declared returns the names of the local providers in the project, which errors suggest for a misspelled one. Nil means none.
	Declared func() []string
	// Topics are the local ones, which come before those of SNS. Nil means that there are none.
	Topics Topics
	// Away is for a node without the functions and local topics: it reports whether a service token names one.
	// Requests for these wait for a node that has them, and so do the tasks of executions. Nil means that this node
	// has them.
	Away func(ctx context.Context, token wire.ServiceToken) bool
	// CalledOut reports whether a process of a local provider has called a service of this server since the time by which an
	// answer may still come, such as a function. Nil means that none ever does.
	CalledOut func(provider string, since time.Time) bool
	// Native serves the requests of native types, which have no service token. Nil knows none.
	Native *native.Registry
	// CheckImport refuses the import of a custom resource that a stack has by now. An error that wraps native.ErrAgain has the request sent
	// later. Nil refuses none.
	CheckImport func(ctx context.Context, r *store.Request) error
	// References resolves the dynamic references in properties, each time that a request is sent. Nil leaves them as they are.
	References References
	// ROSResponse is how many bytes the answer of a provider to ROS may have that comes in the body of its HTTP response, at most
	// wire.MaxROSResponse. Zero means wire.MaxResponse.
	ROSResponse int
	// ROSBase64 puts requests of ROS into messages for queues and topics of Simple Message Queue in base64, as those expect who
	// receive them by clients that decode it. It does not matter to local providers.
	ROSBase64 bool
	// ROSInnerURL adds InnerResponseURL to requests of ROS, the name that the text of its pages has for IntranetResponseURL.
	ROSInnerURL bool
	// Allowed returns an error if stacks of an account may not use the cloud credentials of this process for a call, such as
	// lambda:Invoke. Nil allows every call to all of them.
	Allowed func(account, call string) error
	// AllowPrivate lets tokens that are URLs lead into private networks, this machine included.
	AllowPrivate bool
	// FidelityAWS keeps quiet about what Lambda keeps quiet about: the death of a provider's process is not reported
	// and ends in the request's timeout. Texts stay exactly as AWS has them.
	FidelityAWS bool
	// Progress tells a person what holds a request up, e.g. "connection refused, retrying, 42 s left". The progress
	// of a repeated question is reported for the request that waits. Nil drops all progress.
	Progress func(id wire.RequestID, text string)
	// Retried is notified of every sending that is tried again. It must not block. Nil gets nothing.
	Retried func()
	// Log gets what operators should know. Nil means slog.Default().
	Log *slog.Logger
	// Now is the time that requests are signed at. Nil means time.Now.
	Now func() time.Time
	// RetryFor is how long a failing send is tried again, but never beyond the request's own timeout. Zero means
	// [DefaultRetryFor].
	RetryFor time.Duration
	// Backoff bounds the first pause between two tries; it doubles up to ten seconds, and the pause is a random part
	// of it. Zero means [DefaultBackoff].
	Backoff time.Duration
	// Look is how long after the silent return of a local handler it is first looked for its answer and for what its process
	// still does. Zero means [DefaultLook].
	Look time.Duration
	// AfterAnswer is how long a local handler may continue after its request was answered. Zero means [DefaultAfterAnswer].
	AfterAnswer time.Duration
	// Queue is how many requests are in hand at most: queued, being sent, waiting for another try or for Report. Zero
	// means [DefaultQueue].
	Queue int
	// Sends is how many requests are being sent at a time. One stack gets a quarter of it. Pauses do not count, nor
	// what a send takes longer than five seconds. Zero means [DefaultSends].
	Sends int
	// Poll is how often the table is read when nothing else calls for it. Zero means [DefaultPoll].
	Poll time.Duration
	// Drain is how long Run waits for what is being sent and reported when it is asked to end. Zero means
	// [DefaultDrain].
	Drain time.Duration
}

// Delivery sends requests. Make one with [New]; its methods may be called concurrently.
type Delivery struct {
	config Config
	queue  *queue
	web    *web
	cloud  *cloud
	acs    *alibaba
	runs   *runs
	wg     sync.WaitGroup // all goroutines of Run
}

// New returns a Delivery that does nothing before [Delivery.Run]. It fails if a required field is missing or a number
// is negative.
func New(config Config) (*Delivery, error) {
	switch {
	case config.Table == nil, config.Node == nil, config.Report == nil, config.ResponseURL == nil:
		return nil, errors.New("delivery: Table, Node, Report and ResponseURL are required")
	case len(config.WebhookSecret) < minSecret:
		return nil, errors.New("delivery: WebhookSecret must have at least 24 bytes")
	case config.ROSResponse < 0 || config.ROSResponse > wire.MaxROSResponse:
		return nil, fmt.Errorf("delivery: ROSResponse must be from 0 to %d", wire.MaxROSResponse)
	case config.RetryFor < 0, config.Backoff < 0, config.Queue < 0, config.Sends < 0, config.Poll < 0, config.Drain < 0, config.Look < 0, config.AfterAnswer < 0:
		return nil, errors.New("delivery: RetryFor, Backoff, Queue, Sends, Poll, Drain, Look and AfterAnswer must not be negative")
	}
	setDefault(&config.ROSResponse, wire.MaxResponse)
	setDefault(&config.RetryFor, DefaultRetryFor)
	setDefault(&config.Backoff, DefaultBackoff)
	setDefault(&config.Queue, DefaultQueue)
	setDefault(&config.Sends, DefaultSends)
	setDefault(&config.Poll, DefaultPoll)
	setDefault(&config.Drain, DefaultDrain)
	setDefault(&config.Look, DefaultLook)
	setDefault(&config.AfterAnswer, DefaultAfterAnswer)
	if config.Progress == nil {
		config.Progress = func(wire.RequestID, string) {}
	}
	if config.CalledOut == nil {
		config.CalledOut = func(string, time.Time) bool { return false }
	}
	if config.Declared == nil {
		config.Declared = func() []string { return nil }
	}
	if config.Allowed == nil {
		config.Allowed = func(string, string) error { return nil }
	}
	if config.Retried == nil {
		config.Retried = func() {}
	}
	if config.Log == nil {
		config.Log = slog.Default()
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Local == nil {
		config.Local = nobody{}
	}
	return &Delivery{
		config: config,
		queue:  newQueue(config.Queue, config.Sends),
		web:    newWeb(config.Now),
		cloud:  &cloud{},
		acs:    newAlibaba(),
		runs:   newRuns(max(1, config.Queue/2)),
	}, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Dispatch takes ready requests that were just committed, bodies included. It never blocks; what does not fit is read
// from the table later. It may be called before, during and after [Delivery.Run].
func (d *Delivery) Dispatch(requests []store.Request) {
	d.queue.offer(d.config.Node(), requests)
}

// Load is what a [Delivery] has to do.
type Load struct {
	// InHand is how many requests are in hand: being sent, waiting for their turn or for another try, or being reported.
	InHand int
	// Waiting are those of them that wait for their turn, and Sending those that are being sent now.
	Waiting, Sending int
}

// Load returns what there is to do now.
func (d *Delivery) Load() Load { return d.queue.load() }

// Done takes the end of a local invocation: it is for local.Config.Done. It never blocks. IDs that it does not know
// are ignored.
func (d *Delivery) Done(id string, outcome local.Outcome) {
	d.runs.done(wire.RequestID(id), outcome)
	if d.runs.slack() {
		d.queue.rested()
	}
}

// Run sends requests until ctx ends, starting with everything in the table that is ready. Then it waits, no longer
// than Config.Drain, for what is being sent; everything else stays ready in the table. No goroutine of it is left when
// it returns, and the error is always nil. It may be called once.
func (d *Delivery) Run(ctx context.Context) error {
	// Sends and reports outlive ctx by the drain.
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer d.web.close()
	defer d.acs.client.CloseIdleConnections()

	d.wg.Go(func() { d.claims(ctx) })
	for ctx.Err() == nil {
		if s := d.queue.next(); s != nil {
			d.wg.Go(func() { d.carry(ctx, hard, s) })
			continue
		}
		for _, end := range d.runs.ended() {
			d.wg.Go(func() {
				if s, ok := end.outcome.(silent); ok {
					d.listen(ctx, hard, end, s)
					return
				}
				d.report(hard, end.of, end.outcome)
			})
		}
		select {
		case <-ctx.Done():
		case <-d.queue.wake:
		case <-d.runs.wake:
		}
	}
	drained := time.AfterFunc(d.config.Drain, cancel)
	defer drained.Stop()
	d.wg.Wait()
	return nil
}

// claims reads the table at the start, when there is room for what did not fit, and on a slow tick.
func (d *Delivery) claims(ctx context.Context) {
	tick := time.NewTicker(d.config.Poll)
	defer tick.Stop()
	for {
		if err := d.claim(ctx); errors.Is(err, store.ErrClosed) {
			return
		} else if err != nil && ctx.Err() == nil {
			d.config.Log.Error("ready requests cannot be read, trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-d.queue.room:
		case <-tick.C:
			d.queue.rested()
		}
	}
}

// lastReport bounds the report of what was cut off by the end of the drain.
const lastReport = 2 * time.Second

// claimBatch bounds one reading of the table: bodies are up to wire.MaxRequest bytes each, and wire.MaxPending more.
const claimBatch = 512

func (d *Delivery) claim(ctx context.Context) error {
	for ctx.Err() == nil {
		limit := min(d.queue.reading(), claimBatch)
		if limit == 0 {
			return nil
		}
		node := d.config.Node()
		requests, err := d.config.Table.Claim(ctx, node, limit, func(id wire.RequestID) bool { return d.queue.holds(node, id) })
		if err != nil {
			return err
		}
		if taken := d.queue.offer(node, requests); taken == 0 || len(requests) < limit {
			return nil
		}
	}
	return nil
}

// carry takes one request all the way.
func (d *Delivery) carry(soft, hard context.Context, s *send) {
	settled := false
	defer func() { d.queue.forget(s, settled) }()
	outcome := d.send(soft, hard, s)
	s.release()
	if outcome == nil {
		return
	}
	if hard.Err() != nil { // it was cut off, and is not to be sent again
		last, cancel := context.WithTimeout(context.WithoutCancel(hard), lastReport)
		defer cancel()
		hard = last
	}
	settled = d.report(hard, askingOf(s.request), outcome)
	if accepted, ok := outcome.(Accepted); ok && accepted.Local {
		d.runs.accepted(askingOf(s.request).about, settled)
	}
}

// asking names what was sent: a request or, if try is not 0, a try of one that asks again about another, or of an execution.
type asking struct {
	id wire.RequestID
	// about is what processes know it by. Two tries of an execution have nothing to do with each other.
	about wire.RequestID
	try   int
	macro bool // what is returned is the answer
	task  bool // of an execution
	once  bool // whose answer comes by a response URL, and which was not asked before
}

func askingOf(r store.Request) asking {
	switch {
	case r.Wait != nil:
		return asking{id: r.ID, about: r.Wait.For, try: r.Wait.Try}
	case r.Execution != nil:
		return asking{id: r.ID, about: tryID(r), try: r.Execution.Try, task: true}
	}
	once := r.Type == wire.Create || r.Type == wire.Update || r.Type == wire.Delete || asksToRead(r)
	return asking{id: r.ID, about: r.ID, macro: r.Type == store.TypeMacro, once: once}
}

// subject is the request that people know.
func (a asking) subject() wire.RequestID {
	if a.task {
		return a.id
	}
	return a.about
}

// report repeats a report until it was taken: losing one would leave its request to its timeout. It returns false if
// the outcome was not recorded.
func (d *Delivery) report(ctx context.Context, of asking, outcome Outcome) bool {
	id := of.id
	if of.try > 0 {
		outcome = Poll{For: of.subject(), Try: of.try, Outcome: outcome}
	}
	for n := 0; ; n++ {
		err := d.config.Report(ctx, id, outcome)
		switch {
		case err == nil:
			return true
		case errors.Is(err, store.ErrClosed):
			return false
		case errors.Is(err, store.ErrNotFound):
			d.config.Log.Warn("the outcome of an unknown request is dropped", "request", id)
			return true
		}
		if ctx.Err() == nil {
			d.config.Log.Error("an outcome cannot be recorded, trying again", "request", id, "error", err)
		}
		if !backoff.Wait(ctx, jitter(d.config.Backoff, n)) {
			return false
		}
	}
}
