package shape_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall/internal/shape"
	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
)

// everything returns the operation of a model with a member of every type, in the given protocol.
func everything(t testing.TB, protocol string) *shape.Operation {
	t.Helper()
	m, err := model.Parse([]byte(`{"metadata":{"serviceId":"Every","protocol":"` + protocol + `","targetPrefix":"E","apiVersion":"1"},
		"operations":{"Do":{"http":{"method":"POST","requestUri":"/do"},"input":{"shape":"All","locationName":"All"},"output":{"shape":"All"}}},
		"shapes":{"All":{"type":"structure","members":{"S":{"shape":"S"},"B":{"shape":"B"},"Yes":{"shape":"Yes"},"I":{"shape":"I"},"L":{"shape":"L"},"F":{"shape":"F"},"D":{"shape":"D"},
			"T":{"shape":"T"},"Iso":{"shape":"Iso"},"List":{"shape":"List"},"Holes":{"shape":"Holes"},"Map":{"shape":"Map"},"More":{"shape":"All"},"One":{"shape":"One"},"Tok":{"shape":"S","idempotencyToken":true}` +
		map[bool]string{true: `,"Doc":{"shape":"Doc"}`}[strings.HasSuffix(protocol, "json")] + `}},
		"S":{"type":"string"},"B":{"type":"blob"},"Yes":{"type":"boolean"},"I":{"type":"integer"},"L":{"type":"long"},"F":{"type":"float"},"D":{"type":"double"},"T":{"type":"timestamp"},
		"Iso":{"type":"timestamp","timestampFormat":"iso8601"},"List":{"type":"list","member":{"shape":"S"}},"Holes":{"type":"list","sparse":true,"member":{"shape":"I"}},
		"Map":{"type":"map","key":{"shape":"S"},"value":{"shape":"All"}},"One":{"type":"structure","union":true,"members":{"A":{"shape":"S"},"B":{"shape":"I"}}},
		"Doc":{"type":"structure","document":true,"members":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := shape.New(m)
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Operation("Do")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func strict(path string, _ []string) error { return errors.New("unknown: " + path) }

func TestCoerce(t *testing.T) {
	o := everything(t, "json")
	type m = map[string]any
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name   string
		params m
		want   string // the body, without the token; or the error
	}{
		{"text of numbers", m{"S": json.Number("1.50")}, `{"S":"1.50"}`},
		{"text of a boolean", m{"S": true}, `{"S":"true"}`},
		{"text of a float", m{"S": 1e21}, `{"S":"1e+21"}`},
		{"bytes of text", m{"B": "é"}, `{"B":"w6k="}`},
		{"bytes", m{"B": []byte{0, 255}}, `{"B":"AP8="}`},
		{"a boolean of text", m{"Yes": "True"}, `{"Yes":true}`},
		{"no boolean", m{"Yes": "1"}, "parameter Yes: it has to be a boolean, and is text that does not read so"},
		{"an integer of text", m{"I": "42", "L": json.Number("9223372036854775807")}, `{"I":42,"L":9223372036854775807}`},
		{"an integer with a point", m{"I": 3.0, "L": "1e3"}, `{"I":3,"L":1000}`},
		{"no integer", m{"I": "1.5"}, "parameter I: it has to be a whole number, and is text that does not read so or does not fit 32 bits"},
		{"too large", m{"I": 1 << 31}, "parameter I: it has to be a whole number, and is a number that does not fit or does not fit 32 bits"},
		{"too large for all", m{"L": 9.3e18}, "parameter L: it has to be a whole number, and is a number that does not fit or does not fit 64 bits"},
		{"boolean instead of a number", m{"D": true}, "parameter D: it has to be a number, and is a boolean"},
		{"floats", m{"F": "0.5", "D": math.Inf(1)}, `{"F":0.5,"D":"Infinity"}`},
		{"times", m{"T": "2026-01-02T03:04:05Z", "Iso": at}, `{"T":1767323045,"Iso":"2026-01-02T03:04:05Z"}`},
		{"a time of milliseconds", m{"T": 1767323045000}, `{"T":1767323045}`},
		{"a day", m{"Iso": "2026-01-02"}, `{"Iso":"2026-01-02T00:00:00Z"}`},
		{"no time", m{"T": "tomorrow"}, "parameter T: it has to be a time, and is text that does not read so; write it as 2006-01-02T15:04:05Z, or as milliseconds since 1970"},
		{"lists", m{"List": []string{"a"}, "Holes": []any{1, nil, "2"}}, `{"List":["a"],"Holes":[1,null,2]}`},
		{"nulls", m{"S": nil, "List": []any{nil, "a"}, "Map": m{"k": nil}}, `{"List":["a"],"Map":{}}`},
		{"no list", m{"List": "a"}, "parameter List: it has to be a list, and is text that does not read so"},
		{"maps", m{"Map": m{"b": m{"I": 1}, "a": m{}}}, `{"Map":{"a":{"Tok":""},"b":{"I":1}}}`},
		{"a place", m{"Map": m{"k": m{"More": m{"Holes": []any{1, m{}}}}}}, "parameter Map.k.More.Holes[1]: it has to be a whole number, and is an object or does not fit 32 bits"},
		{"a union", m{"One": m{"B": "1"}}, `{"One":{"B":1}}`},
		{"two of a union", m{"One": m{"A": "a", "B": 1}}, "parameter One: only one of its members may be given"},
		{"a document", m{"Doc": m{"a": []any{json.Number("1.0"), nil}}}, `{"Doc":{"a":[1.0,null]}}`},
		{"unknown", m{"More": m{"Sss": 1}}, "unknown: More.Sss"},
	}
	for _, test := range tests {
		in, err := o.Coerce(test.params, strict, func() string { return "" })
		if err != nil {
			if err.Error() != test.want {
				t.Errorf("%s: %v\nwant %s", test.name, err, test.want)
			}
			continue
		}
		r, err := o.Request(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		body := strings.NewReplacer(`,"Tok":""`, "", `"Tok":"",`, "").Replace(string(r.Body))
		if body != test.want {
			t.Errorf("%s: %s\nwant %s", test.name, body, test.want)
		}
	}
	deep := m{}
	for range 300 {
		deep = m{"More": deep}
	}
	if _, err := o.Coerce(deep, strict, func() string { return "" }); err == nil || !strings.Contains(err.Error(), "nested more than 200 deep") {
		t.Errorf("too deep: %v", err)
	}
}

func TestResponse(t *testing.T) {
	o := everything(t, "json")
	got, err := o.Response(t.Context(), &http.Response{StatusCode: 200, Header: http.Header{}}, []byte(
		`{"S":"s","B":"w6k=","Yes":true,"I":1,"L":2,"F":0.5,"D":1.5,"T":1.25,"Iso":"2026-01-02T03:04:05Z","List":["a",null],"Holes":[1,null],"Map":{"k":{"S":null}},"One":{"A":"a"},"Doc":{"a":[1,"x",null,true]},"Else":{}}`))
	want := map[string]any{"S": "s", "B": []byte("é"), "Yes": true, "I": int64(1), "L": int64(2), "F": 0.5, "D": 1.5, "T": time.UnixMilli(1250).UTC(),
		"Iso": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "List": []any{"a", nil}, "Holes": []any{int64(1), nil}, "Map": map[string]any{"k": map[string]any{}}, "One": map[string]any{"A": "a"},
		"Doc": map[string]any{"a": []any{json.Number("1"), "x", nil, true}}}
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := o.Response(t.Context(), &http.Response{StatusCode: 200, Header: http.Header{}}, []byte(`{"I":"secret"}`)); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// No response makes the reader panic, or appears in its errors.
func FuzzResponse(f *testing.F) {
	f.Add(200, `{"S":"s","List":["a",null],"Map":{"k":{"S":null}},"T":1,"Doc":{"a":[1]}}`)
	f.Add(400, `{"__type":"a#B:c","message":"m"}`)
	f.Add(200, `<DoResponse><DoResult><S>s</S><List><member>a</member></List><Map><entry><key>k</key><value><I>1</I></value></entry></Map><One><A>a</A></One></DoResult></DoResponse>`)
	f.Add(500, `<ErrorResponse><Error><Code>C</Code><Message>m</Message></Error></ErrorResponse>`)
	f.Add(200, "\xa2aSas\x61I\x01")
	var operations []*shape.Operation
	for _, protocol := range []string{"json", "rest-json", "rest-xml", "query", "ec2", "smithy-rpc-v2-cbor"} {
		operations = append(operations, everything(f, protocol))
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		for _, o := range operations {
			v, err := o.Response(t.Context(), &http.Response{StatusCode: status, Header: http.Header{}}, []byte(body))
			if (v == nil) == (err == nil) {
				t.Errorf("%v, %v", v, err)
			}
		}
	})
}

// FuzzCoerce checks that every value that can be coerced can be encoded.
func FuzzCoerce(f *testing.F) {
	f.Add(`{"S":1,"B":"b","Yes":"true","I":"1","T":"2026-01-01","List":[1,null],"Holes":[null],"Map":{"a":{}},"More":{"More":{}},"One":{"A":1}}`)
	f.Add(`{"D":"NaN","F":1e400,"T":-1e15,"L":1e18}`)
	var operations []*shape.Operation
	for _, protocol := range []string{"json", "rest-json", "rest-xml", "query", "ec2", "smithy-rpc-v2-cbor"} {
		operations = append(operations, everything(f, protocol))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var params map[string]any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&params) != nil {
			return
		}
		for _, o := range operations {
			in, err := o.Coerce(params, func(string, []string) error { return nil }, func() string { return "t" })
			if err != nil {
				continue
			}
			if _, err := o.Request(t.Context(), in); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}
