package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// takesROS enables response URLs of ROS on a world's server.
func takesROS(change func(*server.ROSAnswers)) func(*world, *server.Config) {
	return func(w *world, c *server.Config) {
		signer, err := responseurl.NewROSSigner([]byte("correct horse battery staple"))
		w.must(err)
		c.ROS.Signer = signer
		if change != nil {
			change(&c.ROS)
		}
	}
}

func (w *world) rosURL(r store.Request, at time.Time) string {
	w.t.Helper()
	signer, err := responseurl.NewROSSigner([]byte("correct horse battery staple"))
	w.must(err)
	base, err := url.Parse(w.url + "/" + server.ROSResponsePath)
	w.must(err)
	signed, err := signer.Sign(base, responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}, "s", at, time.Hour)
	w.must(err)
	return signed
}

const rosAccount = "0000111122223333"

// createROS starts the creation of a ROS stack.
func (w *world) createROS(name, template string) engine.Ref {
	w.t.Helper()
	started, err := w.engine.Create(w.t.Context(), engine.CreateStack{
		Name: store.StackName{Account: rosAccount, Region: "cn-hangzhou", Name: name}, Template: template, Dialect: engine.ROS,
		Options: engine.Options{Caller: "987654321"},
	})
	w.must(err)
	return engine.Ref{Account: rosAccount, Region: "cn-hangzhou", Stack: string(started.StackID), ByID: true}
}

func rosTemplate(token, more string) string {
	return `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"R": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token +
		`", "Timeout": 60, "Parameters": {"X": 1, "Y": true}` + more + `}}}, "Outputs": {"Z": {"Value": {"Fn::GetAtt": ["R", "z"]}}}}`
}

// statusROS returns the status of a ROS stack in the store.
func (w *world) statusROS(name string) string {
	w.t.Helper()
	stack, err := w.engine.Find(w.t.Context(), engine.Ref{Account: rosAccount, Region: "cn-hangzhou", Stack: name})
	w.must(err)
	return engine.ROS.StackStatus(stack.Kind, stack.Phase)
}

// paddedROS returns an answer of at least size bytes.
func paddedROS(r store.Request, size int) string {
	body := fmt.Sprintf(`{"Status": "SUCCESS", "StackId": %q, "RequestId": %q, "LogicalResourceId": %q, "PhysicalResourceId": "x", "Data": {"z": 1}}`,
		r.Body.StackID, r.ID, r.Logical)
	return body + strings.Repeat(" ", max(0, size-len(body)))
}

var rosHeaders = http.Header{"Content-Type": {"application/json"}, "Date": {"Tue, 26 Nov 2019 08:46:44 GMT"}}

type rosReply struct{ RequestID, Code, Message string }

