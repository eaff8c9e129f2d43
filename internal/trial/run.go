package trial

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/delivery"
	"github.com/pintle-dev/pintle/internal/local"
	"github.com/pintle-dev/pintle/internal/value"
	"github.com/pintle-dev/pintle/wire"
)

// trial is one run.
type trial struct {
	config    Config
	signer    *wire.Signer // nil for a request of ROS
	key       wire.ResponseKey
	signature string // of ROS's response URL
	// secrets are texts that nobody may see.
	secrets []string

	answers chan answer    // the first
	came    atomic.Int64   // how many there were
	began   chan time.Time // when the provider got the request; at most one
	// ended gets once what became of the delivery: nil if the provider is done with it and may still answer.
	ended chan error
}

type answer struct {
	body []byte
	size int
	at   time.Time
}

func (t *trial) run(ctx context.Context) (Result, error) {
	var runtime *local.Runtime
	var schema []byte
	if t.config.Provider.Target.Kind() != local.URL {
		var err error
		if runtime, err = t.start(); err != nil {
			return Result{}, err
		}
		var broken *local.BuildError
		// A provider need not have a schema.
		if schema, err = runtime.Schema(ctx, t.config.Provider.Name); ctx.Err() != nil || errors.As(err, &broken) {
			return Result{}, errors.Join(err, runtime.Close())
		}
	}
	if t.config.Learn != nil {
		t.secrets = t.config.Learn(schema, &t.config.Request)
	}
	result, err := t.exchange(ctx, runtime)
	if runtime != nil {
		err = errors.Join(err, runtime.Close())
	}
	return result, err
}

// exchange hands the request over and waits for its answer.
func (t *trial) exchange(ctx context.Context, runtime *local.Runtime) (Result, error) {
	request := t.config.Request
	if request.Dialect == wire.ROS {
		request.ServiceToken = "" // only the template has it
	}
	message, err := request.Encode()
	if err != nil {
		return Result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, t.config.Timeout+lastWords)
	defer cancel()
	start := time.Now()
	if runtime == nil {
		posted := make(chan struct{})
		go func() { // ends with limited
			defer close(posted)
			t.ended <- t.post(limited, message)
		}()
		result, err := t.await(ctx, limited, start)
		cancel()
		<-posted
		return result, err
	}
	if err := t.invoke(runtime, message, start); err != nil {
		return Result{}, err
	}
	return t.await(ctx, limited, start)
}

// start returns a runtime for the provider's process.
func (t *trial) start() (*local.Runtime, error) {
	c := t.config.Runtime
	c.Providers = append([]local.Provider{t.config.Provider}, t.config.Functions...)
	var mu sync.Mutex // there may be several processes, at once or one after the other
	c.Log = func(_, _, line string) {
		mu.Lock()
		defer mu.Unlock()
		t.config.Log(line)
	}
	calls := t.config.Calls
	c.Done = func(id string, o local.Outcome) {
		if calls == nil || !calls.Done(id, o) {
			t.ended <- died(o)
		}
	}
	runtime, err := local.New(c)
	if err == nil && calls != nil {
		calls.Use(runtime)
	}
	return runtime, err
}

// invoke gives the event to a process.
func (t *trial) invoke(runtime *local.Runtime, message []byte, start time.Time) error {
	if t.config.SNS {
		message = local.SNSEvent(string(t.config.Request.ServiceToken), "AWS CloudFormation custom resource request", message,
			start, string(t.config.Request.RequestID))
	}
	token := t.config.Request.ServiceToken
	event := local.Event{
		ID: string(t.config.Request.RequestID), Payload: message, Deadline: start.Add(t.config.Timeout), Secrets: t.secrets,
		Contract: local.ContractOf(token), Started: func() { t.began <- time.Now() },
	}
	if t.config.Request.Dialect == wire.ROS {
		event.FunctionARN = string(token)
	}
	if t.config.Calls != nil {
		t.config.Calls.Begin(event)
	}
	return runtime.Invoke(t.config.Provider.Name, event)
}

// died returns why there will be no answer; nil if there may be one.
func died(o local.Outcome) error {
	switch o.Kind {
	case local.Returned:
		return nil
	case local.Errored:
		return fmt.Errorf("the handler failed: %s", o)
	case local.Exited, local.Crashed, local.TimedOut, local.InitFailed, local.Stopped, local.Waiting: // nobody may wait here
	}
	if o.Kind == local.InitFailed && len(o.Log) > 0 && o.ExitCode == 0 && o.Signal == "" {
		return fmt.Errorf("%s\n%s", o.Message, strings.Join(o.Log, "\n")) // the output of a build is in no other log
	}
	return errors.New(o.Message)
}

