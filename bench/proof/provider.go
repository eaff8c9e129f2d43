//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
)

// answersAtOnce is the number of answers that the provider sends concurrently: half of the number after which the server
// throttles.
const answersAtOnce = 128

// provider accepts every request immediately and answers it later, or never. It performs every request successfully. It
// also serves the templates.
type provider struct {
	URL string

	server *httptest.Server
	client *http.Client
	silent bool // it does not answer
	turns  chan struct{}
	ctx    context.Context // the provider's own context, which ends with close
	stop   context.CancelCauseFunc
	all    sync.WaitGroup

	mu    sync.Mutex
	texts []string        // templates, each at the path of its index
	asked map[string]bool // by the IDs of requests; for a silent provider
	want  int
	there chan struct{} // closed when want requests have arrived
}

// newProvider returns a provider that answers. If silent is above 0, it never answers and waits for that many requests.
func newProvider(ctx context.Context, silent int) *provider {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = answersAtOnce, answersAtOnce
	p := &provider{
		client: &http.Client{Transport: transport}, silent: silent > 0, want: silent,
		turns: make(chan struct{}, answersAtOnce), asked: map[string]bool{}, there: make(chan struct{}),
	}
	p.ctx, p.stop = context.WithCancelCause(ctx)
	p.server = httptest.NewServer(http.HandlerFunc(p.take))
	p.URL = p.server.URL
	return p
}

type ask struct{ RequestType, RequestId, StackId, LogicalResourceId, PhysicalResourceId, ResponseURL string }

// host makes a template available for a server and returns its URL, because a template of more than 51,200 bytes cannot
// be sent.
func (p *provider) host(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts = append(p.texts, text)
	return fmt.Sprint(p.URL, "/", len(p.texts)-1)
}

// give serves a hosted template.
func (p *provider) give(w http.ResponseWriter, r *http.Request) {
	index, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || index < 0 || index >= len(p.texts) {
		http.NotFound(w, r)
		return
	}
	_, _ = io.WriteString(w, p.texts[index]) // a client may have disconnected
}

func (p *provider) take(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		p.give(w, r)
		return
	}
	var a ask
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&a); err != nil {
		p.stop(fmt.Errorf("a request cannot be read: %w", err))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent {
		if !p.asked[a.RequestId] {
			p.asked[a.RequestId] = true
			if len(p.asked) == p.want {
				close(p.there)
			}
		}
		return
	}
	if p.ctx.Err() == nil {
		p.all.Go(func() {
			if err := p.answer(a); err != nil && p.ctx.Err() == nil {
				p.stop(err)
			}
		})
	}
}

func (p *provider) answer(a ask) error {
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-p.ctx.Done():
		return nil
	}
	id := a.PhysicalResourceId
	if id == "" {
		id = "thing-" + a.LogicalResourceId
	}
	body, err := json.Marshal(map[string]any{
		"Status": "SUCCESS", "PhysicalResourceId": id, "StackId": a.StackId, "RequestId": a.RequestId,
		"LogicalResourceId": a.LogicalResourceId, "Data": map[string]string{"Endpoint": "https://example.com/"},
	})
	if err != nil {
		return err
	}
	put, err := http.NewRequestWithContext(p.ctx, http.MethodPut, a.ResponseURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := p.client.Do(put)
	if err != nil {
		return errors.New("an answer could not be sent") // the error contains the response URL
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close() // only the status matters
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("an answer of %s was refused with %s", a.RequestType, response.Status)
	}
	return nil
}

// allAsked waits until a silent provider has received all expected requests.
func (p *provider) allAsked() error {
	select {
	case <-p.there:
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// wrong returns the first error so far.
func (p *provider) wrong() error { return context.Cause(p.ctx) }

func (p *provider) close() {
	p.stop(context.Canceled)
	p.server.Close()
	p.all.Wait()
	p.client.CloseIdleConnections()
}
