package lambda_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestFunctionComputeEnvironment checks that Function Compute functions find layers, the directories of Node
// modules and the keys of the server, which the log does not show. A function with its own key gets no other.
func TestFunctionComputeEnvironment(t *testing.T) {
	require.Tool(t, "python3")
	require.Tool(t, "node")
	modules := filepath.Join(t.TempDir(), "node_modules")
	if err := os.MkdirAll(filepath.Join(modules, "given"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(modules, "given", "index.js"), []byte("module.exports = 'given'"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *lambda.Config) {
		c.Modules = []string{modules}
		c.Environment = func(place registry.Scope, name string, _ map[string]string) map[string]string {
			return map[string]string{
				"ALIBABA_CLOUD_ACCESS_KEY_ID": "key of " + name, "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret of " + place.Account,
				"ALIBABA_CLOUD_SECURITY_TOKEN": "the token",
			}
		}
	})
	arn, err := w.CreateLayer(t.Context(), registry.Item[registry.Layer]{
		Scope: hangzhou, Name: "more", Of: registry.Layer{Contract: registry.ContractFC},
	}, registry.Code{Zip: pack(t, map[string]string{
		"python/layered.py": "WORD = 'layer'", "nodejs/node_modules/layered/index.js": "module.exports = 'layer'",
	})})
	if err != nil || arn != "acs:fc:cn-hangzhou:0000000000000000:layers/more/versions/1" {
		t.Fatal(arn, err)
	}
	const python = `
import layered
def handler(event, context):
    c = context.credentials
    return {"Layer": layered.WORD, "Key": [c.access_key_id, len(c.access_key_secret), c.security_token]}
`
	const node = `
const layered = require('layered'), given = require('given');
exports.handler = async (event, {credentials: c}) => (
  {Layer: layered + ' ' + given, Key: [c.accessKeyId, c.accessKeySecret.length, c.securityToken]});
`
	for name, test := range map[string]struct {
		runtime, source string
		own             map[string]string
		want            string
	}{
		"python": {"python3.10", python, nil,
			`{"Key":["key of acs:fc:cn-hangzhou:0000000000000000:functions/python",26,"the token"],"Layer":"layer"}`},
		"node": {"nodejs20", node, nil,
			`{"Key":["key of acs:fc:cn-hangzhou:0000000000000000:functions/node",26,"the token"],"Layer":"layer given"}`},
		"own": {"nodejs20", node, map[string]string{"ALIBABA_CLOUD_ACCESS_KEY_ID": "mine", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "my secret"},
			`{"Key":["mine",9,""],"Layer":"layer given"}`},
	} {
		t.Run(name, func(t *testing.T) {
			f := fc("functions/"+name, test.runtime)
			f.Of.Layers, f.Of.Environment = []string{arn}, test.own
			if _, err := w.Create(t.Context(), f, registry.Code{Inline: &test.source}); err != nil {
				t.Fatal(err)
			}
			reply, err := w.Invoke(t.Context(), lambda.Call{Scope: hangzhou, Function: "functions/" + name, Payload: []byte("{}")})
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := json.Unmarshal(reply.Payload, &got); err != nil {
				t.Fatalf("%v: %s", err, reply.Payload)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	missing := fc("functions/missing", "nodejs20")
	source := "require('ali-oss'); exports.handler = async () => 1;"
	if _, err := w.Create(t.Context(), missing, registry.Code{Inline: &source}); err != nil {
		t.Fatal(err)
	}
	reply, err := w.Invoke(t.Context(), lambda.Call{Scope: hangzhou, Function: "functions/missing", Payload: []byte("{}")})
	want := `needs the Node package \"ali-oss\", which is not installed (the runtime of Function Compute brings it): ` +
		`add it to the function's code or to a layer, or run \"npm install --prefix ` + filepath.Dir(modules) + ` ali-oss\"`
	if err != nil || !strings.Contains(string(reply.Payload), want) {
		t.Errorf("%v %s, want %s", err, reply.Payload, want)
	}
}
