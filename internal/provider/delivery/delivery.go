// Package delivery sends requests to providers and reports the result. It decides nothing about stacks.
//
// A ready request row belongs to the node that committed it. After the commit, [Delivery.Dispatch] puts the request
// directly into a bounded queue in memory. If the queue is full, the row stays in the table. Claim reads such rows when
// there is room, after a start, and on a slow tick. So the table is the real queue, and the queue in memory only saves
// reads. Both are fair: stacks take turns.
//
// The service token decides where a request goes. A request without one is for a native type and is handled in this
// process. Local providers match first. They match by name, regardless of the account and region in the token. Local
// topics come next, then http(s) URLs, Lambda functions and SNS topics. Temporary errors (a refused connection, 429,
// 5xx, a throttled call) are retried for a minute with jitter. Permanent errors (another 4xx, missing permissions) fail
// immediately with the error text of the service. Each send has one [Outcome], which is reported until the engine
// accepts it. The row stays ready until then, so after a crash the request is sent again. Providers may therefore get a
// request twice, with the same RequestId.
//
// # Dynamic references
//
// Rows contain dynamic references as written. They are resolved each time a request is sent, and the values appear only
// in the document that is sent. Secret values are removed from all texts that come back.
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
// Otherwise the answer must come to the response URL. Connections to private networks are refused unless
// [Config.AllowPrivate] is set. The check uses the dialed address, not the name, and no proxy is used. A URL that the
// operator mapped a name to is not restricted.
//
// A URL that is mapped to the name of an SNS topic gets a notification instead, with the headers and the signature of
// SNS. A response document in its reply is ignored, as by SNS.
//
// # ROS
//
// Requests of ROS stacks have the document format of ROS and go to the target of the ROS token. A URL in a token with
// web: gets them as ROS sends them, without Pintle's signature. Unless the token says idempotent, a Create is retried
// only while no byte of it has been sent. Function Compute and Simple Message Queue are called with an access key that
// [acs.Find] finds in the same places as Alibaba Cloud's tools. ALIBABA_CLOUD_FC_ENDPOINT, ALIBABA_CLOUD_FC3_ENDPOINT
// and ALIBABA_CLOUD_MNS_ENDPOINT set other endpoints.
//
// # AWS
//
// Lambda and SNS are called with the AWS SDK's own configuration: environment, shared files, profiles, SSO,
// AWS_ENDPOINT_URL. The credentials of EC2 instance metadata are used only if AWS_EC2_METADATA_DISABLED is set to
// false, because on other machines that lookup waits for a host that does not exist.
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
	DefaultRetryFor = time.Minute            // retrying after temporary errors
	DefaultBackoff  = 200 * time.Millisecond // limit of the first pause between two attempts
	DefaultQueue    = 2048                   // requests in the queue
	DefaultSends    = 256                    // concurrent sends
	DefaultPoll     = 5 * time.Second        // between two reads of the table
	DefaultDrain    = 5 * time.Second        // for sends in flight when Run is asked to stop
)

// minSecret is the minimum length of a webhook secret. Source: Standard Webhooks, signature scheme, 24 to 64 bytes.
const minSecret = 24

// Table is the part of the store that delivery reads.
type Table interface {
	// Claim is described at store.Store.
	Claim(ctx context.Context, node store.Incarnation, limit int, skip func(wire.RequestID) bool) ([]store.Request, error)
}

