package local_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// TestHelperWaits checks crhelper's pause of two minutes before it answers a Delete, which is only useful for
// CloudWatch Logs.
func TestHelperWaits(t *testing.T) {
	require.Tool(t, "python3")
	libraries := filepath.Join(require.Handlers(t), "python")
	const code = `from crhelper import CfnResource

helper = CfnResource()

def handler(event, context):
    slept = []
    helper._context = context
    helper._wait_for_cwlogs(sleep=slept.append)
    return slept
`
	for name, test := range map[string]struct {
		env      map[string]string
		function bool
		want     string
	}{
		"variable not set":           {nil, false, "[]"},
		"variable not set, function": {nil, true, "[]"},
		"variable set":               {map[string]string{bootstrap.PatientVariable: "1"}, false, "[120]"},
		"variable set, function":     {map[string]string{bootstrap.PatientVariable: "1"}, true, "[120]"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newScriptKit(t, map[string]string{"h.py": code}, project.Provider{Target: "h.py"}, func(c *local.Config, p *local.Provider) {
				p.Env = map[string]string{"PYTHONPATH": libraries}
				c.Env = test.env
				if test.function {
					p.Function = &local.Function{Name: "f", Runtime: "python3.13"}
				}
			})
			if err := k.Invoke("P", local.Event{ID: "a", Payload: json.RawMessage(`{}`), WantResult: true}); err != nil {
				t.Fatal(err)
			}
			if r := k.next(); string(r.outcome.Result) != test.want {
				t.Errorf("it slept for %s s, want %s: %+v", r.outcome.Result, test.want, r.outcome)
			}
		})
	}
}
