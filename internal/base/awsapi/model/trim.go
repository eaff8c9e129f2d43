package model

import (
	"encoding/json"
	"fmt"
)

// Trim returns the parts of s that calls need. It drops shapes that no operation uses, and merges identical simple
// shapes. The result has the same format. s is not changed.
func Trim(s *Service) *Service {
	t := trimmer{from: s, to: &Service{Metadata: s.Metadata, Operations: map[string]*Operation{}, Shapes: map[string]*Shape{}}}
	for name, o := range s.Operations {
		c := *o
		if c.Name == name {
			c.Name = ""
		}
		c.Input, c.Output = t.reference(o.Input), t.reference(o.Output)
		if c.Discovery != nil && !c.Discovery.Required {
			c.Discovery = nil // optional: the usual endpoint works too
		}
		t.to.Operations[name] = &c
	}
	for name, shape := range s.Shapes {
		if shape.Exception && shape.Error != nil && shape.Error.Code != "" && shape.Error.Code != name && t.to.Shapes[name] == nil {
			t.to.Shapes[name] = &Shape{Type: "structure", Exception: true, Error: shape.Error} // its code is not its name
		}
	}
	return t.to
}

type trimmer struct {
	from, to *Service
}

func (t *trimmer) reference(r *Reference) *Reference {
	if r == nil {
		return nil
	}
	c := *r
	c.Shape = t.shape(r.Shape)
	if c.ResultWrapper != "" {
		c.ResultWrapper = ""
	}
	return &c
}

// shape copies a shape and all shapes that it refers to, and returns its name in the copy.
func (t *trimmer) shape(name string) string {
	from := t.from.Shapes[name]
	switch from.Type {
	case "structure", "list", "map":
	default:
		alike := *from
		text, err := json.Marshal(&alike)
		if err != nil {
			panic(fmt.Sprintf("a shape of plain fields: %v", err))
		}
		short := "$" + from.Type
		if plain := fmt.Sprintf(`{"type":%q}`, from.Type); string(text) != plain {
			short += string(text)
		}
		t.to.Shapes[short] = &alike
		return short
	}
	if t.to.Shapes[name] != nil {
		return name
	}
	to := *from
	t.to.Shapes[name] = &to // set before its members, which may refer to it
	if from.EventStream {
		to.Members = nil // operations with event streams are refused
		return name
	}
	to.Members = make(Members, len(from.Members))
	for i, m := range from.Members {
		to.Members[i] = Member{Name: m.Name, Reference: *t.reference(&m.Reference)}
	}
	to.Member, to.Key, to.Value = t.reference(from.Member), t.reference(from.Key), t.reference(from.Value)
	return name
}
