package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

func TestTextLog(t *testing.T) {
	var out bytes.Buffer
	log := textLogger(&out).With(logType, "Create", logResource, "Site", logRequest, "r-1")
	log.Info(logArrival, logStack, "arn:stack", "resourceType", "Custom::Site", "physicalId", PhysicalID(""))
	log.With("zone", "a b").WithGroup("api").Error("call failed", "status", 503, "trace", "goroutine 1\n\tmain.go:7\n")
	log.Debug("not shown")
	log.Warn("grouped", slog.Group("g", slog.String("k", "v=w"), slog.Group("h", slog.Int("n", 1))))
	textLogger(&out).Info("listening", "address", "127.0.0.1:80")
	got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`).ReplaceAllString(out.String(), "TIME")
	const want = `TIME INFO  Create Site: request request=r-1 stack=arn:stack resourceType=Custom::Site
TIME ERROR Create Site: call failed zone="a b" api.status=503
  api.trace:
    goroutine 1
    	main.go:7
TIME WARN  Create Site: grouped g.k="v=w" g.h.n=1
TIME INFO  listening address=127.0.0.1:80
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestLogFormat(t *testing.T) {
	for _, tt := range []struct {
		format, function string
		json, bad        bool
	}{{"", "", false, false}, {"", "f", true, false}, {"text", "f", false, false}, {"json", "", true, false}, {"xml", "", false, true}} {
		t.Setenv("PINTLE_PROVIDER_LOG", tt.format)
		t.Setenv("AWS_LAMBDA_FUNCTION_NAME", tt.function)
		var out bytes.Buffer
		log, err := loggerFromEnvironment(&out)
		log.Info("m")
		if (err != nil) != tt.bad || json.Valid(out.Bytes()) != tt.json {
			t.Errorf("%+v: %v, %s", tt, err, &out)
		}
	}
}

// Only the first line of a request contains the stack. A panic is logged with its trace.
func TestLogOfRequest(t *testing.T) {
	var out bytes.Buffer
	w := newWorld(t, HandlerFunc(func(context.Context, *Request) (Answer, error) { panic("boom") }))
	w.Server.log = textLogger(&out)
	w.ask(t, Create, "", "{}", "")
	text := out.String()
	if n := strings.Count(text, "stack=arn:"); n != 1 || strings.Count(text, "request=r-1") != 1 {
		t.Errorf("%d lines with the stack:\n%s", n, text)
	}
	if !strings.Contains(text, "ERROR Create Disk: panic in the handler panic=boom\n  trace:\n    goroutine ") {
		t.Errorf("no trace:\n%s", text)
	}
	(&Request{}).Log().Info("a request made by hand has a log")
}
