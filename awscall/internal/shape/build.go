package shape

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/traits"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"
	"github.com/aws/smithy-go/transport/http/protocol/ec2query"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"
	"github.com/aws/smithy-go/transport/http/protocol/restxml"
	"github.com/aws/smithy-go/transport/http/protocol/rpcv2"

	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
)

// Service builds the operations of one service on demand. It is safe for concurrent use.
type Service struct {
	Model    *model.Service
	Protocol string // the protocol used, one of those in the model

	client smithyhttp.ClientProtocol
	names  map[string]string // operation by its lower-case name
	codes  map[string]string // shape of an exception by its code on the wire

	mu         sync.Mutex
	operations map[string]*Operation
	types      map[string]*Type
}

// The protocols, best first: the first one that a service offers is used.
const (
	jsonRPC  = "json"
	restJSON = "rest-json"
	restXML  = "rest-xml"
	query    = "query"
	ec2      = "ec2"
	cborRPC  = "smithy-rpc-v2-cbor"
)

// New prepares a service. It returns an error if the service offers no supported protocol.
func New(m *model.Service) (*Service, error) {
	s := &Service{Model: m, names: map[string]string{}, codes: map[string]string{}, operations: map[string]*Operation{}, types: map[string]*Type{}}
	offered := append(slices.Clone(m.Metadata.Protocols), m.Metadata.Protocol)
	for _, p := range []string{jsonRPC, restJSON, restXML, query, ec2, cborRPC} {
		if slices.Contains(offered, p) {
			s.Protocol = p
			break
		}
	}
	name := m.Metadata.TargetPrefix
	schema := smithy.NewServiceSchema(smithy.NewSchema(smithy.ShapeID{Namespace: "aws", Name: name}, smithy.ShapeTypeService, 0), m.Metadata.APIVersion)
	switch s.Protocol {
	case jsonRPC:
		if m.Metadata.JSONVersion == "1.0" {
			s.client = awsjson.New10(schema)
		} else {
			s.client = awsjson.New11(schema)
		}
	case restJSON:
		s.client = restjson1.New(schema)
	case restXML:
		s.client = restxml.New(schema)
	case query:
		s.client = awsquery.New(schema)
	case ec2:
		s.client = ec2query.New(schema)
	case cborRPC:
		s.client = rpcv2.NewCBOR(schema)
	default:
		return nil, fmt.Errorf("it speaks %s, which is not supported", m.Metadata.Protocol)
	}
	for _, o := range slices.Sorted(maps.Keys(m.Operations)) {
		s.names[strings.ToLower(o)] = o
	}
	for _, shape := range slices.Sorted(maps.Keys(m.Shapes)) {
		if e := m.Shapes[shape].Error; e != nil && e.Code != "" {
			s.codes[e.Code] = shape
		}
	}
	return s, nil
}

// Name returns the name of the operation that text names, in any case.
func (s *Service) Name(text string) (string, bool) {
	name, ok := s.names[strings.ToLower(text)]
	return name, ok
}

// Names lists the operations.
func (s *Service) Names() []string { return slices.Sorted(maps.Values(s.names)) }

// ErrorName returns the name of the exception with a code on the wire, or the code itself.
func (s *Service) ErrorName(code string) string {
	if name, ok := s.codes[code]; ok {
		return name
	}
	return code
}

// Operation builds an operation, or returns the cached one. name is one of [Service.Names].
func (s *Service) Operation(name string) (*Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.operations[name]; o != nil {
		return o, nil
	}
	m := s.Model.Operations[name]
	if m == nil {
		return nil, fmt.Errorf("there is no operation %s", name)
	}
	o := &Operation{Name: name, Model: m, service: s}
	for _, ref := range []*model.Reference{m.Input, m.Output} {
		if ref == nil {
			continue
		}
		for _, member := range s.Model.Shapes[ref.Shape].Members {
			if s.Model.Shapes[member.Shape].EventStream {
				return nil, ErrEventStream
			}
		}
	}
	uri := m.HTTP.RequestURI
	if s.Model.Metadata.ServiceID == "S3" {
		uri = strings.Replace(uri, "/{Bucket}", "", 1) // the endpoint contains it
		if !strings.HasPrefix(uri, "/") {
			uri = "/" + uri
		}
	}
	schema := smithy.NewSchema(smithy.ShapeID{Namespace: "aws", Name: name}, smithy.ShapeTypeOperation, 0, &traits.HTTP{Method: m.HTTP.Method, URI: uri, Code: 200})
	o.Input, o.Output = s.root(m.Input, uri), s.root(m.Output, "")
	var in, out *smithy.Schema
	if o.Input != nil {
		in = o.Input.schema
	}
	if o.Output != nil {
		out = o.Output.schema
	}
	o.schema = smithy.NewOperationSchema(schema, in, out)
	s.operations[name] = o
	return o, nil
}

