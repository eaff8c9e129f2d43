package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// near is from which size on an answer is said to be near the limit.
const near = wire.MaxResponse * 9 / 10

// judgment judges the answer to a request.
type judgment struct{ *scene }

// judge applies the rules that hold for every request to the result of one.
func (s judgment) judge(p reply) {
	spoilt := s.transport(p)
	s.ending(p, spoilt)
	s.leaks(p)
	if !p.Answered {
		return
	}
	if i := slices.IndexFunc(p.Attempts, taken); i >= 0 {
		s.body(p, p.Attempts[i].Body)
		s.again(p, p.Attempts[i:])
	}
}

func taken(a harness.Attempt) bool { return a.Status == http.StatusOK }

// transport judges how the answers were sent. It returns true if one was rejected for that reason.
func (s judgment) transport(p reply) (spoilt bool) {
	ros := s.run.config.Dialect == wire.ROS
	for _, a := range p.Attempts {
		if a.Method == "" || a.Status == http.StatusServiceUnavailable {
			continue // in the reply, or too early
		}
		spoilt = spoilt || !taken(a)
		switch {
		case a.Status == http.StatusMethodNotAllowed:
			s.find("answer-verb", p, "the answer was sent by %s", a.Method)
			continue
		case a.Status == http.StatusForbidden:
			s.find("answer-url", p, "the answer was sent to a URL other than the request's, which returned 403")
			continue
		case a.Status == http.StatusBadRequest:
			s.find("answer-length", p, "the body is shorter than its Content-Length of %d bytes", a.Length)
		case a.Status == http.StatusLengthRequired || a.Length < 0 || len(a.Header["Transfer-Encoding"]) > 0:
			s.find("answer-length", p, "the answer has no Content-Length")
		}
		if coding := a.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
			s.find("answer-encoding", p, "the answer has the Content-Encoding %s", coding)
		}
		kind := a.Header.Get("Content-Type")
		odd := !ros && kind != "" || ros && !strings.HasPrefix(strings.ToLower(kind), "application/json")
		undated := ros && a.Header.Get("Date") == ""
		switch {
		case odd && undated:
			s.find("answer-content-type", p, "the answer has the Content-Type %q, and no Date", kind)
		case odd:
			s.find("answer-content-type", p, "the answer has the Content-Type %q", kind)
		case undated:
			s.find("answer-content-type", p, "the answer has no Date")
		}
	}
	return spoilt
}

// ending looks at how the provider ended with the request.
func (s judgment) ending(p reply, spoilt bool) {
	switch kind := p.End.Kind; {
	case p.Answered:
		switch kind {
		case local.Errored, local.Exited, local.Crashed:
			s.find("crash-after-answer", p, "the provider answered, and then: %v", p.End.Err)
		case local.TimedOut:
			s.find("hang", p, "the provider answered, and was still running at its timeout")
		case local.Returned:
			if i := slices.IndexFunc(p.Attempts, taken); i >= 0 && p.Attempts[i].At.After(p.End.At) {
				late := p.Attempts[i].At.Sub(p.End.At).Round(time.Millisecond)
				s.find("answer-after-return", p, "the answer came %s after the handler had returned", late)
			}
		case local.InitFailed, local.Stopped, local.Waiting:
		}
	case spoilt: // the fault of the answer was reported already
	case kind == local.TimedOut && p.End.Err != nil:
		s.find("hang", p, "no answer: %v", p.End.Err)
	case p.End.At.IsZero():
		s.find("hang", p, "no answer, and the provider was still running after %s", s.run.config.Timeout)
	case kind == 0 && p.End.Err != nil:
		s.find("delivery-refused", p, "%v", p.End.Err)
	case p.End.Err != nil:
		s.find("crash", p, "%v", p.End.Err)
	default:
		s.find("silence", p, "the handler returned without an answer (increase --settle to wait longer)")
	}
}

// leaks looks at the log.
func (s judgment) leaks(p reply) {
	if p.URLPrinted {
		s.find("url-in-log", p, "the log has the signed response URL")
	}
	for _, found := range p.Leaks {
		if slices.ContainsFunc(s.run.secrets, func(secret string) bool { return slices.Contains(redact.Spellings(secret), found) }) {
			s.find("secret-in-log", p, "the log has the value of a secret property")
		} else {
			s.find("properties-in-log", p, "the log has the value of a property")
		}
	}
}

// placeholders are the texts that programs print for a missing value.
var placeholders = regexp.MustCompile(`^(?i:none|null|undefined|nil|<nil>|nan|\[object object\]|n/a|-)$`)

// logStream is the name of a log stream of Lambda.
var logStream = regexp.MustCompile(`^\d{4}/\d\d/\d\d/\[[^\]]+\][0-9a-f]{32}$`)

