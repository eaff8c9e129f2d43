package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/rpc"
)

type head struct {
	RegionID string `rpc:"RegionId,required"`
}

type input struct {
	head
	StackName string `rpc:",required" length:",5" pattern:"[a-z]*"`
	Minutes   int    `range:"10,1440"`
	Pages     *int   `range:"1,"`
	Deep      bool
	On        *bool
	Mode      string  `enum:"A,B"`
	Text      *string `length:",3"`
	Tags      []struct {
		Key   string  `rpc:",required"`
		Value *string `length:",3"`
	} `length:",2"`
	Names []string `enum:"x,y"`
	Inner struct{ A string }
}

func service(t *testing.T, fn func(context.Context, input) (any, error)) *rpc.Service {
	t.Helper()
	s, err := rpc.New(rpc.Config{Name: "ros", Version: "v", Errors: func(err error) *rpc.Error {
		if err.Error() == "known" {
			return &rpc.Error{Code: "Known", Message: "It is.", Status: 409}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	rpc.Handle(s, "Do", func(ctx context.Context, in input) (struct{ Out any }, error) {
		out, err := fn(ctx, in)
		return struct{ Out any }{out}, err
	})
	rpc.Handle(s, "Nothing", func(context.Context, rpc.None) (rpc.None, error) { return rpc.None{}, nil })
	return s
}

func call(s *rpc.Service, action, parameters string) (int, map[string]any) {
	values, err := url.ParseQuery(parameters)
	if err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	s.Serve(w, httptest.NewRequest("GET", "http://ros.test/", nil), &rpc.Call{Action: action, Version: "v", Format: values.Get("Format"), Parameters: values})
	var reply map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
		panic(err.Error() + ": " + w.Body.String())
	}
	return w.Code, reply
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ parameters, want string }{
		{"RegionId=r&StackName=abc", ""},
		{"RegionId=r&StackName=abc&Unknown=1&Tags.1.Key=k&Tags.1.Value=&Tags.4.Key=l&Names.1=x&Names.2=&Inner.A=b&Minutes=10&Deep=True&On=false", ""},
		{"", "MissingParameter: The input parameter RegionId should be specified. The input parameter StackName should be specified."},
		{"RegionId=r&StackName=", "MissingParameter: The input parameter StackName should be specified."},
		{"RegionId=r&StackName=abcdef", "InvalidParameter: The specified parameter StackName is invalid, it must have at most 5 characters."},
		{"RegionId=r&StackName=A", "InvalidParameter: The specified parameter StackName is invalid, it must match the regular expression [a-z]*."},
		{"RegionId=r&StackName=a&Minutes=9", "InvalidParameter: The specified parameter Minutes is invalid, it must be a whole number from 10 to 1440."},
		{"RegionId=r&StackName=a&Minutes=1e9", "InvalidParameter: The specified parameter Minutes is invalid, it must be a whole number from 10 to 1440."},
		{"RegionId=r&StackName=a&Pages=0", "InvalidParameter: The specified parameter Pages is invalid, it must be a whole number at least 1."},
		{"RegionId=r&StackName=a&Deep=yes", "InvalidParameter: The specified parameter Deep is invalid, it must be true or false."},
		{"RegionId=r&StackName=a&Mode=C", "InvalidParameter: The specified parameter Mode is invalid, it must be A or B."},
		{"RegionId=r&StackName=a&Names.1=z", "InvalidParameter: The specified parameter Names.1 is invalid, it must be x or y."},
		{"RegionId=r&StackName=a&Names.01=x", "InvalidParameter: The specified parameter Names is invalid, its items are Names.1, Names.2 and so on."},
		{"RegionId=r&StackName=a&Tags.1.Value=x", "MissingParameter: The input parameter Tags.1.Key should be specified."},
		{"RegionId=r&StackName=a&Tags.1.Key=a&Tags.2.Key=b&Tags.3.Key=c", "InvalidParameter: The specified parameter Tags is invalid, it must have at most 2 items."},
		{"RegionId=r&StackName=a&Text=abcd", "InvalidParameter: The specified parameter Text is invalid, it must have at most 3 characters."},
	} {
		var in input
		s := service(t, func(_ context.Context, given input) (any, error) { in = given; return 1, nil })
		status, reply := call(s, "Do", c.parameters)
		got := ""
		if status != 200 {
			got = reply["Code"].(string) + ": " + reply["Message"].(string)
		}
		if got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.parameters, got, c.want)
		}
		if strings.Contains(c.parameters, "Unknown") {
			empty, off := "", false
			want := input{head: head{"r"}, StackName: "abc", Minutes: 10, Deep: true, On: &off, Names: []string{"x"}}
			want.Tags = append(want.Tags, struct {
				Key   string  `rpc:",required"`
				Value *string `length:",3"`
			}{"k", &empty}, struct {
				Key   string  `rpc:",required"`
				Value *string `length:",3"`
			}{"l", nil})
			want.Inner.A = "b"
			if diff := cmp.Diff(want, in, cmp.AllowUnexported(input{})); diff != "" {
				t.Error(diff)
			}
		}
	}
}