// root builds the input or output of an operation. Only its members can go to the path, the query and headers.
func (s *Service) root(ref *model.Reference, uri string) *Type {
	if ref == nil {
		return nil
	}
	m := s.Model.Shapes[ref.Shape]
	id := smithy.ShapeID{Namespace: "aws", Name: ref.Shape}
	var ts []smithy.Trait
	if ref.LocationName != "" {
		ts = append(ts, &traits.XMLName{Name: ref.LocationName})
	}
	if ns := ref.XMLNamespace; ns != nil {
		ts = append(ts, &traits.XMLNamespace{URI: ns.URI, Prefix: ns.Prefix})
	}
	t := &Type{Kind: Structure}
	t.schema = smithy.NewSchema(id, smithy.ShapeTypeStructure, len(m.Members), ts...)
	s.members(t, m, true, uri)
	return t
}

// shape builds a type, or returns the cached one, which may still be in progress.
func (s *Service) shape(name string) *Type {
	if t := s.types[name]; t != nil {
		return t
	}
	m := s.Model.Shapes[name]
	t := &Type{Union: m.Union, Sparse: m.Sparse}
	s.types[name] = t // before its members, which may refer back to it
	kind, typ, bits := kindOf(m)
	t.Kind, t.Bits = kind, bits
	var ts []smithy.Trait
	if f := timestampFormat(m.TimestampFormat); f != nil {
		ts = append(ts, f)
	}
	if m.Flattened {
		ts = append(ts, &traits.XMLFlattened{})
	}
	if m.LocationName != "" && kind == Structure {
		ts = append(ts, &traits.XMLName{Name: m.LocationName})
	}
	if m.XMLNamespace != nil {
		ts = append(ts, &traits.XMLNamespace{URI: m.XMLNamespace.URI, Prefix: m.XMLNamespace.Prefix})
	}
	t.schema = smithy.NewSchema(smithy.ShapeID{Namespace: "aws", Name: name}, typ, len(m.Members), ts...)
	switch kind {
	case Structure:
		s.members(t, m, false, "")
	case List:
		t.Elem = s.shape(m.Member.Shape)
		t.schema.AddMember("member", t.Elem.schema, nested(m.Member, "")...)
	case Map:
		t.Elem = s.shape(m.Value.Shape)
		t.schema.AddMember("key", s.shape(m.Key.Shape).schema, nested(m.Key, "")...)
		t.schema.AddMember("value", t.Elem.schema, nested(m.Value, "")...)
	case String, Blob, Boolean, Integer, Float, Time, Document:
	}
	return t
}

func kindOf(m *model.Shape) (Kind, smithy.ShapeType, int) {
	switch m.Type {
	case "structure":
		if m.Document {
			return Document, smithy.ShapeTypeDocument, 0
		}
		// A union is also written and read as a structure with one member: smithy-go loses a list's index and a payload's
		// name on unions.
		return Structure, smithy.ShapeTypeStructure, 0
	case "list":
		return List, smithy.ShapeTypeList, 0
	case "map":
		return Map, smithy.ShapeTypeMap, 0
	case "blob":
		return Blob, smithy.ShapeTypeBlob, 0
	case "boolean":
		return Boolean, smithy.ShapeTypeBoolean, 0
	case "byte":
		return Integer, smithy.ShapeTypeByte, 8
	case "short":
		return Integer, smithy.ShapeTypeShort, 16
	case "integer":
		return Integer, smithy.ShapeTypeInteger, 32
	case "long", "biginteger":
		return Integer, smithy.ShapeTypeLong, 64
	case "float":
		return Float, smithy.ShapeTypeFloat, 32
	case "double", "bigdecimal":
		return Float, smithy.ShapeTypeDouble, 64
	case "timestamp":
		return Time, smithy.ShapeTypeTimestamp, 0
	}
	return String, smithy.ShapeTypeString, 0
}

// members adds the members of a structure.
func (s *Service) members(t *Type, m *model.Shape, root bool, uri string) {
	t.byName = make(map[string]*Member, len(m.Members))
	t.bySchema = make(map[*smithy.Schema]*Member, len(m.Members))
	for i := range m.Members {
		ref := &m.Members[i]
		if target := s.Model.Shapes[ref.Shape]; ref.LocationName == "" && target.LocationName != "" {
			named := *ref
			named.LocationName = target.LocationName // the name of a shape applies to its uses
			ref = &named
		}
		member := &Member{Name: ref.Name, Type: s.shape(ref.Shape), Token: ref.IdempotencyToken, HostLabel: ref.HostLabel,
			JSON: ref.JSONValue, Streaming: ref.Streaming || s.Model.Shapes[ref.Shape].Streaming}
		if ref.ContextParam != nil {
			member.Context = ref.ContextParam.Name
		}
		name := ref.Name
		if ref.LocationName != "" && (s.Protocol == jsonRPC || ref.Location == "uri") {
			name = ref.LocationName // these formats have no other place for the name
		}
		ts := nested(&ref.Reference, s.flatName(&ref.Reference))
		if ns := s.Model.Shapes[ref.Shape].XMLNamespace; ns != nil && ref.XMLNamespace == nil {
			ts = append(ts, &traits.XMLNamespace{URI: ns.URI, Prefix: ns.Prefix}) // smithy-go reads only this trait
		}
		if root {
			ts = append(ts, s.bind(member, &ref.Reference, ref.Name == m.Payload)...)
			if member.Label && uri != "" && !strings.Contains(uri, "{"+name+"}") && !strings.Contains(uri, "{"+name+"+}") {
				member.unsent = true
			}
		} else if ref.LocationName != "" {
			ts = append(ts, &traits.JSONName{Name: ref.LocationName})
		}
		member.schema = t.schema.AddMember(name, member.Type.schema, ts...)
		t.Members = append(t.Members, member)
		t.byName[ref.Name] = member
		t.bySchema[member.schema] = member
	}
	if s.Protocol == restXML {
		t.single()
	}
}

