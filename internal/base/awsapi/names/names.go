// Package names finds the service of AWS that a signed request is for. The signature contains a service name, but
// several services can share that name. It also often differs from the name in the environment variables of clients.
//
// Source: botocore's models; AWS SDKs and Tools Reference Guide, service-specific endpoints; User-Agents of the SDKs.
package names

import (
	"net/http"
	"slices"
	"strings"
)

// Protocols, as models name them.
const (
	JSON     = "json"
	RESTJSON = "rest-json"
	RESTXML  = "rest-xml"
	Query    = "query"
	EC2      = "ec2"
	CBOR     = "smithy-rpc-v2-cbor"
)

// Service is a service of AWS.
type Service struct {
	// ID is the service's ID in its model, such as "Route 53".
	ID string
	// Protocol is the protocol that clients prefer.
	Protocol string
	// Target is the prefix of the X-Amz-Target header, or the name in the path of CBOR calls. It is empty for other
	// protocols.
	Target string
	// Version is the API version, which calls of the Query protocol contain.
	Version string
}

// EndpointVariable returns the environment variable that sets the endpoint of the service in clients.
func (s Service) EndpointVariable() string { return endpointVariable(s.ID) }

func endpointVariable(id string) string {
	return "AWS_ENDPOINT_URL_" + strings.NewReplacer(" ", "_", "-", "_", ".", "_").Replace(strings.ToUpper(id))
}

// EndpointVariables returns the endpoint variables of services. Without services, it derives one from the name in the
// signature.
func EndpointVariables(signed string, services []Service) []string {
	if len(services) == 0 {
		return []string{endpointVariable(signed)}
	}
	var list []string
	for _, s := range services {
		list = append(list, s.EndpointVariable())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ByID returns the service with an ID. It ignores case, spaces and hyphens, so "ElasticLoadBalancingV2" is
// "Elastic Load Balancing v2". ok is false if there is no such service.
func ByID(id string) (s Service, ok bool) {
	id = plain(id)
	for _, list := range services {
		for _, s := range list {
			if plain(s.ID) == id {
				return s, true
			}
		}
	}
	return Service{}, false
}

// Of returns the services that a request can be for, given the name in its signature, its path and its headers. It
// returns none if the name is unknown. version returns the API version in the form of a request. Of calls it only if
// needed.
func Of(r *http.Request, signed string, version func() string) []Service {
	list := services[signed]
	if len(list) < 2 {
		return list
	}
	if target, _, found := strings.Cut(r.Header.Get("X-Amz-Target"), "."); found {
		return narrow(list, func(s Service) bool { return s.Target == target })
	}
	if target, found := cborTarget(r); found {
		return narrow(list, func(s Service) bool { return s.Target == target })
	}
	if form(r) {
		list = narrow(list, func(s Service) bool { return s.Protocol == Query })
		if len(list) > 1 && list[0].Protocol == Query {
			is := version()
			list = narrow(list, func(s Service) bool { return s.Version == is })
		}
	} else {
		list = narrow(list, func(s Service) bool { return s.Protocol == RESTJSON || s.Protocol == RESTXML })
	}
	if client := clientOf(r); client != "" {
		list = narrow(list, func(s Service) bool { return plain(s.ID) == client })
	}
	return list
}

// ProtocolOf returns the protocol of a request, given the services that [Of] returned. Clients of one service can use
// different protocols, so the request takes precedence over the service.
func ProtocolOf(r *http.Request, services []Service) string {
	var prefers string
	if len(services) > 0 {
		prefers = services[0].Protocol
	}
	switch {
	case r.Header.Get("Smithy-Protocol") == "rpc-v2-cbor":
		return CBOR
	case r.Header.Get("X-Amz-Target") != "":
		return JSON
	case form(r) && prefers != EC2:
		return Query
	case prefers == CBOR:
		return JSON
	case prefers != "":
		return prefers
	case !root(r):
		return RESTJSON // most services with paths use this protocol
	}
	return Query
}

// narrow returns the services that satisfy is, or all if none does.
func narrow(list []Service, is func(Service) bool) []Service {
	var some []Service
	for _, s := range list {
		if is(s) {
			some = append(some, s)
		}
	}
	if len(some) == 0 {
		return list
	}
	return some
}

func root(r *http.Request) bool { return r.URL.Path == "" || r.URL.Path == "/" }

// form reports whether a request may use the Query protocol.
func form(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return root(r) && (strings.TrimSpace(kind) == "application/x-www-form-urlencoded" || r.URL.Query().Has("Action"))
}

// cborTarget returns the name of the service in the path of a CBOR call, /service/NAME/operation/OPERATION.
func cborTarget(r *http.Request) (string, bool) {
	rest, found := strings.CutPrefix(r.URL.Path, "/service/")
	name, rest, ok := strings.Cut(rest, "/")
	return name, found && ok && strings.HasPrefix(rest, "operation/")
}

// clientOf returns the service that the User-Agent of an SDK names as api/NAME#VERSION, normalized by plain, or "".
func clientOf(r *http.Request) string {
	for field := range strings.FieldsSeq(r.UserAgent()) {
		if name, found := strings.CutPrefix(field, "api/"); found {
			name, _, _ = strings.Cut(name, "#")
			return plain(name)
		}
	}
	return ""
}

// plain returns a service ID in lower case, without spaces, hyphens and underscores.
func plain(name string) string {
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(name))
}
