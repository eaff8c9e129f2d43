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

	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/api/query"
)

// Face is a service of AWS that the door serves.
type Face struct {
	// Handler gets the calls that were let in; sigv4.FromContext tells who calls. Required.
	Handler http.Handler
	// Refuse answers a call that is not let in as the service would. Required.
	Refuse func(w http.ResponseWriter, r *http.Request, e *query.Error)
	// Version, of a service of the Query protocol, is that of its API.
	Version string
	// Paths says that calls have paths of their own; otherwise all are to the root.
	Paths bool
	// Timeout is how long a call may take, its body included, where that is longer than of others. Such calls do not take the
	// turns of others. Zero means Config.Timeout.
	Timeout time.Duration

	turns turns
}

// QueryFace returns the face of a service of AWS's Query protocol.
func QueryFace(service *query.Service, version string) Face {
	return Face{Handler: service, Version: version, Refuse: func(w http.ResponseWriter, r *http.Request, e *query.Error) {
		service.WriteError(w, r, e)
	}}
}

// JSONFace returns the face of a service of one of AWS's JSON protocols, whose errors look alike.
func JSONFace(handler http.Handler) Face {
	return Face{Handler: handler, Refuse: func(w http.ResponseWriter, _ *http.Request, e *query.Error) {
		awsjson.WriteError(w, &awsjson.Error{Code: e.Code, Message: e.Message, Status: e.Status})
	}}
}

// faces are known by the names of their services in the scope of a signature.
type faces map[string]Face

// list names them for people.
func (f faces) list() string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(name string) bool { return name == ossService })
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// faceOf returns the face that a service's errors look like, whether it is served or not.
func (s *Server) faceOf(service string, r *http.Request) Face {
	if face, ok := s.faces[service]; ok {
		return face
	}
	switch {
	case r.Header.Get("X-Amz-Target") != "":
		return JSONFace(nil)
	case service == "ec2":
		return Face{Refuse: refuseEC2}
	case r.URL.Path != "" && r.URL.Path != "/" && !slices.Contains(xmlServices, service):
		return JSONFace(nil) // most services with paths use REST and JSON
	}
	return s.faces["cloudformation"]
}

// xmlServices are the services with REST and XML, as signatures name them. Their errors look like those of the Query protocol.
var xmlServices = []string{"cloudfront", "route53", "s3", "s3-object-lambda", "s3-outposts", "s3express"}

// refuseEC2 writes an error in the format of the EC2 protocol.
func refuseEC2(w http.ResponseWriter, _ *http.Request, e *query.Error) {
	type item struct{ Code, Message string }
	id := rand.Text()
	text, err := xml.Marshal(struct {
		XMLName   xml.Name `xml:"Response"`
		Errors    []item   `xml:"Errors>Error"`
		RequestID string
	}{Errors: []item{{e.Code, e.Message}}, RequestID: id})
	if err != nil {
		panic(err) // text always marshals
	}
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("X-Amzn-RequestId", id)
	w.WriteHeader(cmp.Or(e.Status, http.StatusBadRequest))
	_, _ = w.Write(text) // fails only if the client has gone
}

// endpointNames are those of services that are signed for under another name.
var endpointNames = map[string]string{
	"states": "SFN", "logs": "CLOUDWATCH_LOGS", "monitoring": "CLOUDWATCH", "events": "EVENTBRIDGE", "email": "SES",
	"elasticloadbalancing": "ELASTIC_LOAD_BALANCING_V2", "route53": "ROUTE_53", "es": "OPENSEARCH", "secretsmanager": "SECRETS_MANAGER",
	"aoss": "OPENSEARCHSERVERLESS", "apigateway": "API_GATEWAY", "autoscaling": "AUTO_SCALING", "elasticmapreduce": "EMR",
	"execute-api": "APIGATEWAYMANAGEMENTAPI", "servicecatalog": "SERVICE_CATALOG", "servicediscovery": "SERVICEDISCOVERY",
	"elasticfilesystem": "EFS", "cognito-idp": "COGNITO_IDENTITY_PROVIDER", "application-autoscaling": "APPLICATION_AUTO_SCALING",
}

// endpointVariable is the variable by which AWS's clients are told where a service is, as far as it follows from the name in a
// signature. Source: AWS SDKs and Tools Reference Guide, service-specific endpoints.
func endpointVariable(service string) string {
	if name, other := endpointNames[service]; other {
		return "AWS_ENDPOINT_URL_" + name
	}
	return "AWS_ENDPOINT_URL_" + strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToUpper(service))
}
