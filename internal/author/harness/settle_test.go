package harness_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// A handler that has returned without an answer is waited for as long as its process works, and then as long as it settles.
func TestSettle(t *testing.T) {
	require.Tool(t, "python3")
	path := filepath.Join(t.TempDir(), "index.py")
	const handler = `
import json, threading, time, urllib.request

def answer(event):
    time.sleep(0.1) # longer than the settle time, which does not run meanwhile
    body = json.dumps({"Status": "SUCCESS", "PhysicalResourceId": "x", **{k: event[k] for k in ("StackId", "RequestId", "LogicalResourceId")}})
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], body.encode(), method="PUT")).read()

def handler(event, context):
    if event["LogicalResourceId"] == "Late":
        threading.Thread(target=answer, args=(event,)).start()
`
	if err := os.WriteFile(path, []byte(handler), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := local.ParseTarget("", path)
	if err != nil {
		t.Fatal(err)
	}
	c := harness.Config{
		Provider: local.Provider{Name: "P", Target: target}, Runtime: local.Config{CacheDir: t.TempDir()},
		Timeout: time.Hour, Settle: time.Millisecond, Request: request(),
	}
	got := run(t, c)
	if got.Answered || got.Problem == nil || got.Problem.Error() != "no answer within 1ms after the handler returned" {
		t.Errorf("%+v", got)
	}
	c.Request.LogicalResourceID = "Late"
	if got := run(t, c); !got.Answered || got.Problem != nil {
		t.Errorf("%+v", got)
	}
}
