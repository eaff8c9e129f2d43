package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/wire"
)

// vector is a file of testdata: lines "name: value", an empty line, and a document without the last line feed.
type vector struct {
	name string
	want map[string]string
	body []byte
}

func vectors(t testing.TB, dir string) []vector {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors in %s: %v", dir, err)
	}
	var all []vector
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v := vector{name: strings.TrimSuffix(filepath.Base(file), ".txt"), want: map[string]string{}}
		text = bytes.TrimSuffix(text, []byte("\n"))
		for {
			line, rest, ok := bytes.Cut(text, []byte("\n"))
			text = rest
			if len(line) == 0 || !ok {
				break
			}
			name, value, _ := strings.Cut(string(line), ": ")
			v.want[name] = value
		}
		v.body = text
		all = append(all, v)
	}
	return all
}

func TestResponseVectors(t *testing.T) {
	request := wire.Request{
		StackID:   "arn:aws:cloudformation:us-east-1:123456789012:stack/web/5f1a",
		RequestID: "r-1", LogicalResourceID: "Site",
	}
	for _, v := range vectors(t, "response") {
		t.Run(v.name, func(t *testing.T) {
			r, err := wire.ParseResponse(v.body)
			got := map[string]string{
				"status": string(r.Status), "reason": r.Reason, "id": string(r.PhysicalResourceID), "data": string(r.Data),
				"extra": strings.Join(slices.Sorted(maps.Keys(r.Extra)), " "),
			}
			if r.NoEcho {
				got["noecho"] = "true"
			}
			var refused *wire.ResponseError
			if errors.As(err, &refused) {
				got["text"] = refused.Text
				if refused.Size != len(v.body) || refused.Reason != r.Reason {
					t.Errorf("the error has size %d and reason %q, want %d and %q", refused.Size, refused.Reason, len(v.body), r.Reason)
				}
				if text := refused.Error(); !strings.HasPrefix(text, strings.TrimSuffix(refused.Text, ".")) || !strings.Contains(text, refused.Reason) {
					t.Errorf("Error() = %q, want the text first and the reason in it", text)
				}
			} else if err != nil {
				t.Fatalf("error is %T, want *ResponseError", err)
			} else {
				got["mismatches"] = strings.Join(r.Mismatches(request), " ")
			}
			for _, name := range []string{"status", "reason", "id", "data", "extra", "noecho", "text", "mismatches"} {
				if got[name] != v.want[name] {
					t.Errorf("%s:\n got %q\nwant %q", name, got[name], v.want[name])
				}
			}
			if err == nil {
				again(t, r)
			}
		})
	}
}

// again checks that a response survives encoding and decoding.
func again(t *testing.T, r wire.Response) {
	t.Helper()
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > wire.MaxResponse { // a lone escape can become U+FFFD
		return
	}
	back, err := r.Dialect.ParseResponse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text2, err := back.Encode()
	if err != nil || !bytes.Equal(text, text2) {
		t.Errorf("changed on the way: %v\n%s\n%s", err, text, text2)
	}
}

func TestRequestVectors(t *testing.T) {
	for _, v := range vectors(t, "request") {
		t.Run(v.name, func(t *testing.T) {
			r, err := wire.ParseRequest(v.body)
			if want, bad := v.want["problem"]; bad {
				if err == nil || err.Error() != "request is not valid: "+want {
					t.Fatalf("error:\n got %v\nwant %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := r.Encode()
			if err != nil || !bytes.Equal(text, v.body) {
				t.Errorf("changed on the way: %v\n got %s\nwant %s", err, text, v.body)
			}
			var back wire.Request
			if err := json.Unmarshal(text, &back); err != nil {
				t.Errorf("by encoding/json: %v", err)
			}
		})
	}
}

func TestParseRequestReturnsWhatItRead(t *testing.T) {
	r, err := wire.ParseRequest([]byte(`{"RequestType":"Move","ResponseURL":"http://h/?X-Amz-Signature=abc","StackId":"s","RequestId":"r"}`))
	if err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("error = %v", err)
	}
	if r.ResponseURL == "" || r.StackID != "s" || r.RequestID != "r" {
		t.Errorf("lost what was readable: %v", r)
	}
	if _, err := wire.ParseRequest(make([]byte, wire.MaxRequest+1)); err == nil || !strings.Contains(err.Error(), "262144 are allowed") {
		t.Errorf("too long: error = %v", err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		encode func() ([]byte, error)
		want   string
	}{
		{"data that is not JSON", wire.Response{Data: json.RawMessage(`{`)}.Encode, "Data"},
		{"an extra field of the response", wire.Response{Extra: map[string]json.RawMessage{"Status": json.RawMessage(`1`)}}.Encode, "Status"},
		{"an extra field of the request", wire.Request{Extra: map[string]json.RawMessage{"StackId": json.RawMessage(`1`)}}.Encode, "StackId"},
	} {
		if text, err := tt.encode(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %s, %v", tt.name, text, err)
		}
	}
}

// Tests the documents as fields of other values, with encoding/json.
func TestMarshal(t *testing.T) {
	type exchange struct {
		Request  wire.Request
		Response wire.Response
	}
	in := exchange{
		wire.Request{RequestType: wire.Delete, ResponseURL: "http://h/k?a=1&b=2", StackID: "s", RequestID: "r",
			LogicalResourceID: "Site", PhysicalResourceID: "site-1", ResourceProperties: json.RawMessage(`{"n":1.0}`)},
		wire.Response{Status: wire.Failed, Reason: "a<b", PhysicalResourceID: "site-1", StackID: "s", RequestID: "r",
			LogicalResourceID: "Site", NoEcho: true},
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out exchange
	if err := json.Unmarshal(text, &out); err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("%v\n got %#v\nwant %#v\nby %s", err, out, in, text)
	}
	for _, bad := range []string{`{"Request":{}}`, `{"Response":{}}`} {
		if err := json.Unmarshal([]byte(bad), &out); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}

// Providers in other languages send byte order marks and invalid UTF-8.
func TestParseResponseForeignBytes(t *testing.T) {
	r, err := wire.ParseResponse([]byte("\uFEFF{\"Status\":\"FAILED\",\"Reason\":\"gr\xfc\xdfe\",\"PhysicalResourceId\":\"a\"}"))
	if err != nil || r.Reason != "gr\uFFFDe" {
		t.Errorf("%v, %v", r, err)
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, v := range vectors(f, "request") {
		f.Add(v.body)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := wire.ParseRequest(text)
		if err != nil {
			return
		}
		once, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if len(once) > wire.MaxRequest {
			return
		}
		back, err := wire.ParseRequest(once)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := back.Encode()
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("changed on the way: %v\n%s\n%s", err, once, twice)
		}
	})
}

func FuzzParseResponse(f *testing.F) {
	for _, v := range vectors(f, "response") {
		f.Add(v.body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := wire.ParseResponse(body)
		if err != nil {
			var refused *wire.ResponseError
			if !errors.As(err, &refused) || refused.Text == "" {
				t.Fatalf("error is %#v", err)
			}
			return
		}
		if r.PhysicalResourceID == "" || !r.Status.Valid() || len(body) > wire.MaxResponse || r.Reason != wire.CleanText(r.Reason) {
			t.Errorf("accepted %q", body)
		}
		again(t, r)
	})
}
