//go:build unix

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"
)

// provider takes requests and sends its answers afterwards. It holds the first ones back until all chains have begun, so
// that what comes before the cycles is not measured.
type provider struct {
	*httptest.Server
	b      *testing.B
	client *http.Client
	begun  sync.WaitGroup // of chains
	open   chan struct{}
	done   chan struct{} // closed when so many cycles were made
	all    sync.WaitGroup
	stop   context.CancelFunc

	mu          sync.Mutex
	asked, left int
}

func newProvider(b *testing.B, chains, cycles int) *provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = 512, 512
	ctx, stop := context.WithCancel(context.Background())
	p := &provider{b: b, client: &http.Client{Transport: transport}, open: make(chan struct{}), done: make(chan struct{}), stop: stop, left: cycles}
	p.begun.Add(chains)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a ask
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			b.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
		p.mu.Lock()
		if p.asked++; p.asked <= chains {
			p.begun.Done()
		}
		p.mu.Unlock()
		p.all.Go(func() { p.answer(ctx, a) })
	}))
	return p
}

// ask is what the provider reads of a request.
type ask struct{ RequestId, StackId, LogicalResourceId, ResponseURL string }

func (p *provider) answer(ctx context.Context, a ask) {
	select {
	case <-p.open:
	case <-ctx.Done():
		return
	}
	body, err := json.Marshal(map[string]any{
		"Status": "SUCCESS", "PhysicalResourceId": "thing-" + a.LogicalResourceId, "StackId": a.StackId, "RequestId": a.RequestId,
		"LogicalResourceId": a.LogicalResourceId, "Data": map[string]string{"Endpoint": "https://example.com/"},
	})
	if err != nil {
		p.b.Error(err)
	}
	put, err := http.NewRequestWithContext(ctx, http.MethodPut, a.ResponseURL, bytes.NewReader(body))
	if err != nil {
		p.b.Error(err)
		return
	}
	response, err := p.client.Do(put)
	if err != nil {
		select {
		case <-p.done: // and everything is being stopped
		default:
			p.b.Error(err)
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
		p.b.Errorf("an answer was refused with %s", response.Status)
	}
}

// rate is how fast cycles were made.
type rate struct {
	perSecond float64
	cpu       float64 // µs of processor time of this process for each
}

// measure lets the answers out and returns how fast cycles are made.
func (p *provider) measure() rate {
	p.begun.Wait()
	p.mu.Lock()
	cycles := p.left
	p.mu.Unlock()
	began, cpu := time.Now(), processorTime(p.b)
	close(p.open)
	select {
	case <-p.done:
	case <-time.After(2 * time.Minute):
		p.b.Fatal("the cycles do not end")
	}
	return rate{float64(cycles) / time.Since(began).Seconds(), float64((processorTime(p.b) - cpu).Microseconds()) / float64(cycles)}
}

// processorTime returns how much of it this process has used.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (p *provider) close() {
	p.stop()
	p.Close()
	p.all.Wait()
	p.client.CloseIdleConnections()
}
