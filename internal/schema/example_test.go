package schema_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/schema"
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
		0: `{"Name":"example","Size":3,"Zone":"b","Tags":["example","example"],"Inner":{"A":"examplexxxxx"},"When":"2030-01-01T00:00:00Z","On":false,"Key":"example"}`,
		1: `{"Name":"example-1","Size":3,"Zone":"b","Tags":["example-1","example-1"],"Inner":{"A":"example-1xxx"},"When":"2030-01-01T00:00:01Z","On":false,"Key":"example-1"}`,
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