// single makes sure that an element is read as one member. S3's old notifications have two members with the name Event: a
// list, and its first item, which has long been obsolete.
func (t *Type) single() {
	lists := map[string]*Member{}
	for _, m := range t.Members {
		if name, ok := smithy.SchemaDirectTrait[*traits.XMLName](m.schema); ok && m.Type.Kind == List && !m.bound {
			lists[name.Name] = m
		}
	}
	for _, m := range t.Members {
		name := m.Name
		if given, ok := smithy.SchemaDirectTrait[*traits.XMLName](m.schema); ok {
			name = given.Name
		}
		if list := lists[name]; list != nil && list != m && !m.bound {
			delete(t.schema.Members(), m.schema.MemberName()) // it is still written
		}
	}
}

// flatName returns the name that a flattened list gives its elements.
func (s *Service) flatName(ref *model.Reference) string {
	target := s.Model.Shapes[ref.Shape]
	if target.Type == "list" && (target.Flattened || ref.Flattened) && s.Protocol == query {
		return target.Member.LocationName
	}
	return ""
}

// bind returns the traits that determine the location of a member of an input or output.
func (s *Service) bind(member *Member, ref *model.Reference, payload bool) []smithy.Trait {
	name := ref.LocationName
	if name == "" {
		name = member.Name
	}
	rest := s.Protocol == restJSON || s.Protocol == restXML
	switch {
	case !rest:
	case payload:
		member.bound, member.Payload = true, true
		ts := []smithy.Trait{&traits.HTTPPayload{}}
		return ts
	case ref.Location == "uri":
		member.bound, member.Label = true, true
		return []smithy.Trait{&traits.HTTPLabel{}}
	case ref.Location == "querystring":
		member.bound = true
		if member.Type.Kind == Map {
			return []smithy.Trait{&traits.HTTPQueryParams{}}
		}
		return []smithy.Trait{&traits.HTTPQuery{Name: name}}
	case ref.Location == "header":
		member.bound, member.Header = true, name
		ts := []smithy.Trait{&traits.HTTPHeader{Name: name}}
		if ref.JSONValue {
			ts = append(ts, &traits.MediaType{Type: "application/json"})
		}
		return ts
	case ref.Location == "headers":
		member.bound = true
		return []smithy.Trait{&traits.HTTPPrefixHeaders{Prefix: ref.LocationName}}
	case ref.Location == "statusCode":
		member.bound = true
		return []smithy.Trait{&traits.HTTPResponseCode{}}
	}
	if ref.LocationName != "" {
		return []smithy.Trait{&traits.JSONName{Name: ref.LocationName}}
	}
	return nil
}

// nested returns the traits of a use of a shape that apply at any depth.
func nested(ref *model.Reference, flat string) []smithy.Trait {
	var ts []smithy.Trait
	switch {
	case flat != "":
		ts = append(ts, &traits.XMLName{Name: flat})
	case ref.LocationName != "":
		ts = append(ts, &traits.XMLName{Name: ref.LocationName})
	}
	if ref.QueryName != "" {
		ts = append(ts, &traits.EC2QueryName{Name: ref.QueryName})
	}
	if ref.XMLNamespace != nil {
		ts = append(ts, &traits.XMLNamespace{URI: ref.XMLNamespace.URI, Prefix: ref.XMLNamespace.Prefix})
	}
	if ref.XMLAttribute {
		ts = append(ts, &traits.XMLAttribute{})
	}
	if ref.Flattened {
		ts = append(ts, &traits.XMLFlattened{})
	}
	if f := timestampFormat(ref.TimestampFormat); f != nil {
		ts = append(ts, f)
	}
	return ts
}

// timestampFormat translates botocore's format name; nil if the protocol decides.
func timestampFormat(word string) smithy.Trait {
	switch word {
	case "iso8601":
		return &traits.TimestampFormat{Format: "date-time"}
	case "rfc822":
		return &traits.TimestampFormat{Format: "http-date"}
	case "unixTimestamp":
		return &traits.TimestampFormat{Format: "epoch-seconds"}
	}
	return nil
}
