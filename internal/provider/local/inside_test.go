package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// newInsideKit returns a runtime whose provider P is a function of the test. The test fails if the function outlives
// the runtime.
func newInsideKit(t *testing.T, serve local.ServeFunc, change func(*local.Config, *local.Provider)) *kit {
	t.Helper()
	k := &kit{t: t, done: make(chan report, 100)}
	served := make(chan struct{}, 100)
	ended := make(chan struct{}, 100)
	provider := local.Provider{Name: "P", Serve: func(ctx context.Context, host local.Host) error {
		served <- struct{}{}
		defer func() { ended <- struct{}{} }()
		return serve(ctx, host)
	}}
	config := local.Config{
		Done:   func(id string, o local.Outcome) { k.done <- report{id, o} },
		Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&config, &provider)
	}
	config.Providers = []local.Provider{provider}
	var err error
	if k.Runtime, err = local.New(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.Close()
		if len(served) != len(ended) {
			t.Errorf("%d were started and %d ended", len(served), len(ended))
		}
	})
	return k
}

// events calls handle for each event of the host and posts the result, like a program.
func events(handle func(ctx context.Context, host local.Host, event string) string) local.ServeFunc {
	return func(ctx context.Context, host local.Host) error {
		base := "http://" + host.Address + "/2018-06-01/runtime/invocation/"
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		for {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"next", nil)
			if err != nil {
				return err
			}
			response, err := client.Do(request)
			if ctx.Err() != nil {
				return nil
			} else if err != nil {
				return err
			}
			event, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				return err
			}
			result := handle(ctx, host, string(event))
			id := response.Header.Get("Lambda-Runtime-Aws-Request-Id")
			if response, err = client.Post(base+id+"/response", "", bytes.NewReader([]byte(result))); err != nil {
				return err
			}
			response.Body.Close()
		}
	}
}

func TestInside(t *testing.T) {
	k := newInsideKit(t, events(func(_ context.Context, host local.Host, event string) string {
		fmt.Fprintln(host.Log, "handles", event)
		return event + event
	}), nil)
	for _, payload := range []string{"1", "2"} {
		want := local.Outcome{Kind: local.Returned, Delivered: true, Result: []byte(payload + payload), Log: []string{"handles " + payload}}
		if diff := cmp.Diff(want, k.send(payload, payload)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestInsideFails checks that a failing function does not affect others.
func TestInsideFails(t *testing.T) {
	for name, test := range map[string]struct {
		serve local.ServeFunc
		want  local.Outcome
	}{
		"error": {
			func(context.Context, local.Host) error { return errors.New("no such function") },
			local.Outcome{
				Kind: local.InitFailed, ExitCode: 1,
				Message: "the handler process of the provider ended before it asked for an event: no such function",
			},
		},
		"panic": {
			events(func(context.Context, local.Host, string) string { panic("dreadful") }),
			local.Outcome{
				Kind: local.Exited, ExitCode: 1, Delivered: true,
				Message: "the handler process of the provider ended while it handled the event: panic: a string, which is left out because it may hold secrets",
			},
		},
		"timeout": {
			events(func(_ context.Context, host local.Host, _ string) string { <-host.Killed.Done(); return "" }),
			local.Outcome{
				Kind: local.TimedOut, Delivered: true,
				Message: "the handler was still running after its timeout of 50ms, and its process was killed",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newInsideKit(t, test.serve, func(_ *local.Config, p *local.Provider) { p.Timeout = 50 * time.Millisecond })
			for range 2 {
				if diff := cmp.Diff(test.want, k.send("1", "1"), withoutLog); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestInsideStops checks that a closing runtime lets events finish within the grace period.
func TestInsideStops(t *testing.T) {
	begun := make(chan struct{}, 2)
	serve := events(func(ctx context.Context, host local.Host, event string) string {
		begun <- struct{}{}
		<-ctx.Done()
		if event == "quick" {
			return "finished"
		}
		<-host.Killed.Done()
		return "late"
	})
	k := newInsideKit(t, serve, func(c *local.Config, _ *local.Provider) { c.Grace = time.Second })
	for _, id := range []string{"quick", "slow"} {
		if err := k.Invoke("P", local.Event{ID: id, Payload: []byte(id), WantResult: true}); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	k.Close()
	got := map[string]string{}
	for range 2 {
		r := k.next()
		got[r.id] = fmt.Sprintf("%s %s", r.outcome.Kind, r.outcome.Result)
	}
	if diff := cmp.Diff(map[string]string{"quick": "returned finished", "slow": "stopped "}, got); diff != "" {
		t.Error(diff)
	}
}

func TestInsideRejectsTarget(t *testing.T) {
	target, err := local.ParseTarget("", "http://127.0.0.1/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = local.New(local.Config{
		Done:      func(string, local.Outcome) {},
		Providers: []local.Provider{{Name: "P", Target: target, Serve: func(context.Context, local.Host) error { return nil }}},
	})
	if err == nil || !strings.Contains(err.Error(), "both Target and Serve are given") {
		t.Errorf("got %v", err)
	}
}
