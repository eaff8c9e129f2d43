package lifecycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// provider is an HTTP server that accepts every request, and answers when the transcript says so. It does not depend
// on Pintle.
type provider struct {
	t *testing.T
	// url is the prefix of service tokens.
	url   string
	inbox chan request
	seen  sync.Map // RequestIds
}

// request is a request that a provider received.
type request struct {
	RequestType, ServiceToken, ResponseURL, StackId, RequestId string
	LogicalResourceId, PhysicalResourceId, ResourceType        string
	ResourceProperties, OldResourceProperties                  map[string]any
}

// providerHost is the prefix of service tokens in the templates of the chapters.
const providerHost = "https://provider.example"

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{t: t, inbox: make(chan request, 100)}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Error(err)
		return
	}
	got, err := readRequest(body)
	if err != nil {
		p.t.Errorf("%v: %s", err, body)
	}
	if want := p.url + r.URL.Path; got.ServiceToken != want {
		p.t.Errorf("the service token of a request to %s is %s", want, got.ServiceToken)
	}
	if _, again := p.seen.LoadOrStore(got.RequestId, true); again {
		p.t.Errorf("request %s was sent twice", got.RequestId)
	}
	w.WriteHeader(http.StatusAccepted)
	p.inbox <- got
}

// fields are the members of a request document.
var fields = map[string][]string{
	"Create": {"LogicalResourceId", "RequestId", "RequestType", "ResourceProperties", "ResourceType", "ResponseURL", "ServiceToken", "StackId"},
	"Update": {
		"LogicalResourceId", "OldResourceProperties", "PhysicalResourceId", "RequestId", "RequestType", "ResourceProperties",
		"ResourceType", "ResponseURL", "ServiceToken", "StackId",
	},
	"Delete": {
		"LogicalResourceId", "PhysicalResourceId", "RequestId", "RequestType", "ResourceProperties", "ResourceType",
		"ResponseURL", "ServiceToken", "StackId",
	},
}

// readRequest parses a request and checks the properties that transcripts do not show.
func readRequest(body []byte) (request, error) {
	var members map[string]json.RawMessage
	var r request
	if err := json.Unmarshal(body, &members); err != nil {
		return r, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, err
	}
	if names := slices.Sorted(maps.Keys(members)); !slices.Equal(names, fields[r.RequestType]) {
		return r, fmt.Errorf("a %q has the fields %v", r.RequestType, names)
	}
	switch {
	case !regexp.MustCompile("^" + uuid + "$").MatchString(r.RequestId):
		return r, fmt.Errorf("the RequestId is no UUID")
	case r.ResourceProperties["ServiceToken"] != r.ServiceToken:
		return r, fmt.Errorf("the properties have another service token")
	case r.RequestType != "Create" && r.PhysicalResourceId == "":
		return r, fmt.Errorf("a %s without a physical id", r.RequestType)
	}
	return r, nil
}

// line renders a request in transcript format, without a name.
func (r request) line() string {
	text := r.RequestType + " " + r.LogicalResourceId
	if r.RequestType != "Create" {
		text += " id=" + r.PhysicalResourceId
	}
	text += " " + short(r.ResourceProperties)
	if r.RequestType == "Update" {
		text += " was " + short(r.OldResourceProperties)
	}
	return text
}

// usualToken is the suffix of a service token that is not shown.
const usualToken = "/thing"

// short renders properties without the usual service token.
func short(properties map[string]any) string {
	shown := maps.Clone(properties)
	switch token, ok := shown["ServiceToken"].(string); {
	case !ok:
		shown["ServiceToken"] = nil
	case strings.HasSuffix(token, usualToken):
		delete(shown, "ServiceToken")
	}
	text, err := json.Marshal(shown)
	if err != nil {
		panic(err) // it came from JSON
	}
	return string(text)
}

var answerLine = regexp.MustCompile(`^(SUCCESS|FAILED)(?: id=(\S+))?(?: ("(?:[^"\\]|\\.)*"))?(?: (\{.*\}))?$`)

// answer sends the answer in a transcript to the response URL, and returns when it is acknowledged.
func (p *provider) answer(r request, line string) error {
	part := answerLine.FindStringSubmatch(line)
	if part == nil {
		return fmt.Errorf("%q is not an answer", line)
	}
	document := map[string]any{
		"Status": part[1], "StackId": r.StackId, "RequestId": r.RequestId, "LogicalResourceId": r.LogicalResourceId,
	}
	for name, text := range map[string]string{"Reason": part[3], "Data": part[4]} {
		if text != "" {
			document[name] = json.RawMessage(text)
		}
	}
	if part[2] != "" {
		document["PhysicalResourceId"] = part[2]
	}
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	put, err := http.NewRequestWithContext(p.t.Context(), http.MethodPut, r.ResponseURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	put.Header["Content-Type"] = []string{""} // like cfn-response
	reply, err := http.DefaultClient.Do(put)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer got %d %s", reply.StatusCode, strings.TrimSpace(string(text)))
	}
	return nil
}
