package awsapi

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
)

// Write writes the output of an operation. If the output does not match the model, it writes nothing and returns an
// error.
func (s *Service) Write(w http.ResponseWriter, operation string, out map[string]any) error {
	o := s.model.Operations[operation]
	id := uuid.NewString()
	body, kind, err := s.encode(w.Header(), o, operation, out, id)
	if err != nil {
		return fmt.Errorf("output of %s: %w", operation, err)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Amzn-RequestId", id)
	status := http.StatusOK
	if location := w.Header().Get("Location"); location != "" {
		status = http.StatusCreated
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client has disconnected
	return nil
}

func (s *Service) encode(header http.Header, o *model.Operation, operation string, out map[string]any, id string) ([]byte, string, error) {
	ref := o.Output
	switch s.protocol {
	case protocolJSON, protocolRESTJSON:
		kind := "application/json"
		if s.protocol == protocolJSON {
			kind = "application/x-amz-json-" + cmp.Or(s.model.Metadata.JSONVersion, "1.1")
		}
		if ref == nil {
			return []byte("{}"), kind, nil
		}
		value, err := s.toJSON(out, ref, "output")
		if err != nil {
			return nil, kind, err
		}
		body, err := json.Marshal(value)
		return body, kind, err
	}
	x := &writer{service: s}
	space := s.namespace()
	switch s.protocol {
	case protocolQuery:
		x.open(operation+"Response", space)
		if ref != nil {
			x.open(cmp.Or(ref.ResultWrapper, operation+"Result"), "")
			x.members(out, ref, "output")
			x.close(cmp.Or(ref.ResultWrapper, operation+"Result"))
		}
		x.open("ResponseMetadata", "")
		x.leaf("RequestId", id)
		x.close("ResponseMetadata")
		x.close(operation + "Response")
	case protocolEC2:
		x.open(operation+"Response", space)
		x.leaf("requestId", id)
		if ref != nil {
			x.members(out, ref, "output")
		}
		x.close(operation + "Response")
	default:
		if ref != nil {
			x.document(header, out, ref, space)
		}
	}
	return append([]byte(xml.Header), x.b.Bytes()...), "text/xml", x.err
}

// namespace returns the XML namespace of the service.
func (s *Service) namespace() string {
	if ns := s.model.Metadata.XMLNamespace; ns != nil {
		return ns.URI
	}
	switch s.model.Metadata.ServiceID {
	case "Route 53":
		return "https://route53.amazonaws.com/doc/" + s.model.Metadata.APIVersion + "/"
	case "CloudFront":
		return "http://cloudfront.amazonaws.com/doc/" + s.model.Metadata.APIVersion + "/"
	}
	return ""
}

// unknown returns an error if given has a member that the structure does not have.
func unknown(shape *model.Shape, given map[string]any, where string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(shape.Members, func(m model.Member) bool { return m.Name == name }) {
			return fmt.Errorf("%s has no member %s", where, name)
		}
	}
	return nil
}

func misfit(where string, v any) error { return fmt.Errorf("%s is a %T", where, v) }

// toJSON converts a value to a form for [json.Marshal], following the model.
func (s *Service) toJSON(v any, ref *model.Reference, where string) (any, error) {
	shape := s.model.Shapes[ref.Shape]
	if v == nil {
		return nil, nil
	}
	switch shape.Type {
	case "structure":
		given, ok := v.(map[string]any)
		if !ok {
			return nil, misfit(where, v)
		}
		if shape.Document {
			return given, nil
		}
		if err := unknown(shape, given, where); err != nil {
			return nil, err
		}
		out := map[string]any{}
		for i := range shape.Members {
			m := &shape.Members[i]
			if given[m.Name] == nil {
				continue
			}
			value, err := s.toJSON(given[m.Name], &m.Reference, where+"."+m.Name)
			if err != nil {
				return nil, err
			}
			out[wireName(m)] = value
		}
		return out, nil
	case "list":
		list, ok := v.([]any)
		if !ok {
			return nil, misfit(where, v)
		}
		out := make([]any, 0, len(list))
		for _, item := range list {
			value, err := s.toJSON(item, shape.Member, where)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case "map":
		given, ok := v.(map[string]any)
		if !ok {
			return nil, misfit(where, v)
		}
		out := map[string]any{}
		for key, item := range given {
			value, err := s.toJSON(item, shape.Value, where)
			if err != nil {
				return nil, err
			}
			out[key] = value
		}
		return out, nil
	case "timestamp":
		at, ok := v.(time.Time)
		if !ok {
			return nil, misfit(where, v)
		}
		if cmp.Or(ref.TimestampFormat, shape.TimestampFormat) == "iso8601" {
			return at.UTC().Format(time.RFC3339), nil
		}
		return json.Number(strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', -1, 64)), nil
	}
	if !fits(v, shape.Type) {
		return nil, misfit(where, v)
	}
	return v, nil
}

// fits reports whether a scalar value has the type of a shape.
func fits(v any, kind string) bool {
	switch v.(type) {
	case string:
		return kind == "string" || kind == "character"
	case bool:
		return kind == "boolean"
	case int64:
		return kind != "string" && kind != "boolean"
	case float64:
		return kind == "float" || kind == "double" || kind == "bigdecimal" || kind == "long" || kind == "integer"
	case []byte:
		return kind == "blob"
	}
	return false
}

// writer writes XML, following the model. It stops at the first error.
type writer struct {
	service *Service
	b       bytes.Buffer
	err     error
}

func (x *writer) open(name, space string) {
	x.b.WriteString("<" + name)
	if space != "" {
		x.b.WriteString(` xmlns="`)
		x.text(space)
		x.b.WriteString(`"`)
	}
	x.b.WriteString(">")
}

func (x *writer) close(name string) { x.b.WriteString("</" + name + ">") }

func (x *writer) text(text string) {
	if err := xml.EscapeText(&x.b, []byte(text)); err != nil && x.err == nil {
		x.err = err
	}
}

func (x *writer) leaf(name, text string) {
	x.open(name, "")
	x.text(text)
	x.close(name)
}

// document writes the body of a REST response, and its headers.
func (x *writer) document(header http.Header, out map[string]any, ref *model.Reference, space string) {
	shape := x.service.model.Shapes[ref.Shape]
	body := map[string]any{}
	for i := range shape.Members {
		m := &shape.Members[i]
		v := out[m.Name]
		switch {
		case v == nil:
		case m.Location == "header":
			text, ok := v.(string)
			if !ok {
				x.err = misfit(m.Name, v)
				return
			}
			header.Set(wireName(m), text)
		case m.Name == shape.Payload:
			payload, ok := v.(map[string]any)
			if !ok {
				x.err = misfit(m.Name, v)
				return
			}
			name := cmp.Or(m.LocationName, m.Shape)
			x.open(name, space)
			x.members(payload, &m.Reference, m.Name)
			x.close(name)
			return
		}
		if m.Location == "" && v != nil {
			body[m.Name] = v
		}
	}
	if err := unknown(shape, out, ref.Shape); err != nil {
		x.err = err
		return
	}
	name := cmp.Or(ref.LocationName, ref.Shape)
	x.open(name, space)
	x.members(body, ref, ref.Shape)
	x.close(name)
}

// members writes the members of a structure.
func (x *writer) members(given map[string]any, ref *model.Reference, where string) {
	shape := x.service.model.Shapes[ref.Shape]
	if err := unknown(shape, given, where); err != nil && x.err == nil {
		x.err = err
		return
	}
	for i := range shape.Members {
		m := &shape.Members[i]
		if v := given[m.Name]; v != nil {
			x.value(wireName(m), v, &m.Reference, where+"."+m.Name)
		}
	}
}

func (x *writer) value(name string, v any, ref *model.Reference, where string) {
	shape := x.service.model.Shapes[ref.Shape]
	switch shape.Type {
	case "structure":
		given, ok := v.(map[string]any)
		if !ok {
			x.fail(where, v)
			return
		}
		x.open(name, "")
		x.members(given, ref, where)
		x.close(name)
	case "list":
		list, ok := v.([]any)
		if !ok {
			x.fail(where, v)
			return
		}
		flat := ref.Flattened || shape.Flattened
		item := cmp.Or(shape.Member.LocationName, "member")
		if flat {
			item = name
		} else {
			x.open(name, "")
		}
		for _, entry := range list {
			x.value(item, entry, shape.Member, where)
		}
		if !flat {
			x.close(name)
		}
	case "timestamp":
		at, ok := v.(time.Time)
		if !ok {
			x.fail(where, v)
			return
		}
		x.leaf(name, at.UTC().Format("2006-01-02T15:04:05.000Z"))
	default:
		if !fits(v, shape.Type) {
			x.fail(where, v)
			return
		}
		if bytes, ok := v.([]byte); ok {
			v = base64.StdEncoding.EncodeToString(bytes)
		}
		x.leaf(name, fmt.Sprint(v))
	}
}

func (x *writer) fail(where string, v any) {
	if x.err == nil {
		x.err = misfit(where, v)
	}
}

// WriteError replies with an error in the service's protocol.
func (s *Service) WriteError(w http.ResponseWriter, e *Error) {
	id := uuid.NewString()
	status := cmp.Or(e.Status, http.StatusBadRequest)
	w.Header().Set("X-Amzn-RequestId", id)
	if s.protocol == protocolJSON || s.protocol == protocolRESTJSON {
		kind := "application/json"
		if s.protocol == protocolJSON {
			kind = "application/x-amz-json-" + cmp.Or(s.model.Metadata.JSONVersion, "1.1")
		}
		text, err := json.Marshal(map[string]string{"__type": e.Code, "message": e.Message})
		if err != nil {
			panic(err) // text always marshals
		}
		w.Header().Set("X-Amzn-ErrorType", e.Code)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write(text) // fails only if the client has disconnected
		return
	}
	x := &writer{service: s}
	if s.protocol == protocolEC2 {
		x.open("Response", "")
		x.open("Errors", "")
		x.open("Error", "")
		x.leaf("Code", e.Code)
		x.leaf("Message", e.Message)
		x.close("Error")
		x.close("Errors")
		x.leaf("RequestID", id)
		x.close("Response")
	} else {
		fault := "Sender"
		if status >= http.StatusInternalServerError {
			fault = "Receiver"
		}
		x.open("ErrorResponse", s.namespace())
		x.open("Error", "")
		x.leaf("Type", fault)
		x.leaf("Code", e.Code)
		x.leaf("Message", e.Message)
		x.close("Error")
		x.leaf("RequestId", id)
		x.close("ErrorResponse")
	}
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), x.b.Bytes()...)) // fails only if the client has disconnected
}
