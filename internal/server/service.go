package server

import (
	"cmp"
	"crypto/rand"
	"encoding/xml"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/base/awsapi/names"
)

// Service is an AWS service that the server serves.
type Service struct {
	// Handler gets authenticated calls; sigv4.FromContext returns the caller. Required.
	Handler http.Handler
	// Refuse writes an error in the format of the service. Required.
	Refuse func(w http.ResponseWriter, r *http.Request, e *query.Error)
	// Version is the API version of a Query protocol service.
	Version string
	// Paths indicates that calls use paths. Otherwise all calls are to the root.
	Paths bool
	// Timeout bounds a call including its body. Set it for a service that needs longer than others. Such calls do not
	// use the slots of other calls. Zero means Config.Timeout.
	Timeout time.Duration

	turns turns
}

// QueryService returns a service of the AWS Query protocol.
func QueryService(service *query.Service, version string) Service {
	return Service{Handler: service, Version: version, Refuse: func(w http.ResponseWriter, r *http.Request, e *query.Error) {
		service.WriteError(w, r, e)
	}}
}

// JSONService returns a service of an AWS JSON protocol. These protocols share an error format.
func JSONService(handler http.Handler) Service {
	return Service{Handler: handler, Refuse: func(w http.ResponseWriter, _ *http.Request, e *query.Error) {
		awsjson.WriteError(w, &awsjson.Error{Code: e.Code, Message: e.Message, Status: e.Status})
	}}
}

// services maps service names in the scope of a signature to services.
type services map[string]Service

// list returns the service names as text for error messages.
func (f services) list() string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(name string) bool { return name == ossService })
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// serviceOf returns the named service. If the server does not serve it, serviceOf returns one with the same error
// format.
func (s *Server) serviceOf(service string, r *http.Request) Service {
	if face, ok := s.services[service]; ok {
		return face
	}
	// All API versions of a service use the same protocol.
	switch names.ProtocolOf(r, names.Of(r, service, func() string { return "" })) {
	case names.CBOR:
		return Service{Refuse: refuseCBOR}
	case names.JSON, names.RESTJSON:
		return JSONService(nil)
	case names.EC2:
		return Service{Refuse: refuseEC2}
	}
	if strings.HasPrefix(service, "s3") {
		return Service{Refuse: refuseS3}
	}
	return s.services["cloudformation"] // REST with XML has the same error format
}

// absent answers a call of a service that the server does not serve.
func (s *Server) absent(w http.ResponseWriter, r *http.Request, service string) {
	variables := names.EndpointVariables(service, names.Of(r, service, func() string { return formVersion(r) }))
	s.serviceOf(service, r).Refuse(w, r, query.Fault("InvalidAction", "This version of Pintle serves %s, not %s. "+
		"Set %s to the address of a server that does.", s.services.list(), service, strings.Join(variables, " or ")))
}

// refuseEC2 writes an error in the format of the EC2 protocol.
func refuseEC2(w http.ResponseWriter, _ *http.Request, e *query.Error) {
	type item struct{ Code, Message string }
	id := rand.Text()
	writeXML(w, id, e, struct {
		XMLName   xml.Name `xml:"Response"`
		Errors    []item   `xml:"Errors>Error"`
		RequestID string
	}{Errors: []item{{e.Code, e.Message}}, RequestID: id})
}

// refuseS3 writes an error in the format of S3.
func refuseS3(w http.ResponseWriter, _ *http.Request, e *query.Error) {
	id := rand.Text()
	writeXML(w, id, e, struct {
		XMLName                  xml.Name `xml:"Error"`
		Code, Message, RequestId string
	}{Code: e.Code, Message: e.Message, RequestId: id})
}

func writeXML(w http.ResponseWriter, id string, e *query.Error, body any) {
	text, err := xml.Marshal(body)
	if err != nil {
		panic(err) // text always marshals
	}
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("X-Amzn-RequestId", id)
	w.WriteHeader(cmp.Or(e.Status, http.StatusBadRequest))
	_, _ = w.Write(text) // fails only if the client has disconnected
}

// refuseCBOR writes an error in the format of Smithy's RPC v2 CBOR protocol.
func refuseCBOR(w http.ResponseWriter, _ *http.Request, e *query.Error) {
	w.Header().Set("Content-Type", "application/cbor")
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	w.Header().Set("X-Amzn-RequestId", rand.Text())
	w.WriteHeader(cmp.Or(e.Status, http.StatusBadRequest))
	body := cbor.Map{"__type": cbor.String(e.Code), "message": cbor.String(e.Message)}
	_, _ = w.Write(cbor.Encode(body)) // fails only if the client has disconnected
}
