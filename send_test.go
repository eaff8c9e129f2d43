package pintle

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

func TestSend(t *testing.T) {
	for _, tt := range []struct {
		name     string
		statuses []int // one per try; 0 breaks the connection
		body     string
		want     string // the error; "" for none
	}{
		{"at once", []int{200}, "", ""},
		{"another 2xx status", []int{204}, "", ""},
		{"after trouble", []int{503, 0, 429, 500, 200}, "", ""},
		{"never", []int{500, 500, 500, 500, 500, 500}, "", "try 6: 500 Internal Server Error"},
		{"broken connections", []int{0, 0, 0, 0, 0, 0}, "", "try 6: EOF"},
		{"expired", []int{403}, "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
			"try 1: 403 Forbidden AccessDenied: Request has expired"},
		{"refused with a secret", []int{400}, "<Error><Code>X</Code><Message>X-Amz-Signature=5ec2e7</Message></Error>", "REDACTED"},
		{"redirected", []int{302}, "", "302 Found"},
		{"not there", []int{404}, "<html>", "try 1: 404 Not Found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tries atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := int(tries.Add(1))
				body, err := io.ReadAll(r.Body)
				contentType, present := r.Header["Content-Type"]
				if err != nil || string(body) != `{"é":1}` || r.Method != "PUT" || r.ContentLength != 8 ||
					r.RequestURI != "/response/arn%3Aaws%3Astack/web%7CSite%7cr?a=%2F&X-Amz-Signature=5ec2e7" ||
					!present || contentType[0] != "" || len(r.TransferEncoding) > 0 {
					t.Errorf("try %d: %s %s %q %v %v", n, r.Method, r.RequestURI, body, r.Header, err)
				}
				if n > len(tt.statuses) {
					t.Errorf("%d tries, want %d", n, len(tt.statuses))
					return
				}
				if tt.statuses[n-1] == 0 {
					panic(http.ErrAbortHandler)
				}
				w.Header().Set("Location", "/elsewhere?X-Amz-Signature=5ec2e7")
				w.WriteHeader(tt.statuses[n-1])
				_, _ = io.WriteString(w, tt.body)
			}))
			defer server.Close()
			var logged strings.Builder
			s := newSender(nil, clock.System{})
			s.tries, s.backoff = 6, time.Microsecond
			defer s.client.CloseIdleConnections()
			err := s.send(t.Context(), wire.CloudFormation, server.URL+"/response/arn%3Aaws%3Astack/web%7CSite%7cr?a=%2F&X-Amz-Signature=5ec2e7",
				[]byte(`{"é":1}`), slog.New(slog.NewTextHandler(&logged, nil)))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
			if int(tries.Load()) != len(tt.statuses) {
				t.Errorf("%d tries, want %d", tries.Load(), len(tt.statuses))
			}
			if err != nil && strings.Contains(err.Error(), "5ec2e7") || strings.Contains(logged.String(), "5ec2e7") {
				t.Errorf("shows the signature: %v\n%s", err, logged.String())
			}
		})
	}
}

func TestSendStops(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close() // nothing listens there now
	ctx, cancel := context.WithCancel(t.Context())
	s := newSender(nil, clock.System{})
	s.tries, s.backoff = 1000, time.Hour // only the context can end it
	warned := make(chan struct{})
	log := slog.New(signalHandler{slog.DiscardHandler, warned})
	done := make(chan error)
	go func() {
		done <- s.send(ctx, wire.CloudFormation, "http://"+address+"/k?X-Amz-Signature=5ec2e7", nil, log)
	}()
	<-warned // it is pausing now
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "5ec2e7") {
		t.Errorf("error = %v", err)
	}
	for _, bad := range []string{"", "ftp://h/k", "http://", "http://h:port/?X-Amz-Signature=5ec2e7", "pre-signed-url"} {
		if err := s.send(t.Context(), wire.CloudFormation, bad, nil, log); err == nil || strings.Contains(err.Error(), "5ec2e7") {
			t.Errorf("%s: error = %v", bad, err)
		}
	}
}

// signalHandler closes a channel at the first record.
type signalHandler struct {
	slog.Handler
	first chan struct{}
}

func (h signalHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h signalHandler) Handle(context.Context, slog.Record) error {
	close(h.first)
	return nil
}
