package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// soakThing is a physical resource as its provider knows it.
type soakThing struct {
	Logical string
	// Serial counts the provider's actions. The provider returns it as an attribute.
	Serial int
}

// soakLedger is the provider of the soak test: a separate process without Pintle code. It records the
// requests that it received, the work that it did, and the responses to its answers.
//
//	POST /            a request; answered by a PUT that is repeated until it is accepted
//	GET  /stack?id=   the resources of a stack
//	GET  /totals      the counters
type soakLedger struct {
	mu      sync.Mutex
	serial  int
	things  map[string]map[string]soakThing // by stack and physical id
	answers map[string][]byte               // by request id
	totals  soakTotals
}

type soakTotals struct {
	// Requests counts different requests, Repeats repeated ones.
	Requests, Repeats int
	// Taken counts acknowledged answers, Owed pending ones, and Refused those that the server rejected.
	Taken, Owed, Refused int
	// Refusals are the texts of the last rejections.
	Refusals []string
}

type soakRequest struct {
	RequestType, ResponseURL, StackId, RequestId, LogicalResourceId, PhysicalResourceId string
	ResourceProperties                                                                  struct{ Fail, Replace string }
}

// keepLedger is the process. It writes its address to the file that it is given.
func keepLedger() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l := &soakLedger{things: map[string]map[string]soakThing{}, answers: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", l.take)
	mux.HandleFunc("GET /stack", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = json.NewEncoder(w).Encode(l.things[r.URL.Query().Get("id")])
	})
	mux.HandleFunc("GET /totals", func(w http.ResponseWriter, _ *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = json.NewEncoder(w).Encode(l.totals)
	})
	if err := os.WriteFile(os.Args[1]+"~", []byte("http://"+listener.Addr().String()), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(os.Args[1]+"~", os.Args[1]); err != nil {
		panic(err)
	}
	go func() { // the test has finished, however
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	panic(http.Serve(listener, mux))
}

func (l *soakLedger) take(w http.ResponseWriter, r *http.Request) {
	var request soakRequest
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answers[request.RequestId] != nil {
		l.totals.Repeats++
	} else {
		l.totals.Requests++
		l.totals.Owed++
		answer := l.perform(&request)
		l.answers[request.RequestId] = answer
		go l.answer(request.RequestId, request.ResponseURL, answer)
	}
	w.WriteHeader(http.StatusAccepted)
}

// perform executes a request and returns the answer.
func (l *soakLedger) perform(r *soakRequest) []byte {
	answer := map[string]any{
		"Status": "SUCCESS", "StackId": r.StackId, "RequestId": r.RequestId, "LogicalResourceId": r.LogicalResourceId,
		"PhysicalResourceId": r.PhysicalResourceId,
	}
	things := l.things[r.StackId]
	if things == nil {
		things = map[string]soakThing{}
		l.things[r.StackId] = things
	}
	l.serial++
	id := r.PhysicalResourceId
	switch {
	case r.RequestType == "Delete":
		delete(things, id)
	case r.ResourceProperties.Fail == r.LogicalResourceId:
		answer["Status"], answer["Reason"] = "FAILED", "it was told to"
		if id == "" {
			answer["PhysicalResourceId"] = "nothing"
		}
	default:
		if id == "" || r.ResourceProperties.Replace == r.LogicalResourceId && r.RequestType == "Update" {
			id = fmt.Sprint(r.LogicalResourceId, "-", l.serial)
		}
		things[id] = soakThing{r.LogicalResourceId, l.serial}
		answer["PhysicalResourceId"], answer["Data"] = id, map[string]any{"Serial": l.serial}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return text
}

// answer sends the answer, some sooner and some later, until the server has taken it.
func (l *soakLedger) answer(id, url string, text []byte) {
	h := fnv.New32()
	_, _ = h.Write([]byte(id))
	pause := time.Duration(h.Sum32()%40) * time.Millisecond
	for {
		time.Sleep(pause)
		pause = 50 * time.Millisecond
		put, err := http.NewRequest(http.MethodPut, url, bytes.NewReader(text))
		if err != nil {
			panic(err)
		}
		response, err := http.DefaultClient.Do(put)
		if err != nil {
			continue // the server is dead
		}
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		_ = response.Body.Close()
		if response.StatusCode >= 500 {
			continue
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.totals.Owed--
		if response.StatusCode == http.StatusOK {
			l.totals.Taken++
		} else {
			l.totals.Refused++
			l.totals.Refusals = append(l.totals.Refusals[max(0, len(l.totals.Refusals)-4):], response.Status+" "+string(body))
		}
		return
	}
}