// Config configures a [Delivery]. All functions in it are called from many goroutines.
type Config struct {
	// Table is the source of requests that did not fit into the queue. Required.
	Table Table
	// Node returns this node's incarnation. Requests of other owners are dropped unsent. Required.
	Node func() store.Incarnation
	// Report records an outcome. It is called again until it returns nil, store.ErrClosed or store.ErrNotFound. For a
	// request that a local process executes, it may be called again after Accepted, with Died, Waiting or Silent.
	// Required.
	Report func(ctx context.Context, id wire.RequestID, outcome Outcome) error
	// ResponseURL returns the URL for the provider's answer. The signature starts now and outlasts the request's
	// timeout. If ResponseURL returns an error, the request is refused with it. Required.
	ResponseURL func(request store.Request) (string, error)
	// WebhookSecret signs requests to providers behind URLs. It has at least 24 bytes. Required.
	WebhookSecret []byte
	// Notifications signs notifications to a URL that replaces a topic. If nil, such a URL gets the request document,
	// like any other URL.
	Notifications Notifications
	// Local runs the local providers. Nil means none.
	Local Local
	// Declared returns the names of the project's local providers. Errors suggest one for a misspelled name. Nil means
	// none.
	Declared func() []string
	// Topics are the local topics, which take precedence over SNS topics. Nil means none.
	Topics Topics
	// Away is for a node without functions and local topics. It reports whether a service token names one. Requests for
	// these, and the tasks of executions, wait for a node that has them. Nil means that this node has them.
	Away func(ctx context.Context, token wire.ServiceToken) bool
	// CalledOut reports whether a process of a local provider has called a service of this server since the given time.
	// The called service, such as a function, may still send the answer. Nil means that no process calls services.
	CalledOut func(provider string, since time.Time) bool
	// Serverless expands SAM templates: it answers the event of the macro [template.Serverless]. Its error is that of
	// ctx. Nil leaves this macro unknown.
	Serverless func(ctx context.Context, event []byte) ([]byte, error)
	// Native handles the requests of native types, which have no service token. Nil means none.
	Native *native.Registry
	// CheckImport returns an error if a custom resource must not be imported, e.g. because a stack now has it. If the
	// error wraps native.ErrAgain, the request is sent later. Nil allows every import.
	CheckImport func(ctx context.Context, r *store.Request) error
	// References resolves the dynamic references in properties each time a request is sent. Nil leaves them unresolved.
	References References
	// ROSResponse is the maximum size in bytes of a ROS provider's answer in the body of its HTTP response, at most
	// wire.MaxROSResponse. Zero means wire.MaxResponse.
	ROSResponse int
	// ROSBase64 encodes ROS requests in base64 in messages to queues and topics of Simple Message Queue. Recipients
	// whose clients decode base64 expect that. It does not affect local providers.
	ROSBase64 bool
	// ROSInnerURL adds InnerResponseURL to ROS requests, the name of IntranetResponseURL in the text of the ROS
	// documentation.
	ROSInnerURL bool
	// Allowed returns an error if stacks of an account may not use the cloud credentials of this process for a call,
	// such as lambda:Invoke. Nil allows every call for every account.
	Allowed func(account, call string) error
	// AllowPrivate allows URL tokens to point into private networks, including this machine.
	AllowPrivate bool
	// FidelityAWS matches the behaviour of Lambda: the death of a provider's process is not reported, and the request
	// times out. Texts are exactly those of AWS.
	FidelityAWS bool
	// Progress gets messages for people about a delayed request, e.g. "connection refused, retrying, 42 s left". The
	// progress of a poll is reported for the waiting request. Nil discards messages.
	Progress func(id wire.RequestID, text string)
	// Retried is called for every retry. It must not block. Nil does nothing.
	Retried func()
	// Log receives messages for operators. Nil means slog.Default().
	Log *slog.Logger
	// Now returns the time for signing requests. Nil means time.Now.
	Now func() time.Time
	// RetryFor is how long a failing send is retried, at most until the request's own timeout. Zero means
	// [DefaultRetryFor].
	RetryFor time.Duration
	// Backoff limits the first pause between two attempts. The limit doubles up to ten seconds, and each pause is a
	// random part of it. Zero means [DefaultBackoff].
	Backoff time.Duration
	// Look is the pause between a local handler's return without an answer and the first check for its answer and for
	// remaining work of its process. Zero means [DefaultLook].
	Look time.Duration
	// AfterAnswer is how long a local handler may continue after its request was answered. Zero means [DefaultAfterAnswer].
	AfterAnswer time.Duration
	// Queue is the maximum number of requests in the queue: waiting for their turn, being sent, waiting for a retry or
	// for Report. Zero means [DefaultQueue].
	Queue int
	// Sends is the maximum number of concurrent sends. One stack gets a quarter of them. Pauses do not count, and
	// neither does a send after its first five seconds. Zero means [DefaultSends].
	Sends int
	// Poll is the interval between reads of the table when nothing else triggers one. Zero means [DefaultPoll].
	Poll time.Duration
	// Drain is how long Run waits for sends and reports in flight when it is asked to stop. Zero means [DefaultDrain].
	Drain time.Duration
}

