//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// event is a request that a function received.
type event struct {
	RequestType           string
	RequestId             string
	StackId               string
	LogicalResourceId     string
	PhysicalResourceId    string
	ResourceProperties    map[string]any
	OldResourceProperties map[string]any
}

// answer is a response of a provider.
type answer map[string]any

// success answers an event with an ID and, unless data is nil, attributes.
func (e event) success(id string, data map[string]any) answer {
	a := answer{
		"Status": "SUCCESS", "PhysicalResourceId": id,
		"StackId": e.StackId, "RequestId": e.RequestId, "LogicalResourceId": e.LogicalResourceId,
	}
	if data != nil {
		a["Data"] = data
	}
	return a
}

// failure answers an event with a reason.
func (e event) failure(id, reason string) answer {
	a := e.success(id, nil)
	a["Status"], a["Reason"] = "FAILED", reason
	return a
}

// turns reports whether the event is an Update from one size to another.
func (e event) turns(from, to string) bool {
	return e.OldResourceProperties["Size"] == from && e.ResourceProperties["Size"] == to
}

// id returns the ID of the resource, which is initially derived from its logical ID.
func (e event) id() string {
	if e.PhysicalResourceId == "" || e.RequestType == "Create" {
		return "id-of-" + e.LogicalResourceId
	}
	return e.PhysicalResourceId
}

// recorder decides for the functions: they ask it for their answers and report the results.
type recorder struct {
	url    string
	server *http.Server
	served sync.WaitGroup

	mu       sync.Mutex
	decide   func(event) []answer
	events   []event
	statuses []int // from the response URLs
}

// record starts a recorder on loopback. It must be closed.
func record() (*recorder, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &recorder{url: "http://" + listener.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ask", r.ask)
	mux.HandleFunc("POST /told", r.told)
	r.server = &http.Server{Handler: http.MaxBytesHandler(mux, 1<<20), ReadHeaderTimeout: 10 * time.Second}
	r.served.Go(func() { _ = r.server.Serve(listener) }) // its error only reports the close
	return r, nil
}

func (r *recorder) close() {
	_ = r.server.Close() // even if functions still ask
	r.served.Wait()
}

// play discards the recorded events and uses decide for the next answers.
func (r *recorder) play(decide func(event) []answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decide, r.events, r.statuses = decide, nil, nil
}

// agree answers every event with success.
func agree(e event) []answer { return []answer{e.success(e.id(), nil)} }

// heard returns the events since the last play, in order.
func (r *recorder) heard() []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]event(nil), r.events...)
}

// replies returns the statuses from response URLs since the last play.
func (r *recorder) replies() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]int(nil), r.statuses...)
}

func (r *recorder) ask(w http.ResponseWriter, request *http.Request) {
	var e event
	if err := json.NewDecoder(request.Body).Decode(&e); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	answers := []string{}
	for _, a := range r.decide(e) {
		text, err := json.Marshal(a)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answers = append(answers, string(text))
	}
	_ = json.NewEncoder(w).Encode(answers) // to a function that waits for it
}

func (r *recorder) told(_ http.ResponseWriter, request *http.Request) {
	var status int
	body, err := io.ReadAll(request.Body)
	if err != nil || json.Unmarshal(body, &status) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statuses = append(r.statuses, status)
}
