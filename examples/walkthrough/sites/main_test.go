package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestServe(t *testing.T) {
	listeners, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listeners) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for i, s := range sites() {
		response, err := client.Get("http://" + listeners[i].Addr().String() + "/any/page")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != s.status || !strings.Contains(string(body), "<h1>"+s.name+"</h1>") {
			t.Errorf("%s answers %d %s", s.name, response.StatusCode, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, l := range listeners {
		if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
			conn.Close()
			t.Errorf("%s is still open", l.Addr())
		}
	}
}

func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	if err := run(ctx, 0, &out); err != nil {
		t.Fatal(err)
	}
	for _, s := range sites() {
		if !strings.Contains(out.String(), s.name) {
			t.Errorf("%s is not announced in:\n%s", s.name, out.String())
		}
	}
}

func TestServeReportsAFailure(t *testing.T) {
	listeners, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	listeners[1].Close()
	if err := serve(t.Context(), listeners); err == nil {
		t.Error("a closed listener is no error")
	}
}

func TestListenTakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = listen(taken.Addr().(*net.TCPAddr).Port)
	if err == nil || !strings.Contains(err.Error(), "-port") {
		t.Errorf("got %v", err)
	}
}

func TestListenOnlyOnLoopback(t *testing.T) {
	listeners, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range listeners {
		if addr := l.Addr().(*net.TCPAddr); !addr.IP.IsLoopback() {
			t.Errorf("listens on %s", addr)
		}
		l.Close()
	}
}
