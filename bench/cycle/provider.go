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

// patience bounds what is waited for here. It is no assertion: it only ends a run that hangs.
const patience = 2 * time.Minute

// Provider takes requests and sends its answers afterwards. It holds the first ones back until all chains have begun, so
// that what comes before the cycles is not measured. Everything that is compared asks this provider, which reads no more
// of a request than RequestId, StackId, LogicalResourceId and ResponseURL, and sends a PUT of a CloudFormation response to
// ResponseURL. An answer that is not taken with 200 fails the run.
type Provider struct {
	URL string // where it takes requests

	server *httptest.Server
	client *http.Client
	size   Size
	begun  chan struct{} // closed when all chains have begun
	open   chan struct{}
	done   chan struct{} // closed when so many cycles were made
	all    sync.WaitGroup
	ctx    context.Context // it is the run's, and ends with Close
	stop   context.CancelCauseFunc

	mu          sync.Mutex
	asked, left int
}

// NewProvider returns a provider that listens on loopback, for one run of that size. It has to be closed.
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

// client returns one that keeps as many connections as there are chains.
func client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = 512, 512
	return &http.Client{Transport: transport}
}

// ask is what the provider reads of a request.
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
		case <-p.done: // and everything is being stopped
		default:
			p.Fail(fmt.Errorf("an answer is not taken: %w", err))
		}
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close() // its status is what is wanted
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

// Rate is how fast cycles were made.
type Rate struct {
	PerSecond float64 // cycles
	CPU       float64 // µs of processor time of this process for each, so of all that is no process of its own
}

// Measure waits until all chains have begun, lets the answers out and returns how fast cycles are made from then on, until all
// but the last one of each chain are. Its error is that of the first [Provider.Fail], if there was one.
func (p *Provider) Measure() (Rate, error) {
	made, err := p.MeasureFor(patience)
	if err == nil && p.remaining() > 0 {
		return Rate{}, errors.New("the cycles do not end")
	}
	return made, err
}

// MeasureFor is [Provider.Measure] for those who may be slow: it counts the cycles that are made in window, if that ends first.
// It is an error if there are none.
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

// Close ends what the provider still does. The run is over.
func (p *Provider) Close() {
	p.stop(context.Canceled)
	p.server.Close()
	p.all.Wait()
	p.client.CloseIdleConnections()
}

// wait waits for the answers that are on their way.
func (p *Provider) wait() { p.all.Wait() }
