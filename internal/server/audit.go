package server

import (
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/wire"
)

// reads are the name prefixes of read-only actions.
var reads = []string{"Describe", "List", "Get", "Validate", "Estimate", "Preview", "Head", "BatchGet", "Detect", "Filter", "Lookup"}

// changes reports whether an action may change something, judging by its name.
func changes(action string) bool {
	for _, read := range reads {
		if strings.HasPrefix(action, read) {
			return false
		}
	}
	return true
}

// audited serves an authenticated call, and records it in the audit log if it may change something.
func (s *Server) audited(w http.ResponseWriter, r *http.Request, id sigv4.Identity, serve func()) {
	if s.config.Audit == nil {
		serve()
		return
	}
	e := entryOf(r, id)
	if e.Action == "" {
		serve()
		return
	}
	s.record(w, r, id, e, serve)
}

// auditedROS is audited for ROS calls.
func (s *Server) auditedROS(w http.ResponseWriter, r *http.Request, id sigv4.Identity, call *rpc.Call, serve func()) {
	if s.config.Audit == nil || !changes(call.Action) {
		serve()
		return
	}
	e := audit.Entry{Endpoint: audit.EndpointAPI, Service: "ros", Action: call.Action}
	fill(&e, call.Parameters)
	s.record(w, r, id, e, serve)
}

// record serves a call and records it in the audit log.
func (s *Server) record(w http.ResponseWriter, r *http.Request, id sigv4.Identity, e audit.Entry, serve func()) {
	defer func() {
		status := 0
		if response, ok := w.(*reply); ok {
			status = response.status
		}
		e.Time, e.Request, e.From = s.config.Now(), w.Header().Get(requestID), remote(r)
		e.Trace = trace.FromContext(r.Context()).ID()
		e.Region, e.Outcome, e.Status = id.Region, audit.OutcomeOf(status), status
		e.Who = audit.Who{Key: id.AccessKeyID, Account: id.Account, ARN: id.ARN}
		if s.config.Local != nil && s.config.Local(id.AccessKeyID) {
			e.Who = audit.Who{Account: id.Account, Local: true} // the local key changes with every run
		}
		s.config.Audit(e)
	}()
	serve()
}

// remote returns the address of the sender of a request.
func remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// entryOf returns the audit entry of a call. The entry has no action if the call need not be recorded.
func entryOf(r *http.Request, id sigv4.Identity) audit.Entry {
	e := audit.Entry{Endpoint: audit.EndpointAPI, Service: id.Service}
	target := r.Header.Get("X-Amz-Target")
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, operator.Prefix):
		e.Endpoint, e.Service = audit.EndpointOperator, ""
		ofOperator(&e, r)
	case target != "":
		_, e.Action, _ = strings.Cut(target, ".")
		ofJSON(&e, r)
	case path == "/" || path == "":
		form := formOf(r)
		e.Action = form.Get("Action")
		fill(&e, form)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		e.Action = r.Method + " " + wire.Redact(path)
	}
	if !changes(e.Action) {
		e.Action = ""
	}
	return e
}

// ofOperator fills an entry from the path of an operator API call. A preview changes nothing.
func ofOperator(e *audit.Entry, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), operator.Prefix), "/")
	for i := range parts { // ARNs contain slashes
		if text, err := url.PathUnescape(parts[i]); err == nil {
			parts[i] = text
		}
	}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead || parts[len(parts)-1] == "preview":
		return
	case len(parts) == 5 && parts[0] == "stacks" && parts[4] == "response":
		e.Action, e.Stack, e.Resource = "Respond", parts[1], parts[3]
	case len(parts) == 3 && parts[0] == "stacks" && parts[2] == "outputs":
		e.Action, e.Stack = "ShowSecrets", parts[1]
	case len(parts) == 3 && parts[0] == "stacks" && parts[2] == "update":
		e.Action, e.Stack = "UpdateAgain", parts[1]
	case len(parts) == 2 && parts[0] == "providers":
		e.Action, e.Name = "PutProvider", parts[1]
	default:
		e.Action = r.Method + " " + wire.Redact(r.URL.Path)
	}
}

// fill fills an entry from the parameters that identify a resource. No other parameter is recorded.
func fill(e *audit.Entry, form url.Values) {
	for _, name := range []string{"StackName", "StackId"} {
		if e.Stack == "" {
			e.Stack = form.Get(name)
		}
	}
	for _, name := range []string{"ChangeSetName", "ChangeSetId"} {
		if e.ChangeSet == "" {
			e.ChangeSet = form.Get(name)
		}
	}
	for _, name := range []string{"RoleArn", "TopicArn", "Name"} {
		if e.Name == "" {
			e.Name = form.Get(name)
		}
	}
	e.Resource = form.Get("LogicalResourceId")
	for _, name := range []string{"ClientRequestToken", "ClientToken"} {
		if e.Token == "" {
			e.Token = form.Get(name)
		}
	}
}

// formOf returns the parameters of a Query protocol call, from the URL or the body.
func formOf(r *http.Request) url.Values {
	form := r.URL.Query()
	if r.Method != http.MethodPost {
		return form
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return form
	}
	sent, err := url.ParseQuery(string(peek(r)))
	if err != nil {
		return form // the API refuses it
	}
	for name, values := range sent {
		form[name] = append(form[name], values...)
	}
	return form
}

// ofJSON fills an entry from the body of a JSON protocol call.
func ofJSON(e *audit.Entry, r *http.Request) {
	var named struct{ Name, StateMachineArn, ExecutionArn, LogGroupName, ClientRequestToken any }
	if json.Unmarshal(peek(r), &named) != nil {
		return // the API refuses it
	}
	for _, name := range []any{named.Name, named.StateMachineArn, named.ExecutionArn, named.LogGroupName} {
		if text, ok := name.(string); ok && e.Name == "" {
			e.Name = text
		}
	}
	e.Token, _ = named.ClientRequestToken.(string)
}
