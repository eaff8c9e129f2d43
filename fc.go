package pintle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// fcAPI is the runtime API of Function Compute's Go runtime. Source: the Go runtime that Alibaba Cloud publishes.
// That runtime asks for the next event while it still handles the last one.
type fcAPI struct{ runtimeAPI }

// fcInvocation is one event, or a call of a lifecycle hook.
type fcInvocation struct {
	id       string
	hook     bool
	deadline time.Time
	event    []byte
	waits    bool // the engine that runs the function waits for operations in progress
}

func newFCAPI(hostPort string) fcAPI {
	return fcAPI{newRuntimeAPI("http://" + hostPort + "/2020-11-11/runtime/invocation/")}
}

// next waits for an event.
func (a fcAPI) next(ctx context.Context) (fcInvocation, error) {
	header, event, err := a.runtimeAPI.next(ctx, "next")
	if err != nil {
		return fcInvocation{}, err
	}
	kind := header.Get("x-fc-function-type")
	i := fcInvocation{id: header.Get("x-fc-request-id"), hook: kind != "" && kind != "0", event: event, waits: header.Get(wire.HeaderWaits) == wire.Waits}
	millis, err := strconv.ParseInt(header.Get("x-fc-function-deadline"), 10, 64)
	switch {
	case i.id == "":
		return fcInvocation{}, errors.New("runtime API: next event has no x-fc-request-id")
	case err != nil && !i.hook:
		return fcInvocation{}, errors.New("runtime API: next event has no x-fc-function-deadline")
	}
	i.deadline = time.UnixMilli(millis)
	return i, nil
}

// end reports the result of an event, or the error if the event failed.
func (a fcAPI) end(ctx context.Context, id string, result []byte, cause error) error {
	path, body := id+"/response", result
	if cause != nil {
		path, body = id+"/error", fcFailure(cause)
	}
	return a.post(ctx, path, "", body)
}

func fcFailure(cause error) []byte {
	kind := "Pintle.NotAnswered"
	if _, bad := errors.AsType[*badEventError](cause); bad {
		kind = "Pintle.BadEvent"
	}
	body, _ := json.Marshal(struct { // never fails: strings only
		Message string `json:"errorMessage"`
		Type    string `json:"errorType"`
	}{cause.Error(), kind})
	return body
}

// pollFC takes events from the runtime API until the context ends or a handler is stuck.
func (s *Server) pollFC(ctx context.Context, hostPort string) error {
	api := newFCAPI(hostPort)
	defer api.client.CloseIdleConnections()
	polling, stop := context.WithCancel(ctx)
	defer stop()
	finish := context.WithoutCancel(ctx) // events in progress are finished
	fatal := make(chan error, 1)
	fail := func(err error) {
		select {
		case fatal <- err:
		default: // only the first error counts
		}
		stop()
	}
	for {
		select {
		case s.web.room <- struct{}{}:
		case <-polling.Done():
		}
		if polling.Err() != nil {
			break
		}
		next, err := api.next(polling)
		if err != nil {
			<-s.web.room
			if polling.Err() == nil {
				fail(err)
			}
			break
		}
		s.work.Go(func() { // ends by the deadline of the event
			defer func() { <-s.web.room }()
			result := nothing
			var running <-chan struct{}
			var err error
			if !next.hook {
				result, running, err = s.event(finish, next.event, next.deadline, next.waits)
			}
			if err != nil {
				s.log.Error("event not answered", "error", err)
			}
			if err := api.end(finish, next.id, result, err); err != nil {
				fail(err)
			}
			if errors.Is(err, ErrHandlerStuck) { // from a handler that an EventWaiter has resumed
				fail(ErrHandlerStuck)
			}
			if running != nil {
				if err := s.join(finish, running, next.deadline); err != nil {
					fail(err)
				}
			}
		})
	}
	return s.finishFC(finish, fatal)
}

