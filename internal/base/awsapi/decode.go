package awsapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
)

// Input reads the input of a request. Like AWS, it ignores members that the model does not have. It returns an
// [Error] if a value has the wrong type.
func (s *Service) Input(q *Request) (map[string]any, error) {
	ref := s.model.Operations[q.Operation].Input
	if ref == nil {
		return map[string]any{}, nil
	}
	shape := s.model.Shapes[ref.Shape]
	var value any
	var err error
	switch s.protocol {
	case protocolJSON:
		value, err = s.readJSON(q.body, ref)
	case protocolQuery, protocolEC2:
		value, err = s.form(tree(q.form), ref, ref.Shape, 0)
	default:
		return s.rest(q, shape, ref)
	}
	if err != nil {
		return nil, err
	}
	in, ok := value.(map[string]any)
	if !ok {
		in = map[string]any{}
	}
	return in, nil
}

// wrong returns the error for a value of the wrong type.
func wrong(name string) *Error {
	return Refuse("SerializationException", "The value of %.100s has the wrong type.", name)
}

func (s *Service) readJSON(body []byte, ref *model.Reference) (any, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return map[string]any{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var raw any
	if err := d.Decode(&raw); err != nil {
		return nil, Refuse("SerializationException", "The body is not JSON.")
	}
	return s.fromJSON(raw, ref, ref.Shape, 0)
}

// fromJSON converts a JSON value to the type in the model.
func (s *Service) fromJSON(raw any, ref *model.Reference, name string, depth int) (any, error) {
	shape := s.model.Shapes[ref.Shape]
	if raw == nil {
		return nil, nil
	}
	if depth > maxDepth {
		return nil, wrong(name)
	}
	switch shape.Type {
	case "structure":
		object, ok := raw.(map[string]any)
		if !ok {
			return nil, wrong(name)
		}
		if shape.Document {
			return object, nil
		}
		out := map[string]any{}
		for i := range shape.Members {
			m := &shape.Members[i]
			given, ok := object[wireName(m)]
			if !ok || given == nil {
				continue
			}
			value, err := s.fromJSON(given, &m.Reference, m.Name, depth+1)
			if err != nil {
				return nil, err
			}
			out[m.Name] = value
		}
		return out, nil
	case "list":
		list, ok := raw.([]any)
		if !ok {
			return nil, wrong(name)
		}
		out := make([]any, 0, len(list))
		for _, item := range list {
			value, err := s.fromJSON(item, shape.Member, name, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case "map":
		object, ok := raw.(map[string]any)
		if !ok {
			return nil, wrong(name)
		}
		out := map[string]any{}
		for key, item := range object {
			value, err := s.fromJSON(item, shape.Value, name, depth+1)
			if err != nil {
				return nil, err
			}
			out[key] = value
		}
		return out, nil
	}
	switch v := raw.(type) {
	case string:
		return scalar(v, shape, name)
	case json.Number:
		if shape.Type == "string" {
			return nil, wrong(name)
		}
		return scalar(v.String(), shape, name)
	case bool:
		if shape.Type == "boolean" {
			return v, nil
		}
	}
	return nil, wrong(name)
}

func wireName(m *model.Member) string {
	if m.LocationName != "" {
		return m.LocationName
	}
	return m.Name
}

// scalar parses a scalar value from text.
func scalar(text string, shape *model.Shape, name string) (any, error) {
	var value any
	var err error
	switch shape.Type {
	case "boolean":
		value, err = strconv.ParseBool(text)
	case "integer", "long", "short", "byte", "biginteger":
		value, err = strconv.ParseInt(text, 10, 64)
	case "float", "double", "bigdecimal":
		value, err = strconv.ParseFloat(text, 64)
	case "blob":
		value, err = base64.StdEncoding.DecodeString(text)
	case "timestamp":
		if seconds, failed := strconv.ParseFloat(text, 64); failed == nil && math.Abs(seconds) < 1e11 {
			return time.UnixMilli(int64(seconds * 1000)).UTC(), nil
		}
		value, err = time.Parse(time.RFC3339, text)
	default:
		return text, nil
	}
	if err != nil {
		return nil, wrong(name)
	}
	return value, nil
}

// node is a node in the tree of form keys or of an XML document.
type node struct {
	name     string
	text     string
	children []*node
}

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// tree builds a tree from the dotted keys of a form.
func tree(form url.Values) *node {
	root := &node{}
	index := map[string]*node{"": root}
	for key, list := range form {
		parts := strings.Split(key, ".")
		if len(parts) > maxDepth || len(list) == 0 {
			continue
		}
		at, path := root, ""
		for _, part := range parts {
			path += "." + part
			next := index[path]
			if next == nil {
				next = &node{name: part}
				index[path] = next
				at.children = append(at.children, next)
			}
			at = next
		}
		at.text = list[0]
	}
	return root
}

// numbered returns the children whose names are numbers, in numerical order.
func (n *node) numbered() []*node {
	type place struct {
		at   int
		node *node
	}
	var list []place
	for _, c := range n.children {
		if at, err := strconv.Atoi(c.name); err == nil {
			list = append(list, place{at, c})
		}
	}
	slices.SortFunc(list, func(a, b place) int { return a.at - b.at })
	out := make([]*node, len(list))
	for i, p := range list {
		out[i] = p.node
	}
	return out
}

// formName returns the name of a member in a form.
func (s *Service) formName(m *model.Member) string {
	if s.protocol != protocolEC2 {
		return wireName(m)
	}
	if m.QueryName != "" {
		return m.QueryName
	}
	name := wireName(m)
	return strings.ToUpper(name[:1]) + name[1:]
}

// form converts a form to the type in the model.
func (s *Service) form(n *node, ref *model.Reference, name string, depth int) (any, error) {
	shape := s.model.Shapes[ref.Shape]
	if depth > maxDepth {
		return nil, wrong(name)
	}
	switch shape.Type {
	case "structure":
		out := map[string]any{}
		for i := range shape.Members {
			m := &shape.Members[i]
			child := n.child(s.formName(m))
			if child == nil {
				continue
			}
			value, err := s.form(child, &m.Reference, m.Name, depth+1)
			if err != nil {
				return nil, err
			}
			out[m.Name] = value
		}
		return out, nil
	case "list":
		if s.protocol == protocolQuery {
			for _, wrapper := range []string{"member", shape.Member.LocationName} {
				if inner := n.child(wrapper); inner != nil && wrapper != "" {
					n = inner
					break
				}
			}
		}
		out := []any{}
		for _, item := range n.numbered() {
			value, err := s.form(item, shape.Member, name, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case "map":
		if inner := n.child("entry"); inner != nil {
			n = inner
		}
		out := map[string]any{}
		for _, item := range n.numbered() {
			key, given := item.child("key"), item.child("value")
			if key == nil || given == nil {
				continue
			}
			value, err := s.form(given, shape.Value, name, depth+1)
			if err != nil {
				return nil, err
			}
			out[key.text] = value
		}
		return out, nil
	}
	return scalar(n.text, shape, name)
}

// rest reads the input of a REST request from its path, query, headers and body.
func (s *Service) rest(q *Request, shape *model.Shape, ref *model.Reference) (map[string]any, error) {
	in := map[string]any{}
	query := q.http.URL.Query()
	bodied := false
	for i := range shape.Members {
		m := &shape.Members[i]
		var given []string
		switch m.Location {
		case "uri":
			if label, ok := q.labels[wireName(m)]; ok {
				given = []string{label}
			}
		case "querystring":
			given = query[wireName(m)]
		case "header":
			given = q.http.Header.Values(wireName(m))
		default:
			bodied = true
			continue
		}
		if len(given) == 0 {
			continue
		}
		target := s.model.Shapes[m.Shape]
		if target.Type == "list" {
			list := []any{}
			for _, text := range given {
				value, err := scalar(text, s.model.Shapes[target.Member.Shape], m.Name)
				if err != nil {
					return nil, err
				}
				list = append(list, value)
			}
			in[m.Name] = list
			continue
		}
		value, err := scalar(given[0], target, m.Name)
		if err != nil {
			return nil, err
		}
		in[m.Name] = value
	}
	if !bodied || len(bytes.TrimSpace(q.body)) == 0 {
		return in, nil
	}
	from, into := ref, ""
	if shape.Payload != "" {
		into = shape.Payload
		for i := range shape.Members {
			if shape.Members[i].Name == into {
				from = &shape.Members[i].Reference
			}
		}
	}
	value, err := s.payload(q.body, from)
	if err != nil {
		return nil, err
	}
	if into != "" {
		in[into] = value
		return in, nil
	}
	members, _ := value.(map[string]any)
	for name, v := range members {
		if _, bound := in[name]; !bound {
			in[name] = v
		}
	}
	return in, nil
}

func (s *Service) payload(body []byte, ref *model.Reference) (any, error) {
	if s.protocol == protocolRESTJSON {
		return s.readJSON(body, ref)
	}
	root, err := parseXML(body)
	if err != nil {
		return nil, Refuse("InvalidInput", "The body is not XML: it must be one document without a type.")
	}
	return s.fromXML(root, ref, ref.Shape, 0)
}

// parseXML parses a document into a tree without attributes.
func parseXML(body []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	root := &node{}
	open := []*node{root}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		last := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			if len(open) > maxDepth {
				return nil, errors.New("the document is nested too deep")
			}
			next := &node{name: token.Name.Local}
			last.children = append(last.children, next)
			open = append(open, next)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			last.text += string(token)
		case xml.Directive:
			return nil, errors.New("the document has a type")
		}
	}
	if len(root.children) != 1 {
		return nil, errors.New("the document has no root element")
	}
	return root.children[0], nil
}

// fromXML converts an element to the type in the model.
func (s *Service) fromXML(n *node, ref *model.Reference, name string, depth int) (any, error) {
	shape := s.model.Shapes[ref.Shape]
	switch shape.Type {
	case "structure":
		out := map[string]any{}
		for i := range shape.Members {
			m := &shape.Members[i]
			target := s.model.Shapes[m.Shape]
			element := wireName(m)
			if target.Type == "list" && (m.Flattened || target.Flattened) {
				list := []any{}
				for _, c := range n.children {
					if c.name != element {
						continue
					}
					value, err := s.fromXML(c, target.Member, m.Name, depth+1)
					if err != nil {
						return nil, err
					}
					list = append(list, value)
				}
				if len(list) > 0 {
					out[m.Name] = list
				}
				continue
			}
			child := n.child(element)
			if child == nil {
				continue
			}
			value, err := s.fromXML(child, &m.Reference, m.Name, depth+1)
			if err != nil {
				return nil, err
			}
			out[m.Name] = value
		}
		return out, nil
	case "list":
		out := []any{}
		for _, c := range n.children {
			value, err := s.fromXML(c, shape.Member, name, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case "map":
		return nil, wrong(name) // no served operation has a map
	}
	text := n.text
	if shape.Type != "string" {
		text = strings.TrimSpace(text)
	}
	return scalar(text, shape, name)
}
