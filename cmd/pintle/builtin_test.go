package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestBuiltin is about the provider that makes AWS calls, against services on this machine.
func TestBuiltin(t *testing.T) { runScripts(t, filepath.Join("testdata", "builtin")) }

// services stands in for the AWS calls of the scripts. It writes a line for each request: signer, region and call.
type services struct {
	mu         sync.Mutex
	log        string // the file
	parameters map[string]string
}

func newServices(log string) *services {
	return &services{log: log, parameters: map[string]string{}}
}

// ServeHTTP implements [http.Handler].
func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	scope, _, _ = strings.Cut(scope, "/aws4_request")
	s.mu.Lock()
	defer s.mu.Unlock()
	action := r.Header.Get("X-Amz-Target")
	file, err := os.OpenFile(s.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(file, scope, r.Method, r.URL.RequestURI(), action, string(body))
	if err := file.Close(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	switch {
	case strings.HasPrefix(action, "AmazonSSM."):
		s.parameterStore(w, strings.TrimPrefix(action, "AmazonSSM."), body)
	case strings.HasPrefix(string(body), "Action=AssumeRole&"):
		fmt.Fprint(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE</AccessKeyId>`+
			`<SecretAccessKey>role-secret</SecretAccessKey><SessionToken>t</SessionToken></Credentials></AssumeRoleResult></AssumeRoleResponse>`)
	case strings.HasPrefix(string(body), "Action=VerifyDomainIdentity&"):
		fmt.Fprint(w, `<VerifyDomainIdentityResponse><VerifyDomainIdentityResult><VerificationToken>domain-token</VerificationToken>`+
			`</VerifyDomainIdentityResult></VerifyDomainIdentityResponse>`)
	case strings.HasSuffix(r.URL.Path, "/associatevpc"):
		fmt.Fprint(w, `<AssociateVPCWithHostedZoneResponse><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status>`+
			`<SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo></AssociateVPCWithHostedZoneResponse>`)
	case r.URL.Query().Get("list-type") == "2":
		fmt.Fprint(w, `<ListBucketResult><Name>my-bucket</Name>`)
		for i := range 100 {
			fmt.Fprintf(w, `<Contents><Key>object-%03d-%s</Key><Size>1</Size></Contents>`, i, strings.Repeat("x", 60))
		}
		fmt.Fprint(w, `</ListBucketResult>`)
	default:
		http.Error(w, "no such service", http.StatusNotFound)
	}
}

func (s *services) parameterStore(w http.ResponseWriter, action string, body []byte) {
	var in struct{ Name, Value string }
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	value, there := s.parameters[in.Name]
	switch {
	case action == "PutParameter":
		s.parameters[in.Name] = in.Value
		fmt.Fprint(w, `{"Version":1,"Tier":"Standard"}`)
		return
	case !there:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":"ParameterNotFound","message":"there is no parameter %s"}`, in.Name)
		return
	case action == "DeleteParameter":
		delete(s.parameters, in.Name)
		fmt.Fprint(w, `{}`)
		return
	}
	answer, err := json.Marshal(map[string]any{"Parameter": map[string]any{
		"ARN": "arn:aws:ssm:eu-west-1:1:parameter/" + in.Name, "Name": in.Name, "Value": value, "Version": 1, "LastModifiedDate": 1}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(answer)
}