var uuid = regexp.MustCompile(`^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$`)

func TestReply(t *testing.T) {
	s := service(t, func(_ context.Context, in input) (any, error) {
		switch in.StackName {
		case "known":
			return nil, errors.New("known")
		case "told":
			return nil, rpc.Missing("One of A and B", "or C")
		case "fault":
			return nil, errors.New("the password is hunter2")
		case "panic":
			panic("hunter2")
		}
		return "<a&b>", nil
	})
	for _, c := range []struct {
		action, parameters string
		status             int
		want               map[string]any
	}{
		{"Do", "RegionId=r&StackName=a", 200, map[string]any{"Out": "<a&b>"}},
		{"Do", "RegionId=r&StackName=a&Format=json", 200, map[string]any{"Out": "<a&b>"}},
		{"Nothing", "", 200, map[string]any{}},
		{"Do", "RegionId=r&StackName=known", 409, map[string]any{"Code": "Known", "Message": "It is.", "HostId": "ros.test"}},
		{"Do", "RegionId=r&StackName=told", 400, map[string]any{
			"Code": "MissingParameter", "Message": "The input parameter One of A and B should be specified, or C.", "HostId": "ros.test"}},
		{"Do", "RegionId=r&StackName=fault", 500, map[string]any{"Code": "InternalError", "Message": "Server error.", "HostId": "ros.test"}},
		{"Do", "RegionId=r&StackName=panic", 500, map[string]any{"Code": "InternalError", "Message": "Server error.", "HostId": "ros.test"}},
		{"Nothing", "Format=XML", 400, map[string]any{"Code": "InvalidParameter", "HostId": "ros.test",
			"Message": "The specified parameter Format is invalid, replies are always JSON: omit it or use JSON."}},
		{"Undo", "", 404, map[string]any{"Code": "InvalidAction.NotFound", "HostId": "ros.test",
			"Message": "Specified api is not found, please check your url and method."}},
	} {
		status, reply := call(s, c.action, c.parameters)
		id, _ := reply["RequestId"].(string)
		if !uuid.MatchString(id) {
			t.Errorf("RequestId %q", id)
		}
		if recommend, _ := reply["Recommend"].(string); status != 200 && recommend == "" {
			t.Error("nothing is recommended")
		}
		delete(reply, "RequestId")
		delete(reply, "Recommend")
		if diff := cmp.Diff(c.want, reply); diff != "" || status != c.status {
			t.Errorf("%s %s: %d\n%s", c.action, c.parameters, status, diff)
		}
	}
}

// TestHandleRefusesCode checks that an output must not have a member Code, because clients treat it as an error.
func TestHandleRefusesCode(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an output with a Code was taken")
		}
	}()
	rpc.Handle(service(t, nil), "Coded", func(context.Context, rpc.None) (struct{ Code string }, error) {
		return struct{ Code string }{}, nil
	})
}

// FuzzDecode decodes arbitrary parameters. The result must satisfy the tags.
func FuzzDecode(f *testing.F) {
	f.Add("RegionId=r&StackName=abc&Minutes=10&Tags.1.Key=k&Names.2=x&Inner.A=b")
	f.Add("Tags.1=x&Tags.0.Key=y&Names.-1=x&Names.99999999999999999999=x&Tags.1.Key.Key=z")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		s := service(t, func(_ context.Context, in input) (any, error) {
			if in.RegionID == "" || len(in.StackName) > 5 || in.Minutes != 0 && in.Minutes < 10 || len(in.Tags) > 2 {
				t.Errorf("%+v", in)
			}
			return nil, nil
		})
		s.Serve(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), &rpc.Call{Action: "Do", Version: "v", Parameters: values})
	})
}