// Delivery sends requests. Make one with [New]. It is safe for concurrent use.
type Delivery struct {
	config Config
	queue  *queue
	runs   *runs
	router *router
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
		config.Local = noProcesses{}
	}
	runs, documents := newRuns(max(1, config.Queue/2)), &documents{config}
	return &Delivery{
		config: config,
		queue:  newQueue(config.Queue, config.Sends),
		runs:   runs,
		router: &router{
			documents: documents, localSender: &localSender{documents: documents, config: config, runs: runs},
			config: config, web: newWeb(config.Now), cloud: &cloud{}, acs: newAlibaba(),
		},
	}, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Dispatch accepts ready requests, with their bodies, that were just committed. It never blocks. Requests that do not
// fit are read from the table later. It may be called before, during and after [Delivery.Run].
func (d *Delivery) Dispatch(requests []store.Request) {
	d.queue.offer(d.config.Node(), requests)
}

// Load is the workload of a [Delivery].
type Load struct {
	// InHand is the number of requests in the queue: waiting for their turn or for a retry, being sent, or being
	// reported.
	InHand int
	// Waiting counts those that wait for their turn, and Sending those that are being sent now.
	Waiting, Sending int
}

// Load returns the current workload.
func (d *Delivery) Load() Load { return d.queue.load() }

// Done records the outcome of a local invocation. Use it as local.Config.Done. It never blocks and ignores unknown IDs.
func (d *Delivery) Done(id string, outcome local.Outcome) {
	d.runs.done(wire.RequestID(id), outcome)
	if d.runs.slack() {
		d.queue.rested()
	}
}

// Run sends requests until ctx ends, starting with all ready requests in the table. Then it waits for sends in flight,
// at most for Config.Drain. All other requests stay ready in the table. When Run returns, all its goroutines are
// finished. The error is always nil. Run may be called once.
func (d *Delivery) Run(ctx context.Context) error {
	// Sends and reports outlive ctx by the drain.
	hard, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer d.router.web.close()
	defer d.router.acs.client.CloseIdleConnections()

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

// claims reads the table at the start, when there is room for more requests, and on a slow tick.
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

// lastReport limits the time to report a send that the end of the drain interrupted.
const lastReport = 2 * time.Second

// claimBatch limits the rows of one read: bodies have up to wire.MaxRequest bytes each, plus wire.MaxPending.
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

// carry sends one request and reports its outcome.
func (d *Delivery) carry(soft, hard context.Context, s *send) {
	settled := false
	defer func() { d.queue.forget(s, settled) }()
	outcome := d.router.send(soft, hard, s)
	s.release()
	if outcome == nil {
		return
	}
	if hard.Err() != nil { // interrupted, and must not be sent again
		last, cancel := context.WithTimeout(context.WithoutCancel(hard), lastReport)
		defer cancel()
		hard = last
	}
	settled = d.report(hard, askingOf(s.request), outcome)
	if accepted, ok := outcome.(Accepted); ok && accepted.Local {
		d.runs.accepted(askingOf(s.request).about, settled)
	}
}

// asking identifies a send: of a request or, if try is not 0, of a poll for another request or of an execution's task.
type asking struct {
	id wire.RequestID
	// about is the ID that the process gets. Each try of an execution has a different one.
	about wire.RequestID
	try   int
	macro bool // the returned value is the answer
	task  bool // the task of an execution
	once  bool // the first send of a request whose answer comes through a response URL
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

// subject returns the ID that people know the request by.
func (a asking) subject() wire.RequestID {
	if a.task {
		return a.id
	}
	return a.about
}

// report repeats a report until it is accepted, because a lost report would leave the request waiting for its timeout.
// It returns false if the outcome was not recorded.
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
