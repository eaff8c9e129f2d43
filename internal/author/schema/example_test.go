package schema_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/author/schema"
)

func TestExample(t *testing.T) {
	d, err := schema.Parse([]byte(`{"resourceTypes": {"Custom::T": {"properties": {
		"type": "object", "additionalProperties": false, "required": ["Name", "Size", "Zone", "Tags", "Inner", "When", "On", "Key"],
		"$defs": {"inner": {"type": "object", "required": ["A"], "properties": {"A": {"type": "string", "minLength": 12}}}},
		"properties": {
			"Name": {"type": "string", "pattern": "^[a-z0-9-]+$", "maxLength": 20}, "Size": {"type": "integer", "minimum": 3, "maximum": 9},
			"Zone": {"enum": ["b", "a"]}, "Tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
			"Inner": {"$ref": "#/$defs/inner"}, "When": {"type": "string", "format": "date-time"}, "On": {"type": "boolean"},
			"Key": {"type": "string", "writeOnly": true}, "Free": {"type": "string"}
		}}}, "Custom::Named": {"properties": {"required": ["Name"], "properties": {"Name": {"type": "string", "pattern": "^x$"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := d.Type("Custom::T").Properties
	for n, want := range map[int]string{
		0: `{"Name":"example","Size":3,"Zone":"b","Tags":["example","example"],"Inner":{"A":"examplexxxxx"},"When":"2030-01-01T00:00:00Z","On":false,"Key":"hidden-Phrase-1"}`,
		1: `{"Name":"example-1","Size":3,"Zone":"b","Tags":["example-1","example-1"],"Inner":{"A":"example-1xxx"},"When":"2030-01-01T00:00:01Z","On":false,"Key":"hidden-Phrase-2"}`,
	} {
		if got := string(s.Example(n).JSON()); got != want {
			t.Errorf("example %d is\n%s, want\n%s", n, got, want)
		}
	}
	varied, ok := s.Vary(s.Example(0))
	if free, has := varied.Get("Free"); !ok || !has || free.Text() == "" {
		t.Errorf("varied: %s, %v", varied.JSON(), ok)
	}
	named := d.Type("Custom::Named").Properties
	if v, ok := named.Vary(named.Example(0)); ok {
		t.Errorf("nothing else fits, and there is %s", v.JSON())
	}
}

// TestExampleBounds checks that making an example is bounded, because a schema is untrusted input.
func TestExampleBounds(t *testing.T) {
	d, err := schema.Parse([]byte(`{"resourceTypes": {
		"Custom::T": {"properties": {
			"type": "object", "required": ["Many", "Long", "Deep"],
			"$defs": {"deep": {"type": "array", "minItems": 1000000000, "items": {"$ref": "#/$defs/deep"}}},
			"properties": {
				"Many": {"type": "array", "minItems": 1000000000, "items": {"type": "string", "minLength": 1000}},
				"Long": {"type": "string", "minLength": 1000000000}, "Deep": {"$ref": "#/$defs/deep"}}}},
		"Custom::Numbers": {"properties": {
			"type": "object", "required": ["Whole", "None"],
			"properties": {
				"Whole": {"type": "integer", "minimum": 1.5, "maximum": 9}, "None": {"type": "integer", "minimum": -5, "maximum": -1.5},
				"Inner": {"properties": {"A": {"type": "string"}}}}}},
		"Custom::Wide": {"properties": {
			"type": "object", "required": ["A", "B", "C", "D", "E", "F", "G", "H"],
			"properties": {"A": {"$ref": "#"}, "B": {"$ref": "#"}, "C": {"$ref": "#"}, "D": {"$ref": "#"}, "E": {"$ref": "#"},
				"F": {"$ref": "#"}, "G": {"$ref": "#"}, "H": {"$ref": "#"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range d.Names() {
		if size := len(d.Type(name).Properties.Example(0).JSON()); size > 2<<20 {
			t.Errorf("the example of %s has %d bytes", name, size)
		}
	}
	s := d.Type("Custom::Numbers").Properties
	example := s.Example(0)
	for name, want := range map[string]string{"Whole": "2", "None": "-2"} {
		if v, _ := example.Get(name); v.Text() != want {
			t.Errorf("%s is %s, want %s", name, v.JSON(), want)
		}
	}
	varied, ok := s.Vary(example)
	if v, _ := varied.Get("Whole"); !ok || v.Text() != "3" {
		t.Errorf("varied: %v, Whole %s", ok, v.JSON())
	}
}
