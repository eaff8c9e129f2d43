package intake_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/intake"
)

func request(ctx context.Context, body io.Reader) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", body)
	if err != nil {
		panic(err) // the URL is valid
	}
	return r
}

// parts is a reader of parts that arrive when they are sent.
type parts struct {
	sent chan string
	rest string
}

func (p *parts) Read(into []byte) (int, error) {
	if p.rest == "" {
		var ok bool
		if p.rest, ok = <-p.sent; !ok {
			return 0, io.ErrUnexpectedEOF
		}
	}
	n := copy(into, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	bodies := intake.New(intake.Config{Total: 10_000, Memory: 100, Dir: dir})
	for _, size := range []int{0, 1, 99, 100, 101, 5000, 10_000} {
		text := strings.Repeat("0123456789", 1000)[:size]
		r := request(t.Context(), inHalves(text))
		body, err := bodies.Read(r, 10_000)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		all, err := body.Bytes()
		if err != nil || string(all) != text || body.Size() != int64(size) || body.Sum() != sha256.Sum256([]byte(text)) {
			t.Errorf("%d bytes: %d bytes, %v", size, len(all), err)
		}
		if read, err := io.ReadAll(r.Body); err != nil || string(read) != text {
			t.Errorf("%d bytes: read %d bytes, %v", size, len(read), err)
		}
		for range 2 {
			if err := r.Body.Close(); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// inHalves returns a reader of unknown length that returns a few bytes at a time.
func inHalves(text string) io.Reader {
	return io.MultiReader(bytes.NewReader([]byte(text[:len(text)/2])), bytes.NewReader([]byte(text[len(text)/2:])))
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	bodies := intake.New(intake.Config{Total: 1000, Memory: 10, Dir: dir})
	for name, c := range map[string]struct {
		body io.Reader
		want error
	}{
		"declared too long": {strings.NewReader(strings.Repeat("x", 501)), intake.ErrTooLong},
		"too long":          {inHalves(strings.Repeat("x", 501)), intake.ErrTooLong},
		"cut off":           {io.MultiReader(strings.NewReader("abc"), &parts{sent: closed()}), io.ErrUnexpectedEOF},
	} {
		r := request(t.Context(), c.body)
		before := r.Body
		if _, err := bodies.Read(r, 500); !errors.Is(err, c.want) || r.Body != before {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := bodies.Read(request(t.Context(), inHalves(strings.Repeat("x", 1000))), 1000); err != nil {
		t.Errorf("after errors there is no room for all: %v", err)
	}
}

func closed() chan string {
	c := make(chan string)
	close(c)
	return c
}

// TestBudgetExceeded sends more bytes than the budget allows.
func TestBudgetExceeded(t *testing.T) {
	bodies := intake.New(intake.Config{Total: 1000, Memory: 10, Dir: t.TempDir()})
	var senders sync.WaitGroup
	defer senders.Wait()
	send := func(size int) (more chan string, ended chan error) {
		more, ended = make(chan string), make(chan error, 1)
		stop := make(chan struct{})
		from := &parts{sent: make(chan string)}
		senders.Go(func() { // like a connection that is closed immediately on abort
			defer close(from.sent)
			for {
				select {
				case text, ok := <-more:
					if !ok {
						return
					}
					select {
					case from.sent <- text:
					case <-stop:
						return
					}
				case <-stop:
					return
				}
			}
		})
		ctx := intake.WithAbort(t.Context(), sync.OnceFunc(func() { close(stop) }))
		senders.Go(func() {
			_, err := bodies.Read(request(ctx, from), 1<<20)
			ended <- err
		})
		more <- strings.Repeat("x", size)
		return more, ended
	}
	more, long := send(600)
	other, shorter := send(300)
	for range 2 { // when the second part is read, the bytes of the first are counted
		more <- ""
		other <- ""
	}

	// A body longer than all others does not abort them.
	if _, err := bodies.Read(request(t.Context(), strings.NewReader(strings.Repeat("x", 700))), 1<<20); !errors.Is(err, intake.ErrBusy) {
		t.Errorf("the longest body: %v", err)
	}
	// A short body aborts the longest.
	body, err := bodies.Read(request(t.Context(), strings.NewReader(strings.Repeat("x", 200))), 1<<20)
	if err != nil {
		t.Fatalf("a short body: %v", err)
	}
	if err := <-long; !errors.Is(err, intake.ErrBusy) {
		t.Errorf("the longest body ended with %v", err)
	}
	// A body with a known sender no longer counts.
	body.Release()
	last, err := bodies.Read(request(t.Context(), strings.NewReader(strings.Repeat("x", 700))), 1<<20)
	if err != nil {
		t.Errorf("after a release: %v", err)
	}
	known, err := bodies.ReadKnown(request(t.Context(), strings.NewReader(strings.Repeat("x", 2000))), 1<<20)
	if err != nil || known.Size() != 2000 {
		t.Errorf("a body of a known sender: %v", err)
	}
	close(other) // it was not aborted
	if err := <-shorter; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the shorter body ended with %v", err)
	}
	last.Release()
}

func TestLimit(t *testing.T) {
	bodies := intake.New(intake.Config{})
	var running, most int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			bodies.Limit(func() {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				mu.Lock()
				running--
				mu.Unlock()
			})
		})
	}
	all.Wait()
	if running != 0 || most == 0 {
		t.Errorf("%d run, %d at most", running, most)
	}
}
