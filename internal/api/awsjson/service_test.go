package awsjson_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/awsjson"
)

type input struct {
	Name  string
	Count int
}

func newService(t *testing.T, log *strings.Builder) *awsjson.Service {
	t.Helper()
	s, err := awsjson.New(awsjson.Config{
		Name: "things", Target: "Things_1", Version: "1.0", Endpoint: "AWS_ENDPOINT_URL_THINGS", MaxBody: 100, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	awsjson.Handle(s, "Get", func(_ context.Context, in input) (map[string]string, error) {
		switch in.Name {
		case "none":
			return nil, awsjson.Refuse("NotFound", "there is no %s", in.Name)
		case "status":
			return nil, &awsjson.Error{Code: "Busy", Status: http.StatusServiceUnavailable}
		case "fails":
			return nil, errors.New("the disk is full")
		}
		return map[string]string{"Got": in.Name}, nil
	})
	awsjson.Handle(s, "Drop", func(context.Context, awsjson.None) (none awsjson.None, err error) { return none, nil })
	return s
}

func TestService(t *testing.T) {
	for name, test := range map[string]struct {
		method, target, body string
		status               int
		want                 string
	}{
		"good":            {http.MethodPost, "Things_1.Get", `{"Name": "a", "Other": 1}`, 200, `{"Got":"a"}`},
		"nothing":         {http.MethodPost, "Things_1.Drop", `{}`, 200, `{}`},
		"refused":         {http.MethodPost, "Things_1.Get", `{"Name": "none"}`, 400, `{"__type":"NotFound","message":"there is no none"}`},
		"status":          {http.MethodPost, "Things_1.Get", `{"Name": "status"}`, 503, `{"__type":"Busy","message":""}`},
		"internal":        {http.MethodPost, "Things_1.Get", `{"Name": "fails"}`, 500, `{"__type":"InternalServerError","message":"An internal error occurred."}`},
		"no JSON":         {http.MethodPost, "Things_1.Get", `{`, 400, `{"__type":"SerializationException","message":"the body is not JSON"}`},
		"another kind":    {http.MethodPost, "Things_1.Get", `{"Count": "a"}`, 400, `{"__type":"SerializationException","message":"Count can not be a string"}`},
		"too long":        {http.MethodPost, "Things_1.Get", `{"Name": "` + strings.Repeat("a", 100) + `"}`, 413, `{"__type":"RequestEntityTooLarge","message":"A body has 100 bytes at most."}`},
		"GET":             {http.MethodGet, "Things_1.Get", ``, 400, `{"__type":"UnknownOperationException","message":"A call is a POST with the header X-Amz-Target: Things_1.ACTION."}`},
		"another target":  {http.MethodPost, "Things_2.Get", ``, 400, `{"__type":"UnknownOperationException","message":"A call is a POST with the header X-Amz-Target: Things_1.ACTION."}`},
		"another action":  {http.MethodPost, "Things_1.Put", ``, 400, `{"__type":"UnknownOperationException","message":"This version of Pintle answers Drop and Get, not \"Put\". Set AWS_ENDPOINT_URL_THINGS to the address of a server that does."}`},
		"an empty action": {http.MethodPost, "Things_1.", ``, 400, `{"__type":"UnknownOperationException","message":"This version of Pintle answers Drop and Get, not \"\". Set AWS_ENDPOINT_URL_THINGS to the address of a server that does."}`},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			r := httptest.NewRequest(test.method, "/", strings.NewReader(test.body))
			r.Header.Set("X-Amz-Target", test.target)
			w := httptest.NewRecorder()
			newService(t, &log).ServeHTTP(w, r)
			if w.Code != test.status || w.Body.String() != test.want || w.Header().Get("Content-Type") != "application/x-amz-json-1.0" || w.Header().Get("X-Amzn-RequestId") == "" {
				t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
			}
			if logged := strings.Contains(log.String(), "the disk is full"); logged != (test.status == 500) {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

func TestNew(t *testing.T) {
	if _, err := awsjson.New(awsjson.Config{Name: "things"}); err == nil {
		t.Error("no error")
	}
	defer func() {
		if recover() == nil {
			t.Error("an action is registered twice")
		}
	}()
	s := newService(t, &strings.Builder{})
	awsjson.Handle(s, "Get", func(context.Context, input) (input, error) { return input{}, nil })
}

// FuzzBody checks that no body makes the service panic.
func FuzzBody(f *testing.F) {
	f.Add(`{"Name": "a", "Count": 1e400}`)
	f.Add("[]")
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("X-Amz-Target", "Things_1.Get")
		w := httptest.NewRecorder()
		newService(t, &strings.Builder{}).ServeHTTP(w, r)
		if w.Code == 0 || w.Body.Len() == 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