// TestROSAnswers checks how answers are sent to ROS, and their results.
func TestROSAnswers(t *testing.T) {
	strict := func(a *server.ROSAnswers) { a.NeedHeaders = true }
	put := func(a *server.ROSAnswers) { a.TakePut = true }
	large := func(a *server.ROSAnswers) { a.Limit = wire.MaxROSResponse }
	none := http.Header{"Content-Type": nil}
	tests := map[string]struct {
		config func(*server.ROSAnswers)
		method string
		header http.Header
		change func(target string) string
		pad    int // bytes of the body
		status int
		code   string
		logged string
	}{
		"posted":                       {method: "POST", header: rosHeaders, status: 200},
		"with a charset":               {config: strict, method: "POST", header: http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Date": rosHeaders["Date"]}, status: 200},
		"the limit":                    {method: "POST", header: rosHeaders, pad: 4096, status: 200},
		"one byte more":                {method: "POST", header: rosHeaders, pad: 4097, status: 200},
		"far more":                     {method: "POST", header: rosHeaders, pad: 900_000, status: 200},
		"without headers":              {method: "POST", header: none, status: 200, logged: `lacks="[Content-Type: application/json Date]"`},
		"without a date":               {method: "POST", header: http.Header{"Content-Type": {"application/json"}}, status: 200, logged: `lacks=[Date]`},
		"without headers, strict":      {config: strict, method: "POST", header: none, status: 400, code: "MissingHeader"},
		"as a form, strict":            {config: strict, method: "POST", header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Date": rosHeaders["Date"]}, status: 400, code: "MissingHeader"},
		"put, as cfn-response does it": {method: "PUT", header: rosHeaders, status: 405, code: "UnsupportedHTTPMethod"},
		"PUT is accepted":              {config: put, method: "PUT", header: rosHeaders, status: 200},
		"fetched":                      {method: "GET", header: rosHeaders, status: 405, code: "UnsupportedHTTPMethod"},
		"deleted":                      {config: put, method: "DELETE", header: rosHeaders, status: 405, code: "UnsupportedHTTPMethod"},
		"preflight request":            {method: "OPTIONS", header: rosHeaders, status: 405, code: "UnsupportedHTTPMethod"},
		"a bad signature":              {method: "POST", header: rosHeaders, change: func(u string) string { return u[:len(u)-1] + "x" }, status: 403, code: "SignatureDoesNotMatch"},
		"another resource":             {method: "POST", header: rosHeaders, change: func(u string) string { return strings.Replace(u, "resource=R", "resource=S", 1) }, status: 403, code: "SignatureDoesNotMatch"},
		"no query":                     {method: "POST", header: rosHeaders, change: func(u string) string { return strings.Split(u, "?")[0] }, status: 400, code: "InvalidQueryParameter"},
		"more than 4,096, allowed":     {config: large, method: "POST", header: rosHeaders, pad: 5000, status: 200},
		"the largest there may be":     {config: large, method: "POST", header: rosHeaders, pad: wire.MaxROSResponse, status: 200},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, takesROS(test.config))
			w.createROS("s", rosTemplate("web:http://provider.example/hook", ""))
			r := w.take()
			target := w.rosURL(r, time.Now())
			_, signature, _ := strings.Cut(target, "&signature=")
			if test.change != nil {
				target = test.change(target)
			}
			status, header, body := w.send(test.method, target, paddedROS(r, test.pad), test.header)
			var reply rosReply
			if err := json.Unmarshal([]byte(body), &reply); err != nil || header.Get("Content-Type") != "application/json" {
				t.Fatalf("%d %v %s: %v", status, header, body, err)
			}
			if status != test.status || reply.Code != test.code || (status == 200) != (reply.Message == "") {
				t.Errorf("%d %s, want %d %s", status, body, test.status, test.code)
			}
			if status == 200 && reply.RequestID != string(r.ID) {
				t.Errorf("RequestId %q", reply.RequestID)
			}
			if status == 405 && (header.Get("Allow") != "POST" || !strings.Contains(reply.Message, "by POST")) {
				t.Errorf("Allow %q, %s", header.Get("Allow"), reply.Message)
			}
			tooLong := test.pad > 4096 && test.config == nil
			want := "CREATE_IN_PROGRESS"
			switch {
			case tooLong:
				want = "CREATE_ROLLBACK_IN_PROGRESS"
			case status == 200:
				want = "CREATE_COMPLETE"
			}
			if got := w.statusROS("s"); got != want {
				t.Errorf("the stack is %s, want %s", got, want)
			}
			if size := fmt.Sprintf("has %d bytes, 4096 are allowed", test.pad); tooLong && test.pad > 4097 && !strings.Contains(reasons(w, r.Stack), size) {
				t.Errorf("the reason does not have the size: %s", reasons(w, r.Stack))
			}
			if log := w.log.String(); strings.Contains(log, signature) || !strings.Contains(log, test.logged) || test.logged == "" && strings.Contains(log, "lacks") {
				t.Errorf("logged %s", log)
			}
		})
	}
}

// TestROSAnswersOnce checks the replies to duplicate and late answers, and to answers without a request.
func TestROSAnswersOnce(t *testing.T) {
	w := newWorld(t, takesROS(nil))
	r := w.create("s")
	target := w.rosURL(r, time.Now())
	for range 3 { // the first counts, and the others are late
		if status, _, body := w.send("POST", target, success(r, "x"), rosHeaders); status != 200 {
			t.Errorf("%d %s", status, body)
		}
	}
	if got := w.status("s"); got != "CREATE_COMPLETE" {
		t.Errorf("the stack is %s", got)
	}
	unknown := r
	unknown.ID = "00000000-0000-0000-0000-000000000000"
	for name, test := range map[string]struct {
		target string
		status int
		code   string
	}{
		"unknown": {w.rosURL(unknown, time.Now()), 404, "NotFound"},
		"expired": {w.rosURL(r, time.Now().Add(-2*time.Hour)), 403, "AccessDenied"},
	} {
		status, _, body := w.send("POST", test.target, success(r, "x"), rosHeaders)
		if status != test.status || !strings.Contains(body, `"Code":"`+test.code+`"`) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _, body := w.send("POST", target, "", http.Header{"Content-Length": nil, "Transfer-Encoding": nil}); status != 200 && status != 411 {
		t.Errorf("empty: %d %s", status, body)
	}
}

// TestROSPath checks URLs with a path behind a proxy that strips it or not, and a server without a signer.
func TestROSPath(t *testing.T) {
	w := newWorld(t, func(w *world, c *server.Config) {
		takesROS(nil)(w, c)
		public, err := url.Parse("https://tools.example/pintle/")
		w.must(err)
		c.PublicURL = public
	})
	r := w.create("s")
	plain := w.rosURL(r, time.Now())
	for _, target := range []string{plain, strings.Replace(plain, "/ros/", "/pintle/ros/", 1)} {
		if status, _, body := w.send("POST", target, success(r, "x"), rosHeaders); status != 200 {
			t.Errorf("%d %s", status, body)
		}
	}
	w = newWorld(t, nil)
	r = w.create("s")
	if status, _, body := w.send("POST", w.rosURL(r, time.Now()), success(r, "x"), rosHeaders); status < 400 || w.status("s") != "CREATE_IN_PROGRESS" {
		t.Errorf("%d %s", status, body)
	}
}