// body looks at an answer.
func (s judgment) body(p reply, body []byte) {
	ros := s.run.config.Dialect == wire.ROS
	if !utf8.Valid(body) && len(body) <= wire.MaxResponse {
		s.find("answer-encoding", p, "the answer is not UTF-8")
	}
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		s.find("answer-encoding", p, "the answer starts with a byte order mark")
	}
	s.refusal(p, body)
	if p.Problem == nil && p.Size >= near {
		s.find("answer-near-limit", p, "the answer has %d bytes", p.Size)
	}
	a := p.Response
	if p.Problem == nil && a.Status == wire.Failed && a.Reason == "" {
		s.find("answer-reason", p, "the answer is FAILED without a Reason")
	}
	if p.Problem == nil && len(p.Mismatches) > 0 {
		s.find("answer-copies", p, "not copied from the request: %s", strings.Join(p.Mismatches, ", "))
	}
	s.controls(p, body)
	id := string(a.PhysicalResourceID)
	switch {
	case id == string(p.Request.PhysicalResourceID):
	case p.Request.RequestType == wire.Delete && p.Request.PhysicalResourceID == "" && !logStream.MatchString(id): // of nothing
	case placeholders.MatchString(id) && (id != "-" || !ros): // which the base class of ROS sends
		s.find("id-placeholder", p, "the PhysicalResourceId is %q", id)
	case logStream.MatchString(id):
		s.find("id-log-stream", p, "the PhysicalResourceId is %s", id)
	case id != "" && id == p.End.Invocation && id != string(p.Request.RequestID):
		s.find("id-request-id", p, "the PhysicalResourceId is %s, the request ID of the function", id)
	}
	s.attributes(p)
	for _, secret := range s.run.secrets {
		shows := func(text string) bool {
			return slices.ContainsFunc(redact.Spellings(secret), func(spelling string) bool { return strings.Contains(text, spelling) })
		}
		var clear struct{ Reason, PhysicalResourceID string }
		_ = json.Unmarshal(body, &struct { // as far as it can be read
			Reason             *string
			PhysicalResourceId *string
		}{&clear.Reason, &clear.PhysicalResourceID})
		if shows(clear.Reason) {
			s.find("secret-in-reason", p, "the Reason contains the value of a secret property")
		}
		if shows(clear.PhysicalResourceID) {
			s.find("secret-in-id", p, "the PhysicalResourceId contains the value of a secret property")
		}
		if !a.NoEcho && !ros && shows(string(a.Data)) {
			s.find("secret-in-data", p, "Data contains the value of a secret property, and NoEcho is not set")
		}
	}
}

// attributes looks for attributes that are called like secrets and shown.
func (s judgment) attributes(p reply) {
	if p.Response.NoEcho || s.run.config.Dialect == wire.ROS {
		return
	}
	for name, raw := range p.attributes() {
		var text string
		switch {
		case json.Unmarshal(raw, &text) != nil, !secretName(name), len(text) < minSecret, strings.HasPrefix(text, "arn:"):
			continue
		case strings.HasPrefix(name, "PintleCheck"), strings.Trim(text, "*") == "", strings.Contains(text, "{{resolve:"):
			continue // our own, a mask, or the name of a secret
		}
		if !slices.ContainsFunc(s.run.secrets, func(secret string) bool { return strings.Contains(text, secret) }) { // secret-in-data
			s.find("secret-attribute", p, "the attribute %s has a value, and NoEcho is not set", name)
		}
	}
}

// refusal names the rule for which the service refuses an answer.
func (s judgment) refusal(p reply, body []byte) {
	if p.Problem == nil {
		return
	}
	_, err := s.run.config.Dialect.ParseResponse(body)
	refused, ok := errors.AsType[*wire.ResponseError](err)
	if !ok {
		return
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(body, &fields) // which may not be JSON
	status, found := fields["Status"]
	var word string
	switch id := p.Response.PhysicalResourceID; {
	case refused.Text == wire.TextTooLong:
		s.find("answer-too-long", p, "the answer has %d bytes", p.Size)
	case fields == nil:
		s.find("answer-json", p, "%s", strings.TrimSuffix(refused.Error(), "."))
	case !found || string(status) == "null" || json.Unmarshal(status, &word) == nil && !wire.Status(word).Valid():
		s.find("answer-status", p, "Status is %s", string(status))
	case refused.Text == wire.TextInvalidPhysicalID && id == "":
		s.find("id-missing", p, "the answer has no PhysicalResourceId, or an empty one")
	case len(id) > s.run.config.Dialect.MaxPhysicalID():
		s.find("id-too-long", p, "the PhysicalResourceId has %d bytes", len(id))
	case refused.Text == wire.TextInvalidPhysicalID:
		s.find("answer-control-characters", p, "the PhysicalResourceId contains control characters")
	default:
		s.find("answer-types", p, "%s", strings.TrimSuffix(refused.Error(), "."))
	}
}

// controls looks for control characters in the reason, which is cleaned when it is read.
func (s judgment) controls(p reply, body []byte) {
	var raw struct{ Reason string }
	if json.Unmarshal(body, &raw) == nil && wire.CleanText(raw.Reason) != raw.Reason {
		s.find("answer-control-characters", p, "the Reason contains control characters")
	}
}

// again looks at the answers after the first.
func (s judgment) again(p reply, attempts []harness.Attempt) {
	first := attempts[0]
	for _, a := range attempts[1:] {
		if !taken(a) {
			continue
		}
		x, _ := s.run.config.Dialect.ParseResponse(first.Body) // parsed as far as possible
		y, _ := s.run.config.Dialect.ParseResponse(a.Body)
		if x.Status != y.Status || x.PhysicalResourceID != y.PhysicalResourceID {
			s.find("answers-disagree", p, "the first answer is %s %s, a later one %s %s",
				x.Status, x.PhysicalResourceID, y.Status, y.PhysicalResourceID)
		} else {
			s.find("answered-twice", p, "there were %d answers", p.Again+1)
		}
	}
}
