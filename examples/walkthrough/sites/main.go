// Command sites serves the three small sites that template.yaml tests, on 127.0.0.1:8081 to 8083, until it is
// interrupted. The third is down for repairs, to show a failing test.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// site is a page that answers every request.
type site struct {
	name, text string
	status     int
}

// sites returns the three sites.
func sites() []site {
	return []site{
		{"mysite", "Welcome.", http.StatusOK},
		{"myecommercesite", "Buy something.", http.StatusOK},
		{"search.mysite", "Down for repairs.", http.StatusServiceUnavailable},
	}
}

// ServeHTTP answers with the site's page.
func (s site) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(s.status)
	fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%s</title>\n<h1>%[1]s</h1>\n<p>%s</p>\n", s.name, s.text)
}

func main() {
	port := flag.Int("port", 8081, "port of the first site; the others take the two that follow")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *port, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sites:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, port int, out io.Writer) error {
	listeners, err := listen(port)
	if err != nil {
		return err
	}
	for i, s := range sites() {
		fmt.Fprintf(out, "http://%s/  %s, answers %d\n", listeners[i].Addr(), s.name, s.status)
	}
	fmt.Fprintln(out, "Ctrl-C ends them.")
	return serve(ctx, listeners)
}

// listen opens a listener for each site on consecutive ports, or on any three if port is 0.
func listen(port int) ([]net.Listener, error) {
	listeners := make([]net.Listener, 0, len(sites()))
	for range sites() {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			for _, open := range listeners {
				open.Close()
			}
			return nil, fmt.Errorf("%w: choose other ports with -port, and name them in the parameter Endpoints", err)
		}
		listeners = append(listeners, l)
		if port != 0 {
			port++
		}
	}
	return listeners, nil
}

// serve serves each site on its listener until ctx ends, which is not an error, or a server fails. It closes the
// listeners.
func serve(ctx context.Context, listeners []net.Listener) error {
	var servers []*http.Server
	ended := make(chan error, len(listeners))
	for i, s := range sites() {
		server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
		servers = append(servers, server)
		go func() { ended <- server.Serve(listeners[i]) }()
	}
	var problems []error
	running := len(servers)
	select {
	case err := <-ended:
		problems = append(problems, err)
		running--
	case <-ctx.Done():
	}
	for _, server := range servers {
		server.Close()
	}
	for range running {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
