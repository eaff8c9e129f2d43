package local

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// Limits of the input from a process.
const (
	maxResult    = 6 << 20 // Source: AWS Lambda quotas, synchronous invocation payload
	maxErrorType = 256
	maxRedacted  = 256 << 10 // the limit of a text before redaction; less of it is shown
	maxMessage   = 4 << 10
	maxWaiting   = wire.MaxPending + 16<<10 // the texts in addition to the pending state
)

// sendTimeout limits how long sending an event may take after the process has asked for it.
const sendTimeout = 10 * time.Second

// handler serves the Runtime API to the process.
func (p *process) handler() http.Handler {
	mux := http.NewServeMux()
	if p.fc != nil {
		p.handleFC(mux)
	} else {
		const root = "/2018-06-01/runtime"
		mux.HandleFunc("GET "+root+"/invocation/next", p.next)
		mux.HandleFunc("POST "+root+"/invocation/{id}/response", p.response)
		mux.HandleFunc("POST "+root+"/invocation/{id}/error", p.invocationError)
		mux.HandleFunc("POST "+root+"/invocation/{id}/idle", p.idle)
		mux.HandleFunc("POST "+root+"/init/error", p.initError)
	}
	if p.aws != nil {
		mux.Handle("POST /pintle/aws", p.aws)
	}
	inner := http.Handler(mux)
	if p.secret != "" {
		inner = http.StripPrefix("/"+p.secret, mux)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise a page in a browser on this machine could receive the process's events.
		if r.Host != p.addr || r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
			w.Header().Set("Connection", "close") // an outside client must not keep the connection open
			reply(w, http.StatusForbidden, "Forbidden", "only the provider's process is served here")
			return
		}
		if !p.admits(r.URL.Path) {
			w.Header().Set("Connection", "close")
			reply(w, http.StatusForbidden, "Forbidden", "the address of this Runtime API has a path, and this request lacks it")
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// next waits for an event and sends it to the process.
func (p *process) next(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = true
	unanswered := p.current
	p.current = nil
	p.mu.Unlock()
	if unanswered != nil {
		// Lambda refuses this call. Here it means that the process has finished the event.
		unanswered.result <- Outcome{
			Kind: Errored, Type: "Runtime.NoResponse",
			Message: "the provider's process asked for its next event before it posted a response to this one",
		}
	}
	p.handOver(w, r)
}

// handOver waits for an event and writes it to the response.
func (p *process) handOver(w http.ResponseWriter, r *http.Request) {
	select {
	case inv := <-p.deliver:
		err := p.send(w, inv)
		if err != nil {
			p.take(inv.id)
		}
		inv.sent <- err
	case <-r.Context().Done():
	case <-p.ending:
		reply(w, http.StatusInternalServerError, "Runtime.Ending", "the process has ended")
	}
}

func (p *process) send(w http.ResponseWriter, inv *invocation) error {
	inv.begin(time.Now())
	p.mu.Lock()
	p.current = inv
	p.mu.Unlock()
	p.platform.start(inv)
	// A process that does not read its event must not block its worker.
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	if p.fc != nil {
		p.fcHeader(w.Header(), inv)
	} else {
		p.lambdaHeader(w.Header(), inv)
	}
	if _, err := w.Write(inv.event.Payload); err != nil {
		return err
	}
	if err := control.Flush(); err != nil {
		return err
	}
	return control.SetWriteDeadline(time.Time{})
}

// lambdaHeader sets the headers of an event.
func (p *process) lambdaHeader(h http.Header, inv *invocation) {
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(inv.event.Payload)))
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", cmp.Or(inv.event.FunctionARN, p.functionARN))
	h.Set("Lambda-Runtime-Trace-Id", cmp.Or(inv.event.Trace.XRay(), traceID(time.Now())))
	if inv.event.Waits {
		h.Set(wire.HeaderWaits, wire.Waits)
	}
}

// take removes and returns the current event if it has this ID. The caller then reports the outcome.
func (p *process) take(id string) *invocation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.id != id {
		return nil
	}
	inv := p.current
	p.current = nil
	return inv
}

// running returns the current event if it has this ID, else nil.
func (p *process) running(id string) *Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.id != id {
		return nil
	}
	return &p.current.event
}

