//go:build unix

package main

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// stub is a server for the CDK command whose deployments take a fixed time. It ignores the template, so the duration
// of a deployment is that time plus the command's own.
type stub struct {
	URL    string
	takes  time.Duration // from creation to completion of the stack
	server *http.Server
	served chan error

	mu      sync.Mutex
	objects map[string]bool // by path
	id      string          // of the only stack; empty before it is created
	begun   time.Time       // when the stack was created; zero before
}

const stackPath = "arn:aws:cloudformation:" + region + ":" + account + ":stack/"

// newStub returns a stub that listens on loopback until it is closed.
func newStub(takes time.Duration) (*stub, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &stub{URL: "http://" + listener.Addr().String(), takes: takes, served: make(chan error, 1), objects: map[string]bool{}}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { s.served <- s.server.Serve(listener) }() // ends with close
	return s, nil
}

func (s *stub) close() error {
	err := s.server.Close()
	if ended := <-s.served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Header.Get("X-Amz-Target") == "AmazonSSM.GetParameter":
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		fmt.Fprint(w, `{"Parameter":{"Name":"/cdk-bootstrap/hnb659fds/version","Type":"String","Value":"33","Version":1}}`)
	case r.URL.Path != "/":
		s.object(w, r)
	default:
		form, err := url.ParseQuery(string(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.query(w, form)
	}
}

// object serves the S3 API. It stores only the names of objects.
func (s *stub) object(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPut:
		s.objects[r.URL.Path] = true
		w.Header().Set("ETag", `"00000000000000000000000000000000"`)
	case query.Has("location"):
		fmt.Fprintf(w, "<LocationConstraint>%s</LocationConstraint>", region)
	case query.Has("encryption"):
		fmt.Fprint(w, "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>"+
			"</ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>")
	case query.Has("list-type"):
		key := query.Get("prefix")
		found := ""
		if s.objects[strings.TrimSuffix(r.URL.Path, "/")+"/"+key] {
			found = "<Contents><Key>" + html.EscapeString(key) + "</Key><Size>1</Size></Contents>"
		}
		fmt.Fprintf(w, "<ListBucketResult><KeyCount>%d</KeyCount>%s</ListBucketResult>", strings.Count(found, "<Key>"), found)
	default:
		http.Error(w, "unexpected "+r.Method+" "+r.URL.String(), http.StatusNotImplemented)
	}
}

// query serves the STS and CloudFormation APIs.
func (s *stub) query(w http.ResponseWriter, form url.Values) {
	action, name := form.Get("Action"), form.Get("StackName")
	result := ""
	now := time.Now().UTC()
	switch action {
	case "GetCallerIdentity":
		result = "<Account>" + account + "</Account><Arn>arn:aws:iam::" + account + ":root</Arn><UserId>stub</UserId>"
	case "AssumeRole":
		result = "<Credentials><AccessKeyId>stub</AccessKeyId><SecretAccessKey>stub</SecretAccessKey><SessionToken>stub</SessionToken><Expiration>" +
			now.Add(time.Hour).Format(time.RFC3339) + "</Expiration></Credentials>"
	case "DescribeStacks":
		if !s.knows(name) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id %s does not exist</Message></Error></ErrorResponse>", html.EscapeString(name))
			return
		}
		status := "REVIEW_IN_PROGRESS"
		switch {
		case s.complete():
			status = "CREATE_COMPLETE"
		case !s.begun.IsZero():
			status = "CREATE_IN_PROGRESS"
		}
		result = "<Stacks><member><StackId>" + s.id + "</StackId><StackName>" + s.name() + "</StackName><StackStatus>" + status +
			"</StackStatus><CreationTime>" + now.Format(time.RFC3339Nano) + "</CreationTime></member></Stacks>"
	case "CreateChangeSet":
		s.id, s.begun = stackPath+name+"/00000000-0000-0000-0000-000000000001", time.Time{}
		result = "<Id>" + s.changeSet() + "</Id><StackId>" + s.id + "</StackId>"
	case "DescribeChangeSet":
		result = "<ChangeSetId>" + s.changeSet() + "</ChangeSetId><ChangeSetName>cdk-deploy-change-set</ChangeSetName><StackId>" + s.id + "</StackId><StackName>" + s.name() +
			"</StackName><Status>CREATE_COMPLETE</Status><ExecutionStatus>AVAILABLE</ExecutionStatus><Changes><member><Type>Resource</Type><ResourceChange>" +
			"<Action>Add</Action><LogicalResourceId>Table</LogicalResourceId><ResourceType>Custom::Table</ResourceType></ResourceChange></member></Changes>"
	case "GetTemplate":
		result = "<TemplateBody>{}</TemplateBody>"
	case "ExecuteChangeSet":
		s.begun = now
	case "DescribeStackEvents":
		if s.complete() {
			result = "<StackEvents><member><EventId>1</EventId><StackId>" + s.id + "</StackId><StackName>" + s.name() + "</StackName><LogicalResourceId>" + s.name() +
				"</LogicalResourceId><PhysicalResourceId>" + s.id + "</PhysicalResourceId><ResourceType>AWS::CloudFormation::Stack</ResourceType>" +
				"<ResourceStatus>CREATE_COMPLETE</ResourceStatus><Timestamp>" + s.begun.Add(s.takes).Format(time.RFC3339Nano) + "</Timestamp></member></StackEvents>"
		}
	default:
		http.Error(w, "unexpected "+action, http.StatusNotImplemented)
		return
	}
	w.Header().Set("Content-Type", "text/xml")
	fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>", action, result)
}

func (s *stub) complete() bool { return !s.begun.IsZero() && time.Since(s.begun) >= s.takes }

func (s *stub) knows(stack string) bool { return s.id != "" && (stack == s.id || stack == s.name()) }

func (s *stub) name() string {
	name, _, _ := strings.Cut(strings.TrimPrefix(s.id, stackPath), "/")
	return name
}

func (s *stub) changeSet() string {
	return strings.Replace(s.id, ":stack/", ":changeSet/cdk-deploy-change-set-", 1)
}
