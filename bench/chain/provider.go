package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// patience bounds what is waited for before the first cycle. It is no measure: it only ends a run that hangs.
	patience = 2 * time.Minute
	// answersAtOnce is how many answers a provider sends at a time. A server tells those that flood it to come back later.
	answersAtOnce = 128
	// mostBody is how much of a request or an answer is read, in bytes.
	mostBody = 1 << 20
)

// Provider takes requests and sends its answers afterwards. It holds the first ones back until [Provider.Measure].
type Provider struct {
	// URL is where it takes requests.
	URL string

	load   Load
	client *http.Client
	close  func()
	ctx    context.Context // of its answers
	begun  chan struct{}   // closed when every chain has asked
	open   chan struct{}   // closed when answers may go out
	done   chan struct{}   // closed when all cycles are made
	slots  chan struct{}
	all    sync.WaitGroup
	failed chan error // the first failure

	mu            sync.Mutex
	asked, made   int
	closed, ended bool
}

// NewProvider starts a provider on loopback for chains of a load.
func NewProvider(load Load) (*Provider, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Provider{
		load: load, client: client(), ctx: ctx, failed: make(chan error, 1),
		begun: make(chan struct{}), open: make(chan struct{}), done: make(chan struct{}), slots: make(chan struct{}, answersAtOnce),
	}
	url, end, err := listen(http.HandlerFunc(p.take))
	if err != nil {
		cancel()
		return nil, err
	}
	p.URL, p.close = url, func() { cancel(); p.all.Wait(); p.client.CloseIdleConnections(); end() }
	return p, nil
}

// ask is what the provider reads of a request.
type ask struct{ RequestId, StackId, LogicalResourceId, ResponseURL string }

func (p *Provider) take(w http.ResponseWriter, r *http.Request) {
	var a ask
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		http.Error(w, "this is no request: "+err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		http.Error(w, "the provider has ended", http.StatusServiceUnavailable)
		return
	}
	if p.asked++; p.asked == p.load.Chains {
		close(p.begun)
	}
	p.all.Go(func() { p.answer(a) })
	p.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
}

func (p *Provider) answer(a ask) {
	select {
	case <-p.open:
	case <-p.ctx.Done():
		return
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-p.ctx.Done():
		return
	}
	if err := p.put(a); err != nil && p.ctx.Err() == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.ended { // after that everything is being stopped
			p.fail(fmt.Errorf("answer to %s: %w", a.RequestId, err))
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made++; p.made == p.load.cycles() {
		close(p.done)
	}
}

func (p *Provider) put(a ask) error {
	body, err := json.Marshal(map[string]any{
		"Status": "SUCCESS", "PhysicalResourceId": "thing-" + a.LogicalResourceId, "StackId": a.StackId, "RequestId": a.RequestId,
		"LogicalResourceId": a.LogicalResourceId, "Data": map[string]string{"Endpoint": "https://example.com/"},
	})
	if err != nil {
		return err
	}
	put, err := http.NewRequestWithContext(p.ctx, http.MethodPut, a.ResponseURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	return exchange(p.client, put, http.StatusOK)
}

func (p *Provider) fail(err error) {
	select {
	case p.failed <- err:
	default: // an earlier failure explains it
	}
}

// Measure lets the answers out and returns how fast cycles are made, until there is none left or window has passed. It returns
// the first failure of a request or an answer.
func (p *Provider) Measure(ctx context.Context, window time.Duration) (Rate, error) {
	select {
	case <-p.begun:
	case err := <-p.failed:
		return Rate{}, err
	case <-ctx.Done():
		return Rate{}, ctx.Err()
	case <-time.After(patience):
		p.mu.Lock()
		defer p.mu.Unlock()
		return Rate{}, fmt.Errorf("after %s only %d of %d chains have begun", patience, p.asked, p.load.Chains)
	}
	used, err := processorTime()
	if err != nil {
		return Rate{}, err
	}
	began := time.Now()
	close(p.open)
	select {
	case <-p.done:
	case <-time.After(window):
	case err := <-p.failed:
		return Rate{}, err
	case <-ctx.Done():
		return Rate{}, ctx.Err()
	}
	took := time.Since(began)
	p.mu.Lock()
	cycles := min(p.made, p.load.cycles())
	p.ended = true
	p.mu.Unlock()
	now, err := processorTime()
	if err != nil {
		return Rate{}, err
	}
	if cycles == 0 {
		return Rate{}, fmt.Errorf("no cycle was made in %s; give it a longer window", window)
	}
	return Rate{
		PerSecond: float64(cycles) / took.Seconds(), Processor: float64((now - used).Microseconds()) / float64(cycles), Cycles: cycles,
	}, nil
}

// Close drops the answers that are under way and ends the provider. It may be called again.
func (p *Provider) Close() {
	p.mu.Lock()
	again := p.closed
	p.closed, p.ended = true, true
	p.mu.Unlock()
	if !again {
		p.close()
	}
}

// exchange makes a request and wants a status.
func exchange(client *http.Client, request *http.Request, want int) error {
	response, err := client.Do(request)
	if err != nil {
		return errors.Unwrap(err) // without the URL
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, mostBody)) // its status is what is wanted
	_ = response.Body.Close()
	if response.StatusCode != want {
		return fmt.Errorf("the status is %s, not %d", response.Status, want)
	}
	return nil
}
