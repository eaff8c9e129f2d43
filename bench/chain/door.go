//go:build unix

package chain

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// mostBody is the largest part of a response that is read, in bytes.
const mostBody = 1 << 20

// door receives the answers for a peer, and sends its requests.
type door struct {
	url, asks string
	client    *http.Client
	peer      atomic.Pointer[Peer]
	once      sync.Once
	end       func()
}

func newDoor(asks string) (*door, error) {
	d := &door{asks: asks, client: client()}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /{chain}/{step}", d.take)
	var err error
	d.url, d.end, err = listen(mux)
	return d, err
}

func (d *door) open(p Peer) { d.peer.Store(&p) }

func (d *door) take(w http.ResponseWriter, r *http.Request) {
	var step Step
	body, err := io.ReadAll(r.Body)
	if err == nil {
		_, err = fmt.Sscanf(r.PathValue("chain")+" "+r.PathValue("step"), "%d %d", &step.Chain, &step.Number)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := (*d.peer.Load()).Answer(r.Context(), step, body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// send delivers a document, with an added response URL. The URL is as long as a signed one and is recorded nowhere.
func (d *door) send(ctx context.Context, step Step, document []byte) error {
	body := fmt.Appendf(nil, `{"ServiceToken": %q, "ResponseURL": "%s/%d/%d?%s", `, d.asks, d.url, step.Chain, step.Number,
		strings.Repeat("s", 300))
	body = append(body, bytes.TrimLeft(document, "{")...)
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, d.asks, bytes.NewReader(body))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	return exchange(d.client, post, http.StatusAccepted)
}

// Close closes the door after the answers in progress.
func (d *door) Close() { d.once.Do(func() { d.end(); d.client.CloseIdleConnections() }) }

// listen serves a handler on loopback. The returned function stops that after the requests in progress.
func listen(handler http.Handler) (url string, end func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: http.MaxBytesHandler(handler, mostBody), ReadHeaderTimeout: 10 * time.Second}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) }) // its error only reports the close
	return "http://" + listener.Addr().String(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // requests that a peer does not finish
		}
		served.Wait()
	}, nil
}

func client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = 512, 512
	transport.Proxy = nil
	return &http.Client{Transport: transport}
}

// exchange sends a request and checks the status of the response.
func exchange(client *http.Client, request *http.Request, want int) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, mostBody)) // only the status matters
	_ = response.Body.Close()
	if response.StatusCode != want {
		return fmt.Errorf("the status is %s, not %d", response.Status, want)
	}
	return nil
}
