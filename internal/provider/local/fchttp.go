package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
)

// bridgePoll is the interval between checks whether a process listens.
const bridgePoll = 20 * time.Millisecond

// bridge serves a process that is a custom runtime. Such a process does not ask for events, but listens on its port and
// receives them as POST requests. What the process does first decides whether it is one. bridge returns when the
// process asks for an event or ends.
//
// Source: Function Compute, custom runtimes, event handlers.
func (p *process) bridge() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the process, or with bridge
		select {
		case <-p.ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	address := net.JoinHostPort("127.0.0.1", p.fc.port)
	if !p.listens(ctx, address) {
		return
	}
	// No proxy, because the process is on this machine. Each event has its own connection: an idle connection that the
	// program has closed would look like a failure.
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	base := "http://" + address
	if p.fc.initializer != "" {
		h := http.Header{}
		p.fc.setHeaders(h, fcInitialize, fcInitID, "", time.Now().Add(p.fc.timeout))
		switch outcome, err := p.post(ctx, client, base, "/initialize", h, nil); {
		case err != nil && !backoff.Wait(ctx, lastWords):
			return
		case err != nil:
			p.initFails(Outcome{Message: "the provider's process broke off while it was initialized"})
			return
		case outcome.Kind != Returned:
			p.initFails(outcome)
			return
		}
		p.initialized()
	}
	for {
		select {
		case inv := <-p.deliver:
			p.call(ctx, client, base, inv)
		case <-ctx.Done():
			return
		}
	}
}

// listens waits until the process listens. It returns false if the process asks for events or ends first.
func (p *process) listens(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: time.Second}
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil && p.listensForeign(conn.RemoteAddr()) {
			conn.Close()
			err = errForeignPort // the process will find its port in use and end
		}
		p.mu.Lock()
		asked := p.asked
		p.asked = asked || err == nil
		p.mu.Unlock()
		if err == nil {
			conn.Close()
		}
		if asked || err == nil {
			return !asked
		}
		if !backoff.Wait(ctx, bridgePoll) {
			return false
		}
	}
}

// errForeignPort means that a program of another user listens on the port of a process.
var errForeignPort = errors.New("a program of another user listens there")

// robbed reports whether another program listens on the port of a process that has exited.
func (p *process) robbed() bool {
	return p.fc != nil && p.fc.port != "" && !vacant(p.fc.port)
}

// call posts an event to the process and records the reply.
func (p *process) call(ctx context.Context, client *http.Client, base string, inv *invocation) {
	inv.begin(time.Now())
	p.mu.Lock()
	p.current = inv
	p.mu.Unlock()
	h := http.Header{}
	p.fcHeader(h, inv)
	inv.sent <- nil
	outcome, err := p.post(ctx, client, base, "/invoke", h, inv)
	if err != nil && !backoff.Wait(ctx, lastWords) {
		return // the end of the process is reported instead
	}
	if err != nil {
		outcome = Outcome{
			Kind: Errored, Type: "Runtime.BrokenReply", Message: "the provider's process broke off the connection on which it had the event",
		}
	}
	if p.take(inv.id) == inv {
		inv.left = p.leaves(inv, inv.id, nil)
		inv.result <- outcome
	}
}

// post posts an event to a control path of the process. inv is nil for the initializer's. It returns an error if there
// was no complete reply.
func (p *process) post(ctx context.Context, client *http.Client, base, path string, h http.Header, inv *invocation) (Outcome, error) {
	var event Event
	if inv != nil {
		event = inv.event
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(event.Payload))
	if err != nil {
		return Outcome{}, err
	}
	h.Set("x-fc-control-path", path)
	request.Header = h
	response, err := client.Do(request)
	if err != nil {
		return Outcome{}, err
	}
	defer response.Body.Close()
	if failed(response) {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxResult))
		outcome := p.errorOf(body, "")
		if outcome.Type == "" && outcome.Message == "" {
			outcome.Message = "its reply has the status " + strconv.Itoa(response.StatusCode)
		}
		if !event.WantResult {
			outcome.Result = nil
		}
		return outcome, err
	}
	result := head{keep: event.keep()}
	switch n, err := io.Copy(&result, io.LimitReader(response.Body, maxResult+1)); {
	case err != nil:
		return Outcome{}, err
	case n > maxResult:
		return tooLarge(), nil
	}
	return p.returned(event, &result), nil
}

// failed reports whether a reply means that the function failed.
func failed(response *http.Response) bool {
	status, err := strconv.Atoi(response.Header.Get("x-fc-status"))
	if err != nil {
		status = response.StatusCode
	}
	return status < 200 || status > 299
}

// keep returns how many bytes of the handler's result are needed.
func (e Event) keep() int {
	switch {
	case e.WantResult:
		return maxResult
	case e.Waits:
		return maxWaiting
	}
	return 0
}

// tooLarge returns the outcome for a result that is too large.
func tooLarge() Outcome {
	return Outcome{
		Kind: Errored, Type: "Function.ResponseSizeTooLarge",
		Message: fmt.Sprintf("the handler returned more than %d bytes", maxResult),
	}
}

// returned returns the outcome of an event whose handler has returned.
func (p *process) returned(event Event, result *head) Outcome {
	outcome := Outcome{Kind: Returned}
	if event.Waits {
		outcome = p.waiting(result)
	}
	if event.WantResult {
		outcome.Result = result.text.Bytes()
	}
	outcome.Over = p.function && outcome.Kind == Returned
	return outcome
}
