package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

func TestParseServiceTimeout(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		want time.Duration // zero: an error
	}{
		{"", time.Hour}, {"null", time.Hour}, {"1", time.Second}, {"3600", time.Hour}, {`"120"`, 2 * time.Minute},
		{" 5 ", 5 * time.Second}, {"0", 0}, {"3601", 0}, {"-1", 0}, {"1.5", 0}, {"1e2", 0}, {`"+5"`, 0}, {`""`, 0}, {`"5s"`, 0},
		{"true", 0}, {"[5]", 0}, {`{"a":1}`, 0}, {`"`, 0}, {"99999999999999999999", 0},
	} {
		got, err := wire.ParseServiceTimeout(json.RawMessage(tt.raw))
		if got != tt.want || (err == nil) != (tt.want != 0) {
			t.Errorf("ParseServiceTimeout(%s) = %v, %v; want %v", tt.raw, got, err, tt.want)
		}
		if err != nil && !strings.Contains(err.Error(), "ServiceTimeout") {
			t.Errorf("ParseServiceTimeout(%s): the error does not name the property: %v", tt.raw, err)
		}
	}
}

func TestCheckResourceType(t *testing.T) {
	for _, tt := range []struct{ name, problem string }{
		{"AWS::CloudFormation::CustomResource", ""},
		{"Custom::Site", ""},
		{"Custom::a_B@1-2", ""},
		{"Custom::" + strings.Repeat("x", 52), ""},
		{"Custom::" + strings.Repeat("x", 53), "61 characters long"},
		{"Custom::", "no name"},
		{"Custom::A::B", `got ':'`},
		{"Custom::Ä", `got 'Ä'`},
		{"custom::Site", "begin with"},
		{"AWS::S3::Bucket", "begin with"},
		{"", "begin with"},
	} {
		err := wire.CheckResourceType(tt.name)
		if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("CheckResourceType(%q) = %v, want %q", tt.name, err, tt.problem)
		}
	}
}

func TestStringify(t *testing.T) {
	in := `{"z":10000000,"a":[true,1.0,1e7,null,"x",{}],"m":{"n":-0}}`
	want := `{"z":"10000000","a":["true","1.0","1e7",null,"x",{}],"m":{"n":"-0"}}`
	got, err := wire.Stringify(json.RawMessage(in))
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := wire.Stringify(json.RawMessage(`{"a":`)); err == nil {
		t.Error("no error for half an object")
	}
}

func FuzzStringify(f *testing.F) {
	f.Add([]byte(`{"z":10000000,"a":[true,1.0,1e7,null,"x",{}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := wire.Stringify(raw)
		if err != nil {
			return
		}
		twice, err := wire.Stringify(once)
		if err != nil || string(once) != string(twice) {
			t.Errorf("%s, then %s, %v", once, twice, err)
		}
	})
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{(&wire.ResponseError{Text: wire.TextTooLong, Reason: "why", Size: 5000}).Error(),
			"Response object is too long. The response has 5000 bytes, 4096 are allowed. The provider's reason: why"},
		{(&wire.ResponseError{Text: wire.TextInvalidPhysicalID, Detail: "It is empty", Size: 50}).Error(),
			"Invalid PhysicalResourceId. It is empty. The response has 50 bytes."},
	} {
		if tt.got != tt.want {
			t.Errorf("\n got %s\nwant %s", tt.got, tt.want)
		}
	}
}
