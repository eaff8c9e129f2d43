package pintletest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

// Transport is the service that a [Lifecycle] simulates, and the path of its requests.
type Transport uint8

// The transports. The zero value is CloudFormation.
const (
	// CloudFormation sends Lambda events.
	CloudFormation Transport = iota
	// ROSFunction is Alibaba Cloud ROS with a function of Function Compute: events, and answers at the response URL.
	ROSFunction
	// ROSWeb is ROS with a service token web: signed requests over HTTP, and answers at the response URL.
	ROSWeb
	// ROSWebSync is ROS with a service token web[sync]: the answer is the reply.
	ROSWebSync
)

// String returns the name of the transport for messages.
func (t Transport) String() string {
	switch t {
	case CloudFormation:
		return "CloudFormation"
	case ROSFunction:
		return "ROS, function"
	case ROSWeb:
		return "ROS, web"
	case ROSWebSync:
		return "ROS, web[sync]"
	}
	return fmt.Sprintf("form %d", uint8(t))
}

func (t Transport) dialect() wire.Dialect {
	if t == CloudFormation {
		return wire.CloudFormation
	}
	return wire.ROS
}

const (
	rosStack = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	// signKey is the SignKey of HttpConfig. It must not appear in any output.
	signKey = "sign-key-of-the-test"
	// provider is the URL in the service token.
	provider = "https://provider.invalid/ros"
)

// rosRequest sets the fields of a request of ROS.
func (s *service) rosRequest(r wire.Request, properties, old Map) (wire.Request, error) {
	r.Dialect, r.StackID, r.StackName, r.RegionID = wire.ROS, rosStack, "test", "cn-hangzhou"
	r.ResourceOwnerID, r.CallerID = "1234567890123456", "2345678901234567"
	query := "?stackname=test&stackid=" + rosStack + "&resource=" + resourceName + "&expire=1767229200&signature=" + signature
	if r.RequestType != pintle.Plan { // a Plan has none
		r.ResponseURL = "https://ros.invalid/response" + query
		r.IntranetResponseURL = "http://100.100.100.110/response" + query
	}
	var err error
	if r.ResourceProperties, err = json.Marshal(orNone(properties)); err != nil {
		return r, fmt.Errorf("properties: %w", err)
	}
	if r.RequestType == pintle.Update || r.RequestType == pintle.Plan && r.PhysicalResourceID != "" {
		if r.OldResourceProperties, err = json.Marshal(orNone(old)); err != nil {
			return r, fmt.Errorf("old properties: %w", err)
		}
	}
	return r, nil
}

func orNone(properties Map) Map {
	if properties == nil {
		return Map{}
	}
	return properties
}

// deliverOnce sends a request to the provider, and returns after the provider has handled it. An answer that arrived is
// in s.put.
func (s *service) deliverOnce(ctx context.Context, document []byte) error {
	s.put = nil
	switch s.life.Transport {
	case CloudFormation, ROSFunction:
		return s.server.ServeEvent(ctx, document)
	case ROSWeb, ROSWebSync:
	}
	reply, err := s.post(ctx, document)
	switch {
	case err != nil:
		return err
	case s.life.Transport == ROSWeb:
		return nil
	case s.put != nil:
		s.problem("the answer went to the response URL, want it in the reply")
	case s.lost > 0:
		s.lost--
		return errors.New("the reply is lost")
	}
	s.put = reply
	return nil
}

// post sends a signed request over HTTP and returns the body of the reply. It fails for another status than 200.
func (s *service) post(ctx context.Context, document []byte) ([]byte, error) {
	url := provider
	if s.life.Transport == ROSWebSync {
		url += "/sync"
	}
	signed, err := wire.ROSSigning{Key: signKey, URL: url}.Sign(document, s.clock.Now())
	if err != nil {
		return nil, err
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(signed))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, r)
	if err := s.server.Shutdown(ctx); err != nil { // the reply may arrive before the answer
		return nil, err
	}
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("replied %d: %s", w.Code, bytes.TrimSpace(w.Body.Bytes()))
	}
	return w.Body.Bytes(), nil
}

// received checks the method and header of an answer at the response URL.
func (s *service) received(r *http.Request) {
	if s.life.Transport == CloudFormation {
		if r.Method != http.MethodPut {
			s.problem("the answer came by %s, want PUT", r.Method)
		}
		return
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		s.problem("the answer came by %s with the content type %q, want POST and application/json", r.Method, r.Header.Get("Content-Type"))
	}
	if _, err := http.ParseTime(r.Header.Get("Date")); err != nil {
		s.problem("the answer has no Date")
	}
}

// recreate is a replacement in ROS, where an Update cannot replace a resource. The Update must fail and leave everything
// unchanged. Then the service deletes the resource and creates it again, as for a resource in TaintResources.
func (s *service) recreate(ctx context.Context, now thing, step Step) thing {
	refused := step
	refused.LostResponses, refused.Redeliveries, refused.LateResponse, refused.DeadlineExceeded = 0, 0, false, false
	answer := s.ask(ctx, pintle.Update, now.id, step.Properties, now.properties, refused)
	if answer != nil {
		s.expect(*answer, "ROS cannot replace a resource")
	}
	s.line("   the service rolls it back")
	if back := s.ask(ctx, pintle.Update, now.id, now.properties, step.Properties, Step{}); back != nil {
		s.expect(*back, "")
	}
	s.line("   the service deletes the resource and creates it again")
	if !s.remove(ctx, now.id, now.properties, Step{}) {
		return now
	}
	made := s.create(ctx, step)
	if !made.exists {
		made = s.create(ctx, Step{Properties: now.properties})
	}
	return made
}
