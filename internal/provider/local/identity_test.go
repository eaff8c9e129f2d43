package local_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// invocationID is the form of the IDs that handlers see.
var invocationID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestInvocationID checks that a handler sees a new ID each time it gets an event, and never the caller's ID of the
// event.
func TestInvocationID(t *testing.T) {
	script := func(file, code string) func(t *testing.T) *kit {
		return func(t *testing.T) *kit {
			return newScriptKit(t, map[string]string{file: code}, project.Provider{Target: file}, nil)
		}
	}
	program := func(behaviour string, contract bootstrap.Contract) func(t *testing.T) *kit {
		return func(t *testing.T) *kit {
			return newKit(t, behaviour, func(_ *local.Config, p *local.Provider) { p.Contract = contract })
		}
	}
	header := func(name string) func([]byte) (string, error) {
		return func(result []byte) (string, error) {
			var reported struct{ Header map[string][]string }
			err := json.Unmarshal(result, &reported)
			if len(reported.Header[name]) == 0 {
				return "", err
			}
			return reported.Header[name][0], err
		}
	}
	text := func(result []byte) (id string, err error) {
		err = json.Unmarshal(result, &id)
		return id, err
	}
	for name, test := range map[string]struct {
		tool  string
		token string
		open  func(t *testing.T) *kit
		id    func(result []byte) (string, error)
	}{
		"program": {"", "", program("handle", bootstrap.Lambda), header("Lambda-Runtime-Aws-Request-Id")},
		"fc":      {"", fcToken, program("fc", bootstrap.FC), header("X-Fc-Request-Id")},
		"fc-http": {"", fcToken, program("fc-http", bootstrap.FC), header("X-Fc-Request-Id")},
		"python":  {"python3", "", script("h.py", "def handler(event, context):\n    return context.aws_request_id\n"), text},
		"node":    {"node", "", script("h.js", "exports.handler = async (event, context) => context.awsRequestId;\n"), text},
		"fc python": {
			"python3", fcToken, script("h.py", "def handler(event, context):\n    return '\"' + context.request_id + '\"'\n"), text,
		},
		"fc node": {
			"node", fcToken, script("h.js", "exports.handler = (event, context, callback) => callback(null, JSON.stringify(context.requestId));\n"), text,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.tool != "" {
				require.Tool(t, test.tool)
			}
			k := test.open(t)
			seen := map[string]bool{}
			for range 2 {
				event := local.Event{
					ID: "request-1", Payload: task{Do: "describe"}.payload(), WantResult: true, FunctionARN: test.token,
					Contract: local.ContractOf("x"),
				}
				if test.token != "" {
					event.Contract = bootstrap.FC
				}
				if err := k.Invoke("P", event); err != nil {
					t.Fatal(err)
				}
				r := k.next()
				id, err := test.id(r.outcome.Result)
				if err != nil || r.id != "request-1" || !invocationID.MatchString(id) || seen[id] {
					t.Errorf("the end of %s was reported, of the handler's %q after %v: %v, %+v", r.id, id, seen, err, r.outcome)
				}
				seen[id] = true
			}
		})
	}
	k := newKit(t, "handle", nil)
	if err := k.Invoke("P", local.Event{ID: "1", Invocation: "a/b"}); err == nil {
		t.Error("an invocation ID with a slash was accepted")
	}
}
