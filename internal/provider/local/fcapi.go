package local

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// fcRoot is the path of Function Compute's runtime API. Source: the runtime that Alibaba Cloud publishes for Go. Error
// reports before the first event are Pintle's extension: Function Compute has no path for them.
const fcRoot = "/2020-11-11/runtime"

// handleFC serves this API to the process.
func (p *process) handleFC(mux *http.ServeMux) {
	mux.HandleFunc("GET "+fcRoot+"/invocation/next", p.fcNext)
	mux.HandleFunc("POST "+fcRoot+"/invocation/{id}/response", p.fcEnd(p.response))
	mux.HandleFunc("POST "+fcRoot+"/invocation/{id}/error", p.fcEnd(p.invocationError))
	mux.HandleFunc("POST "+fcRoot+"/invocation/{id}/idle", p.idle)
	mux.HandleFunc("POST "+fcRoot+"/init/error", p.initError)
}

// fcInitID is the ID of the event that calls the initializer.
const fcInitID = "initialize"

// fcNext waits for an event and sends it to the process. Programs ask for the next event while they handle the last. So
// unlike on Lambda, the call does not mean that the last event is finished.
func (p *process) fcNext(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = true
	first := !p.fc.began
	p.fc.began = true
	p.mu.Unlock()
	if first {
		p.fc.setHeaders(w.Header(), fcInitialize, fcInitID, "", time.Now().Add(p.fc.timeout))
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusOK)
		return
	}
	select {
	case <-p.fc.done:
	case <-r.Context().Done():
		return
	case <-p.ending:
		reply(w, http.StatusInternalServerError, "Runtime.Ending", "the process has ended")
		return
	}
	p.handOver(w, r)
}

// fcEnd handles the result of an event or of the initializer. Programs expect the status 200.
func (p *process) fcEnd(end http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.fc.initializer == "" || r.PathValue("id") != fcInitID {
			end(w, r)
			return
		}
		if r.URL.Path == fcRoot+"/invocation/"+fcInitID+"/error" {
			p.initFails(p.errorReport(r))
		} else {
			_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxResult)) // the initializer's result is ignored
			p.initialized()
		}
		p.replyOK(w)
	}
}

// initialized allows events to be sent.
func (p *process) initialized() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.fc.done:
	default:
		close(p.fc.done)
	}
}

// fcHeader sets the headers of an event.
func (p *process) fcHeader(h http.Header, inv *invocation) {
	p.fc.setHeaders(h, fcHandle, inv.id, inv.event.FunctionARN, inv.deadline)
	if inv.event.Waits {
		h.Set(wire.HeaderWaits, wire.Waits)
	}
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.Itoa(len(inv.event.Payload)))
}