// await waits for the answer and then, for a moment, for what the provider does after it.
func (t *trial) await(ctx, limited context.Context, start time.Time) (Result, error) {
	ended := t.ended
	for {
		select {
		case a := <-t.answers:
			r := t.read(a, start)
			if ended != nil {
				timer := time.NewTimer(lastWords)
				defer timer.Stop()
				select {
				case <-ended: // how does not matter any more
				case <-timer.C:
				case <-limited.Done():
				}
			}
			return r, nil
		case problem := <-ended:
			ended = nil
			select {
			case a := <-t.answers: // it came before the end
				return t.read(a, start), nil
			default:
			}
			if problem != nil {
				return Result{Problem: problem, Took: time.Since(t.since(start))}, nil
			}
			t.config.Waiting()
		case <-limited.Done():
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			return Result{
				Problem: fmt.Errorf("no answer within %s", t.config.Timeout), Took: time.Since(t.since(start)),
			}, nil
		}
	}
}

// since returns when the provider got the request, as far as that is known.
func (t *trial) since(start time.Time) time.Time {
	select {
	case at := <-t.began:
		return at
	default:
		return start
	}
}

// read makes a result of an answer.
func (t *trial) read(a answer, start time.Time) Result {
	response, err := t.config.Request.Dialect.ParseResponse(a.body)
	if refused, ok := errors.AsType[*wire.ResponseError](err); ok && a.size > len(a.body) {
		refused.Size = a.size
	}
	r := Result{Response: response, Answered: true, Size: a.size, Took: a.at.Sub(t.since(start)), Problem: err}
	r.Response.Reason = t.scrub(r.Response.Reason)
	if err != nil {
		r.Problem = errors.New(t.scrub(err.Error()))
		return r
	}
	r.Mismatches = response.Mismatches(t.config.Request)
	return r
}

// scrub returns a text without signatures and secrets.
func (t *trial) scrub(text string) string {
	text = wire.Redact(text)
	for _, secret := range t.secrets {
		for _, spelling := range value.Spellings(secret) {
			if spelling != "" {
				text = strings.ReplaceAll(text, spelling, value.Mask)
			}
		}
	}
	return text
}

// ServeHTTP takes the answer, as an engine's response URL does.
func (t *trial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t.signer == nil {
		t.serveROS(w, r)
		return
	}
	if r.Method != http.MethodPut {
		http.Error(w, "MethodNotAllowed", http.StatusMethodNotAllowed)
		return
	}
	key, err := t.signer.Verify(r, time.Now())
	if err == nil && key != t.key {
		err = &wire.AccessError{Code: "NoSuchKey", Message: "The specified key does not exist."}
	}
	if err != nil {
		wire.WriteError(w, err)
		return
	}
	if r.ContentLength == 0 && r.Header.Get("Content-Length") == "" {
		http.Error(w, "MissingContentLength", http.StatusLengthRequired)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxResponse+1))
	if err != nil {
		http.Error(w, "IncompleteBody", http.StatusBadRequest)
		return
	}
	t.take(body, int(r.ContentLength))
	w.WriteHeader(http.StatusOK)
}

// take takes an answer whose sender says how long it is; what is less than there is does not count.
func (t *trial) take(body []byte, size int) {
	if t.came.Add(1) == 1 {
		t.answers <- answer{body, max(size, len(body)), time.Now()}
	}
}

// maxRefusal bounds what is read of a reply that is no answer.
const maxRefusal = 4 << 10

// post sends the request to a URL.
func (t *trial) post(ctx context.Context, message []byte) error {
	target := t.config.Provider.Target.Path()
	u, err := url.Parse(target)
	if err != nil {
		return errors.New("the target is not a valid URL")
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(message))
	if err != nil {
		return errors.New("the target is not a valid URL")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "pintle")
	if secret := t.config.WebhookSecret; secret != "" {
		key := []byte(secret)
		if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return errors.New("the webhook secret is not base64 after whsec_")
			}
		}
		delivery.SignWebhook(request.Header, key, string(t.config.Request.RequestID), time.Now(), message)
	}
	transport := &http.Transport{ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.began <- time.Now()
	response, err := client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL, which may hold a password
		}
		return fmt.Errorf("POST %s: %w", shown, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal+1))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		text := t.scrub(strings.TrimSpace(string(body[:min(len(body), maxRefusal)])))
		return fmt.Errorf("POST %s: %s: %s", shown, response.Status, text)
	}
	if err != nil {
		return fmt.Errorf("POST %s: the reply broke off: %w", shown, err)
	}
	var fields struct{ Status json.RawMessage }
	if len(body) > wire.MaxResponse || json.Unmarshal(body, &fields) == nil && fields.Status != nil {
		t.take(body, int(response.ContentLength))
	}
	return nil
}