func (p *process) response(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	event := p.running(id)
	if event == nil {
		replyUnknownID(w)
		return
	}
	result := head{keep: event.keep()}
	var outcome Outcome
	var over *http.MaxBytesError
	_, err := io.Copy(&result, http.MaxBytesReader(w, r.Body, maxResult))
	switch {
	case errors.As(err, &over):
		outcome = tooLarge()
	case err != nil:
		reply(w, http.StatusBadRequest, "InvalidRequest", "the body ended early")
		return
	default:
		outcome = p.returned(*event, &result)
	}
	inv := p.take(id)
	if inv == nil {
		replyUnknownID(w)
		return
	}
	inv.left = p.leaves(inv, id, r.Header)
	inv.result <- outcome
	if over != nil {
		reply(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", outcome.Message)
		return
	}
	p.replyOK(w)
}

func (p *process) invocationError(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	event := p.running(id)
	if event == nil {
		replyUnknownID(w)
		return
	}
	outcome := p.errorReport(r)
	if !event.WantResult {
		outcome.Result = nil
	}
	inv := p.take(id)
	if inv == nil {
		replyUnknownID(w)
		return
	}
	inv.result <- outcome
	p.replyOK(w)
}

func (p *process) initError(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	asked := p.asked
	p.mu.Unlock()
	if asked {
		reply(w, http.StatusForbidden, "InvalidStateTransition", "the process has asked for an event already")
		return
	}
	p.initFails(p.errorReport(r))
	p.replyOK(w)
}

// initFails records the error of a process that failed to initialize.
func (p *process) initFails(report Outcome) {
	report.Kind = InitFailed
	select {
	case p.initFailed <- report:
	default: // already reported
	}
}

// errorReport reads the error that a process reports: bounded and redacted, and in raw form. A body in another format
// becomes the message.
func (p *process) errorReport(r *http.Request) Outcome {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxResult)) // a truncated body is still useful
	return p.errorOf(body, r.Header.Get("Lambda-Runtime-Function-Error-Type"))
}

// errorOf returns the outcome for an error report. otherwise is the error type if the report has none.
func (p *process) errorOf(body []byte, otherwise string) Outcome {
	errorType, message := parseErrorReport(body)
	return Outcome{
		Kind:    Errored,
		Type:    p.bounded(cmp.Or(errorType, otherwise), maxErrorType),
		Message: p.bounded(message, maxMessage),
		Result:  body,
	}
}

func parseErrorReport(body []byte) (errorType, message string) {
	var report struct {
		ErrorType    *string `json:"errorType"`
		ErrorMessage *string `json:"errorMessage"`
	}
	if json.Unmarshal(body, &report) != nil || report.ErrorType == nil && report.ErrorMessage == nil {
		return "", string(body)
	}
	if report.ErrorType != nil {
		errorType = *report.ErrorType
	}
	if report.ErrorMessage != nil {
		message = *report.ErrorMessage
	}
	return errorType, message
}

// bounded redacts text and truncates it to at most limit bytes.
func (p *process) bounded(text string, limit int) string {
	if len(text) > maxRedacted {
		text = p.redactor.beginning(text[:maxRedacted])
	} else {
		text = p.redactor.line(text)
	}
	if len(text) > limit {
		text = redact.CutRune(text[:limit-len("…")]) + "…"
	}
	return text
}

// replyOK acknowledges a report with the status that each API uses.
func (p *process) replyOK(w http.ResponseWriter) {
	status := http.StatusAccepted
	if p.fc != nil {
		status = http.StatusOK
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func replyUnknownID(w http.ResponseWriter) {
	reply(w, http.StatusBadRequest, "InvalidRequestID", "no event with this ID is running in this process")
}

func reply(w http.ResponseWriter, status int, errorType, message string) {
	body, err := json.Marshal(map[string]string{"errorType": errorType, "errorMessage": message})
	if err != nil {
		panic(err) // strings always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// traceID returns a fresh X-Ray trace header of an unsampled trace.
func traceID(now time.Time) string {
	var random [20]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0",
		uint32(now.Unix()), hex.EncodeToString(random[:12]), hex.EncodeToString(random[12:]))
}
