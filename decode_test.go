package pintle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
)

type everything struct {
	Text     string            `pintle:"required,length=2..5,pattern='^[a-z,]+$'"`
	Renamed  string            `json:"renamed,omitempty" pintle:"enum=a|b|c"`
	On       bool              `pintle:"default=true"`
	Port     int               `pintle:"min=1,max=65535,default=80"`
	Small    int8              ``
	Count    uint16            ``
	Ratio    float64           `pintle:"min=0,max=1"`
	Wait     time.Duration     `pintle:"default=1m30s,max=1h"`
	At       time.Time         ``
	Password Secret            `pintle:"length=4.."`
	Plain    string            `pintle:"secret"`
	Ports    []int             `pintle:"length=1..3,min=1,default='[1,2]'"`
	Labels   map[string]string `pintle:"pattern=^x"`
	Nested   struct {
		Depth *int   ``
		Mode  string `pintle:"default=fast"`
	}
	List    []struct{ Name string } ``
	Raw     json.RawMessage
	Any     any
	Bytes   []byte
	Maybe   *bool
	Ignored string `json:"-"`
	base
}

type base struct {
	Region string `pintle:"immutable"`
}

func read(t *testing.T, s string, d *decoder) everything {
	t.Helper()
	shape, err := compileObject(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	object, err := parseProperties(json.RawMessage(s), shape)
	if err != nil {
		t.Fatal(err)
	}
	var e everything
	d.object(reflect.ValueOf(&e).Elem(), shape, object, "")
	return e
}

func TestDecodeUndoesStrings(t *testing.T) {
	seven, no := 7, false
	want := everything{
		Text: "a,b", Renamed: "b", Port: 8080, Small: -128, Count: 65535, Ratio: 0.5, Wait: 90 * time.Second,
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Password: NewSecret("hunter2"), Plain: "swordfish",
		Ports: []int{3, 4, 1000}, Labels: map[string]string{"a": "x1"}, List: []struct{ Name string }{{"n"}, {"5"}},
		Raw: json.RawMessage(`{"a":["1","<"]}`), Any: map[string]any{"k": "v"}, Bytes: []byte("hi"), Maybe: &no,
		base: base{"eu"},
	}
	want.Nested.Depth, want.Nested.Mode = &seven, "slow"
	for name, text := range map[string]string{
		"strings": `{"ServiceToken":"arn:x","ServiceTimeout":"5","Text":"a,b","renamed":"b","On":"false","Port":"8080","Small":"-128",
			"Count":"65535","Ratio":"0.5","Wait":"90","At":"2026-01-02T03:04:05Z","Password":"hunter2","Plain":"swordfish",
			"Ports":["3","4.0","1e3"],"Labels":{"a":"x1"},"Nested":{"Depth":"7","Mode":"slow"},"List":[{"Name":"n"},{"Name":"5"}],
			"Raw":{"a":["1","<"]},"Any":{"k":"v"},"Bytes":"aGk=","Maybe":"False","Region":"eu"}`,
		"types": `{"Text":"a,b","renamed":"b","On":false,"Port":8080,"Small":-128,
			"Count":65535,"Ratio":5e-1,"Wait":"1m30s","At":"2026-01-02T03:04:05Z","Password":"hunter2","Plain":"swordfish",
			"Ports":[3,4,1000],"Labels":{"a":"x1"},"Nested":{"Depth":7,"Mode":"slow"},"List":[{"Name":"n"},{"Name":5}],
			"Raw":{"a":["1","<"]},"Any":{"k":"v"},"Bytes":"aGk=","Maybe":false,"Region":"eu"}`,
	} {
		d := &decoder{}
		if got := read(t, text, d); !reflect.DeepEqual(got, want) || d.problems != nil {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", name, d.problems, got, want)
		}
		if strings.Join(d.secrets, " ") != "hunter2 swordfish" {
			t.Errorf("%s: secrets %q", name, d.secrets)
		}
	}
}

func TestDecodeDefaults(t *testing.T) {
	want := everything{Text: "ab", On: true, Port: 80, Wait: 90 * time.Second, Ports: []int{1, 2}}
	want.Nested.Mode = "fast"
	d := &decoder{}
	if got := read(t, `{"Text":"ab","Nested":null,"Port":null}`, d); !reflect.DeepEqual(got, want) || d.problems != nil {
		t.Errorf("%v\ngot  %+v\nwant %+v", d.problems, got, want)
	}
}

func TestDecodeProblems(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{}`, "Text: is missing"},
		{`{"Text":"a"}`, "Text: want a text of 2 to 5 characters that matches ^[a-z,]+$"},
		{`{"Text":"HELLO"}`, "Text: want a text of 2 to 5 characters that matches ^[a-z,]+$"},
		{`{"Text":["a"]}`, "Text: want a text of 2 to 5 characters that matches ^[a-z,]+$"},
		{`{"Text":"ab","text":"x"}`, "text: is not known, did you mean Text?"},
		{`{"Text":"ab","Pasword":"x"}`, "Pasword: is not known, did you mean Password?"},
		{`{"Text":"ab","Nested":{"Mod":"x"}}`, "Nested.Mod: is not known, did you mean Mode?"},
		{`{"Text":"ab","Ignored":"x"}`, "Ignored: is not known"},
		{`{"Text":"ab","renamed":"d"}`, "renamed: want one of a, b, c"},
		{`{"Text":"ab","On":"yes"}`, "On: want true or false"},
		{`{"Text":"ab","Port":"0"}`, "Port: want a whole number from 1 to 65535"},
		{`{"Text":"ab","Port":"80.5"}`, "Port: want a whole number from 1 to 65535"},
		{`{"Text":"ab","Port":"0x50"}`, "Port: want a whole number from 1 to 65535"},
		{`{"Text":"ab","Port":""}`, "Port: want a whole number from 1 to 65535"},
		{`{"Text":"ab","Port":"1e99"}`, "Port: want a whole number from 1 to 65535"},
		{`{"Text":"ab","Small":"128"}`, "Small: want a whole number from -128 to 127"},
		{`{"Text":"ab","Count":"-1"}`, "Count: want a whole number from 0 to 65535"},
		{`{"Text":"ab","Ratio":"NaN"}`, "Ratio: want a number from 0 to 1"},
		{`{"Text":"ab","Ratio":"1.5"}`, "Ratio: want a number from 0 to 1"},
		{`{"Text":"ab","Wait":"soon"}`, "Wait: want a duration such as 90s or 1h30m, or seconds, 1h or less"},
		{`{"Text":"ab","Wait":"3601"}`, "Wait: want a duration such as 90s or 1h30m, or seconds, 1h or less"},
		{`{"Text":"ab","At":"yesterday"}`, "At: want a time such as 2006-01-02T15:04:05Z"},
		{`{"Text":"ab","Password":"abc"}`, "Password: want a text of 4 characters or more"},
		{`{"Text":"ab","Ports":[]}`, "Ports: want a list of 1 to 3 items"},
		{`{"Text":"ab","Ports":"80"}`, "Ports: want a list of 1 to 3 items"},
		{`{"Text":"ab","Ports":["1","x"]}`, "Ports[1]: want a whole number, 1 or more"},
		{`{"Text":"ab","Labels":{"k":"y"}}`, "Labels.k: want a text that matches ^x"},
		{`{"Text":"ab","Nested":"x"}`, "Nested: want an object"},
		{`{"Text":"ab","List":[{"Nam":"x"}]}`, "List[0].Nam: is not known, did you mean Name?"},
		{`{"Text":"ab","Bytes":"*"}`, "Bytes: want a text in base64"},
		{`{"Port":"x","Maybe":"x"}`, "Text: is missing; Port: want a whole number from 1 to 65535; Maybe: want true or false"},
	} {
		d := &decoder{}
		read(t, tt.text, d)
		if got := strings.Join(d.problems, "; "); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestDecodeLenient(t *testing.T) {
	d := &decoder{lenient: true}
	got := read(t, `{"Port":"0","Ports":[],"renamed":"d","ErrGone":"x"}`, d)
	if d.problems != nil || got.Port != 0 || got.Renamed != "d" || !got.On || got.Ports == nil {
		t.Errorf("%v, %+v", d.problems, got)
	}
	read(t, `{"Port":"x","On":{}}`, d)
	if want := "On: want true or false; Port: want a whole number from 1 to 65535"; strings.Join(d.problems, "; ") != want {
		t.Errorf("%v, want %s", d.problems, want)
	}
}

func TestPropertiesErrorIsBounded(t *testing.T) {
	e := &PropertiesError{Old: true}
	for n := range 25 {
		e.Problems = append(e.Problems, fmt.Sprint("p", n))
	}
	if got := e.Error(); got != "old properties: p0; p1; p2; p3; p4; p5; p6; p7; p8; p9; and 15 more" {
		t.Error(got)
	}
}

func TestCompileRefuses(t *testing.T) {
	type tree struct {
		Kids []tree
		Name string `pintle:"immutable"`
	}
	for _, tt := range []struct {
		v    any
		want string
	}{
		{0, "int is neither a struct nor json.RawMessage"},
		{time.Time{}, "time.Time reads itself"},
		{struct{ C chan int }{}, ".C: a chan int cannot be read from a property"},
		{struct{ M map[int]string }{}, "the keys of a map must be strings"},
		{struct {
			A string `pintle:"needed"`
		}{}, `"needed" is not known, want required, default=`},
		{struct {
			A string `pintle:"min=1"`
		}{}, "min and max are for numbers"},
		{struct {
			A int `pintle:"length=3"`
		}{}, "length is for texts"},
		{struct {
			A int `pintle:"pattern=^x"`
		}{}, "pattern is for texts"},
		{struct {
			A string `pintle:"pattern=("`
		}{}, "pattern: error parsing regexp"},
		{struct {
			A int `pintle:"min=5,max=1"`
		}{}, "min is 5 and max is 1"},
		{struct {
			A int `pintle:"default=0,min=1"`
		}{}, "the default of A: want a whole number, 1 or more"},
		{struct {
			A []int `pintle:"default=1"`
		}{}, "the default of A: want a list"},
		{struct {
			A int `pintle:"default=1,required"`
		}{}, "required and default exclude each other"},
		{struct {
			A string `pintle:"default"`
		}{}, `"default" needs a value`},
		{struct {
			A string `pintle:"required=yes"`
		}{}, `"required" takes no value`},
		{struct {
			A string `pintle:"help='x"`
		}{}, "the closing quote is missing"},
		{struct {
			A string `pintle:"help='x'y"`
		}{}, "a comma is missing"},
		{struct {
			A string `pintle:"length=5..1"`
		}{}, "is not a length"},
		{struct {
			A string `pintle:"required,required"`
		}{}, "required is there twice"},
		{struct {
			A string
			B string `json:"A"`
		}{}, "two fields are named A"},
		{struct{ *base }{}, "embed pintle.base itself"},
		{tree{}, "Name is immutable within a list or map"},
	} {
		if _, err := compileObject(reflect.TypeOf(tt.v)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: %v, want %s", tt.v, err, tt.want)
		}
	}
}

func TestImmutables(t *testing.T) {
	type inner struct {
		Zone string `pintle:"immutable"`
		Size int
	}
	type outer struct {
		Name  string   `pintle:"immutable"`
		Key   Secret   `pintle:"immutable"`
		List  []string `pintle:"immutable"`
		Inner inner
		Maybe *inner
	}
	s, err := compileObject(reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.immutables(reflect.ValueOf(outer{"n", NewSecret("k"), nil, inner{"z", 1}, nil}))
	want := map[string]string{"Name": `"n"`, "Key": `"k"`, "List": "null", "Inner.Zone": `"z"`}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	got, err = s.immutables(reflect.ValueOf(outer{Maybe: &inner{Zone: "y"}}))
	if err != nil || got["Maybe.Zone"] != `"y"` {
		t.Errorf("%v, %v", got, err)
	}
}

// Without secrets, clearJSON equals encoding/json.
func TestClearJSON(t *testing.T) {
	type embedded struct {
		A int
		B string `json:"b,omitempty"`
	}
	n := 3
	var nobody *embedded
	for _, v := range []any{
		nil, 1, "x<", 1.5, true, []int{1}, []int(nil), map[string]int{"b": 1, "a": 2}, map[int]string{2: "x"}, []byte("hi"),
		embedded{1, ""}, &embedded{1, "x"}, nobody, [2]bool{true, false}, time.Unix(0, 0).UTC(), time.Second, json.RawMessage(`{"z":1}`),
		struct {
			embedded
			C  *int      `json:",omitempty"`
			D  *int      `json:"d"`
			E  int       `json:",string"`
			F  time.Time `json:",omitzero"`
			G  any
			_  int
			h  int
			I  int `json:"-"`
			KK struct{ L []embedded }
		}{embedded: embedded{A: 1}, D: &n, E: 5, G: embedded{B: "y"}},
		struct {
			*embedded
			X int
		}{nil, 1},
	} {
		got, secrets, err := clearJSON(v)
		want, wantErr := json.Marshal(v)
		var a, b any
		if err != nil || wantErr != nil || json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil ||
			!reflect.DeepEqual(a, b) || secrets != nil {
			t.Errorf("%#v: %s, %v; encoding/json says %s, %v", v, got, err, want, wantErr)
		}
	}
	got, secrets, err := clearJSON(map[string]any{
		"a": NewSecret("one"), "b": []Secret{NewSecret("two")}, "c": &struct{ S *Secret }{new(Secret)}, "d": struct{ S any }{NewSecret("<")},
	})
	if err != nil || string(got) != `{"a":"one","b":["two"],"c":{"S":""},"d":{"S":"<"}}` || len(secrets) != 4 {
		t.Errorf("%s, %q, %v", got, secrets, err)
	}
	type loop struct{ Next *loop }
	l := &loop{}
	l.Next = l
	if _, _, err := clearJSON(l); !errors.Is(err, clearjson.ErrDepth) {
		t.Errorf("a value that leads to itself: %v", err)
	}
	if _, _, err := clearJSON(math.Inf(1)); err == nil {
		t.Error("infinity has no JSON")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"Text":"ab","Port":"80","Nested":{"Depth":1},"List":[{}],"Wait":"1e9","Any":[[[]]]}`, true)
	f.Add(`{"Ratio":"1e400","Small":"9223372036854775808","Count":"1e30","Ports":[null]}`, false)
	shape, err := compileObject(reflect.TypeFor[everything]())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, lenient bool) {
		object, err := parseProperties(json.RawMessage(text), shape)
		if err != nil {
			return
		}
		d := &decoder{lenient: lenient}
		var e everything
		d.object(reflect.ValueOf(&e).Elem(), shape, object, "")
		if len(d.problems) == 0 && !lenient && (e.Port < 1 || e.Wait > time.Hour || len(e.Ports) > 3) {
			t.Errorf("%s was read as %+v", text, e)
		}
	})
}

func FuzzParseTag(f *testing.F) {
	f.Add("required,default='a,b''c',min=1,max=2h,length=1..,pattern=^x,enum=a|b,immutable,secret,help=x")
	f.Fuzz(func(_ *testing.T, tag string) { _, _ = parseTag(tag) })
}
