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

// bridgePoll is how often it is looked whether a process listens by now.
const bridgePoll = 20 * time.Millisecond

// bridge serves a process that is a custom runtime: one that does not ask for events, but listens at its port and has them
// posted to it. Which of the two it is, is seen by what it does first. It returns when the process asks, or ends.
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
	// No proxy: it is on this machine. A connection of its own for each event: one that the program has closed meanwhile
	// would look like a failure of it.
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	base := "http://" + address
	if p.fc.initializer != "" {
		h := http.Header{}
		p.fc.tell(h, fcInitialize, fcInitID, "", time.Now().Add(p.fc.timeout))
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

// listens waits until the process does, and reports whether it does before it asks for events or ends.
func (p *process) listens(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: time.Second}
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil && p.listensForeign(conn.RemoteAddr()) {
			conn.Close()
			err = errForeignPort // the process will find its port taken, and end
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

// errForeignPort says that a program of another user listens at the port of a process.
var errForeignPort = errors.New("a program of another user listens there")

// robbed reports whether a process that has ended had a port at which another program listens.
func (p *process) robbed() bool {
	return p.fc != nil && p.fc.port != "" && !vacant(p.fc.port)
}

// call posts an event to the process and takes what it replies.
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
		return // the process has finished, which says more
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

// post posts an event to a control path of the process; inv is nil for that of the initializer. The error says that there was
// no whole reply.
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

// failed reports whether a reply says that the function failed.
func failed(response *http.Response) bool {
	status, err := strconv.Atoi(response.Header.Get("x-fc-status"))
	if err != nil {
		status = response.StatusCode
	}
	return status < 200 || status > 299
}

// keep is how much of what the handler returns is of interest.
func (e Event) keep() int {
	switch {
	case e.WantResult:
		return maxResult
	case e.Waits:
		return maxWaiting
	}
	return 0
}

// tooLarge is the end of an event whose result is too long.
func tooLarge() Outcome {
	return Outcome{
		Kind: Errored, Type: "Function.ResponseSizeTooLarge",
		Message: fmt.Sprintf("the handler returned more than %d bytes", maxResult),
	}
}

// returned is the end of an event whose handler has returned.
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
