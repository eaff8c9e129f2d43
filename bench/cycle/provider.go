//go:build unix

package cycle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/bench/measure"
)

// patience limits waits in this package. It is not an assertion: it only ends a run that hangs.
const patience = 2 * time.Minute

// Provider accepts requests and sends its answers later. It holds the first answers until all chains have begun, so that
// the work before the cycles is not measured. All engines in a comparison use this provider. It reads only RequestId,
// StackId, LogicalResourceId and ResponseURL of a request, and sends a CloudFormation response by PUT to ResponseURL. If
// the reply to an answer is not 200, the run fails.
type Provider struct {
	URL string // where it accepts requests

	server *httptest.Server
	client *http.Client
	size   Size
	begun  chan struct{} // closed when all chains have begun
	open   chan struct{}
	done   chan struct{} // closed after the last cycle
	all    sync.WaitGroup
	ctx    context.Context // the run's context, which ends with Close
	stop   context.CancelCauseFunc

	mu          sync.Mutex
	asked, left int
}

// NewProvider returns a provider on loopback for one run of the given size. It must be closed.
func NewProvider(ctx context.Context, size Size) *Provider {
	p := &Provider{
		client: client(), size: size, left: size.cycles(),
		begun: make(chan struct{}), open: make(chan struct{}), done: make(chan struct{}),
	}
	p.ctx, p.stop = context.WithCancelCause(ctx)
	p.server = httptest.NewServer(http.HandlerFunc(p.take))
	p.URL = p.server.URL
	return p
}

// client returns a client that keeps as many connections as there are chains.
func client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = 512, 512
	return &http.Client{Transport: transport}
}

// ask has the fields of a request that the provider reads.
type ask struct{ RequestId, StackId, LogicalResourceId, ResponseURL string }

func (p *Provider) take(w http.ResponseWriter, r *http.Request) {
	var a ask
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&a); err != nil {
		p.Fail(fmt.Errorf("a request cannot be read: %w", err))
	}
	w.WriteHeader(http.StatusAccepted)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked++; p.asked == p.size.Chains {
		close(p.begun)
	}
	if p.ctx.Err() == nil {
		p.all.Go(func() { p.answer(a) })
	}
}

func (p *Provider) answer(a ask) {
	select {
	case <-p.open:
	case <-p.ctx.Done():
		return
	}
	body, err := json.Marshal(map[string]any{
		"Status": "SUCCESS", "PhysicalResourceId": "thing-" + a.LogicalResourceId, "StackId": a.StackId, "RequestId": a.RequestId,
		"LogicalResourceId": a.LogicalResourceId, "Data": map[string]string{"Endpoint": "https://example.com/"},
	})
	if err != nil {
		p.Fail(err)
		return
	}
	put, err := http.NewRequestWithContext(p.ctx, http.MethodPut, a.ResponseURL, bytes.NewReader(body))
	if err != nil {
		p.Fail(err)
		return
	}
	response, err := p.client.Do(put)
	if err != nil {
		select {
		case <-p.done: // everything is being stopped
		default:
			p.Fail(fmt.Errorf("an answer is not taken: %w", err))
		}
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close() // only the status matters
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left--; p.left == 0 {
		close(p.done)
	}
	if p.left > 0 && response.StatusCode != http.StatusOK {
		p.Fail(fmt.Errorf("an answer was refused with %s", response.Status))
	}
}

// Fail ends the run with an error; only the first one counts. It is safe for concurrent use.
func (p *Provider) Fail(err error) { p.stop(err) }

// Rate is the rate of a run.
type Rate struct {
	PerSecond float64 // cycles
	CPU       float64 // µs of processor time of this process per cycle, which excludes other processes
}

// Measure waits until all chains have begun, releases the answers, and returns the rate from then until only the last
// cycle of each chain is left. Its error is that of the first [Provider.Fail], if any.
func (p *Provider) Measure() (Rate, error) {
	made, err := p.MeasureFor(patience)
	if err == nil && p.remaining() > 0 {
		return Rate{}, errors.New("the cycles do not end")
	}
	return made, err
}

// MeasureFor is [Provider.Measure] for engines that may be slow: it counts the cycles within window, if that ends first.
// Without any, it returns an error.
func (p *Provider) MeasureFor(window time.Duration) (Rate, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.begun:
	case <-p.ctx.Done():
		return Rate{}, context.Cause(p.ctx)
	case <-late.C:
		return Rate{}, errors.New("the chains do not begin")
	}
	began, cpu := time.Now(), measure.OwnCPU()
	close(p.open)
	late.Reset(window)
	select {
	case <-p.done:
	case <-p.ctx.Done():
		return Rate{}, context.Cause(p.ctx)
	case <-late.C:
	}
	took, used, cycles := time.Since(began), measure.OwnCPU()-cpu, float64(p.size.cycles()-p.remaining())
	if cycles == 0 {
		return Rate{}, fmt.Errorf("no cycle is made in %s", window)
	}
	return Rate{cycles / took.Seconds(), float64(used.Microseconds()) / cycles}, nil
}

// remaining returns how many cycles are still to be made.
func (p *Provider) remaining() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.left)
}

// Close stops the provider after a run.
func (p *Provider) Close() {
	p.stop(context.Canceled)
	p.server.Close()
	p.all.Wait()
	p.client.CloseIdleConnections()
}

// wait waits for the answers in flight.
func (p *Provider) wait() { p.all.Wait() }
