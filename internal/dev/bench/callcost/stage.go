//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// stage is the server for all measurements: the Runtime API that delivers events, the response URL, and SSM.
type stage struct {
	url      string
	server   *http.Server
	served   chan struct{}
	events   chan struct{}
	answered chan error // one per response: nil if it is correct
}

func listen() (*stage, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &stage{url: "http://" + listener.Addr().String(), served: make(chan struct{}), events: make(chan struct{}), answered: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", s.next)
	mux.HandleFunc("POST /2018-06-01/runtime/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("PUT /response", func(_ http.ResponseWriter, r *http.Request) {
		var answer struct {
			Status, Reason string
			Data           map[string]any
		}
		err := json.NewDecoder(r.Body).Decode(&answer)
		if err == nil && (answer.Status != "SUCCESS" || answer.Data["Parameter.Value"] != "value") {
			err = fmt.Errorf("the answer is %s (%s) with %v", answer.Status, answer.Reason, answer.Data)
		}
		s.answered <- err
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if target := r.Header.Get("X-Amz-Target"); target != "AmazonSSM.GetParameter" {
			http.Error(w, "this is not GetParameter", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_, _ = io.WriteString(w, `{"Parameter":{"Name":"/a","Type":"String","Value":"value","Version":7,"LastModifiedDate":1.7637192E9,"ARN":"arn:aws:ssm:eu-west-1:123456789012:parameter/a","DataType":"text"}}`)
	})
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(listener) // until close
	}()
	return s, nil
}

func (s *stage) close() {
	_ = s.server.Close()
	<-s.served
}

// next delivers the next event.
func (s *stage) next(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.events:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Lambda-Runtime-Aws-Request-Id", "invocation")
	w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(2*time.Minute).UnixMilli()))
	call := `{"service":"SSM","action":"getParameter","parameters":{"Name":"/a","WithDecryption":true},"physicalResourceId":{"id":"/a"}}`
	event := map[string]any{"RequestType": "Create", "ServiceToken": "arn:aws:lambda:eu-west-1:123456789012:function:f",
		"ResponseURL": s.url + "/response?X-Amz-Signature=" + strings.Repeat("5", 300), "StackId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/1",
		"RequestId": fmt.Sprint("r-", time.Now().UnixNano()), "LogicalResourceId": "Call", "ResourceType": "Custom::AWS",
		"ResourceProperties": map[string]any{"ServiceToken": "arn:aws:lambda:eu-west-1:123456789012:function:f", "InstallLatestAwsSdk": "false", "Create": call}}
	_ = json.NewEncoder(w).Encode(event) // without the event, the process sends no response
}

// event makes a process handle one event, and waits for the response.
func (s *stage) event(ctx context.Context, p *process) error {
	select {
	case s.events <- struct{}{}:
	case <-p.ended:
		return p.died()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-s.answered:
		return err
	case <-p.ended:
		return p.died()
	case <-ctx.Done():
		return ctx.Err()
	}
}