// finishFC waits for the events in progress and returns the error that ended the loop, if any. If a handler is stuck
// it does not wait: the process must end.
func (s *Server) finishFC(ctx context.Context, fatal <-chan error) error {
	idle := make(chan struct{})
	go func() { // ends with the requests, which have deadlines, or with the process
		defer close(idle)
		s.work.Wait()
	}()
	select {
	case err := <-fatal:
		return err
	case <-idle:
	case <-ctx.Done():
	}
	select {
	case err := <-fatal:
		return err
	default:
		return nil
	}
}

// listenFC serves Function Compute's custom runtime until the context ends. The platform posts events to /invoke.
// Requests to an HTTP trigger have another control path and go to [Server.ServeHTTP]. Source: Function Compute,
// custom runtime, specifications and event handlers.
func (s *Server) listenFC(ctx context.Context, port string) error {
	if s.web.unsigned {
		return errors.New("requests that are not signed are taken on a loopback address only, and Function Compute needs others")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+port) // on all addresses, or the platform cannot connect
	if err != nil {
		return err
	}
	defer listener.Close()
	fatal := make(chan error, 1)
	server := &http.Server{
		Handler: &fcHandler{server: s, ctx: context.WithoutCancel(ctx), fatal: fatal},
		// The platform keeps connections and wants them kept for 15 minutes. It bounds the time of requests itself.
		ReadHeaderTimeout: 20 * time.Minute,
		IdleTimeout:       20 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	s.log.Info("listening for Function Compute", "address", listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }() // ends with Close or Shutdown
	select {
	case err := <-ended:
		return err
	case err := <-fatal:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	finish := context.WithoutCancel(ctx)
	if err := server.Shutdown(finish); err != nil {
		return err
	}
	return s.finishFC(finish, fatal)
}

// fcHandler serves the requests that the platform sends to a custom runtime.
type fcHandler struct {
	server *Server
	ctx    context.Context
	fatal  chan<- error
}

// ServeHTTP trusts the control path: the platform sets that header itself and rejects outside requests that contain
// it.
func (h *fcHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch control := r.Header.Get("x-fc-control-path"); {
	case control == "/invoke" && r.Method == http.MethodPost:
		h.invoke(w, r)
	case control == "/initialize" || control == "/pre-freeze" || control == "/pre-stop":
		h.reply(w, http.StatusOK, []byte("{}"))
	default:
		h.server.ServeHTTP(w, r)
	}
}

func (h *fcHandler) invoke(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("x-fc-request-id")
	// The platform uses these lines to separate the logs of events.
	fmt.Fprintf(os.Stdout, "FC Invoke Start RequestId: %s\n", id)
	defer fmt.Fprintf(os.Stdout, "FC Invoke End RequestId: %s\n", id)
	s := h.server
	event, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err != nil {
		h.reply(w, http.StatusNotFound, fcFailure(errors.New("the event was cut off or is too long")))
		return
	}
	limit, err := strconv.Atoi(r.Header.Get("x-fc-function-timeout"))
	within := s.ros.Timeout
	if err == nil && limit > 0 && limit < int(within/time.Second) {
		within = time.Duration(limit) * time.Second
	}
	deadline := s.clock.Now().Add(within)
	result, running, err := s.event(h.ctx, event, deadline, r.Header.Get(wire.HeaderWaits) == wire.Waits)
	if err != nil {
		s.log.Error("event not answered", "error", err)
		h.reply(w, http.StatusNotFound, fcFailure(err))
	} else {
		h.reply(w, http.StatusOK, result)
	}
	if errors.Is(err, ErrHandlerStuck) { // from a handler that an EventWaiter has resumed
		h.fail(err)
	}
	if running == nil {
		return
	}
	s.work.Go(func() { // ends by the deadline
		if err := s.join(h.ctx, running, deadline); err != nil {
			h.fail(err)
		}
	})
}

// fail ends the program with the first error that it receives.
func (h *fcHandler) fail(err error) {
	select {
	case h.fatal <- err:
	default:
	}
}

// reply sends the result of an event. Status 404 reports a failure; the platform then retries asynchronous events.
func (h *fcHandler) reply(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("x-fc-status", strconv.Itoa(status))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		h.server.log.Warn("the platform does not take the result of the event", "error", err)
	}
	_ = http.NewResponseController(w).Flush() // a disconnected platform does not need it
}
