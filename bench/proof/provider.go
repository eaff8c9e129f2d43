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

// answersAtOnce is how many answers the provider sends at a time: half of what the server takes before it asks for less.
const answersAtOnce = 128

// provider takes every request at once and answers it afterwards, or never. It does all that a stack asks, and nothing fails. It has
// the templates too.
type provider struct {
	URL string

	server *httptest.Server
	client *http.Client
	silent bool // it does not answer
	turns  chan struct{}
	ctx    context.Context // it is the provider's own, and ends with close
	stop   context.CancelCauseFunc
	all    sync.WaitGroup

	mu    sync.Mutex
	texts []string        // templates, each at the path of its index
	asked map[string]bool // by the ids of requests; of a silent one
	want  int
	there chan struct{} // closed when want are asked
}

// newProvider returns one that answers; if silent is above 0, one that never does and waits for so many requests.
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

// host puts a template where a server can fetch it, since one that is longer than 51,200 bytes cannot be sent, and returns the URL.
func (p *provider) host(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts = append(p.texts, text)
	return fmt.Sprint(p.URL, "/", len(p.texts)-1)
}

// give gives what was hosted.
func (p *provider) give(w http.ResponseWriter, r *http.Request) {
	index, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || index < 0 || index >= len(p.texts) {
		http.NotFound(w, r)
		return
	}
	_, _ = io.WriteString(w, p.texts[index]) // who has gone does not miss it
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
		return errors.New("an answer could not be sent") // the error has the response URL
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close() // its status is what is wanted
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("an answer of %s was refused with %s", a.RequestType, response.Status)
	}
	return nil
}

// allAsked waits until a silent provider has all requests that it waits for.
func (p *provider) allAsked() error {
	select {
	case <-p.there:
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// wrong returns what went wrong so far.
func (p *provider) wrong() error { return context.Cause(p.ctx) }

func (p *provider) close() {
	p.stop(context.Canceled)
	p.server.Close()
	p.all.Wait()
	p.client.CloseIdleConnections()
}
