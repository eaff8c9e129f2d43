package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// handlers returns a directory with files that functions may be.
func handlers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a.py": 0o600, "b.js": 0o600, "program": 0o700} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDefineFunctions(t *testing.T) {
	require.Tool(t, "python3")
	require.Tool(t, "node")
	dir := handlers(t)
	others := []project.Provider{
		{Name: "Other", Target: "./program"},
		{Name: "Web", Target: "http://127.0.0.1/"},
		{Name: "Pair", OnEvent: &project.Function{Target: "a.py"}},
		{Name: "Thing"},
	}
	f := func(target string) *project.Function { return &project.Function{Target: target} }
	for name, test := range map[string]struct {
		declared project.Provider
		want     node.Definition
	}{
		"files": {
			project.Provider{
				OnEvent: f("./a.py"), IsComplete: &project.Function{Target: "b.js", Handler: "b.ready"}, QueryInterval: 5 * time.Second,
				TotalTimeout: time.Minute, Timeout: time.Hour, Concurrency: 3, Env: map[string]string{"A": "b"},
			},
			node.Definition{
				OnEvent:       &node.Function{Target: filepath.Join(dir, "a.py")},
				IsComplete:    &node.Function{Target: filepath.Join(dir, "b.js"), Handler: "b.ready"},
				QueryInterval: "5s", TotalTimeout: "1m0s", Timeout: "1h0m0s", Concurrency: 3, Env: map[string]string{"A": "b"},
			},
		},
		"alone": {
			project.Provider{OnEvent: f("program")},
			node.Definition{OnEvent: &node.Function{Target: filepath.Join(dir, "program")}},
		},
		"providers": {
			project.Provider{OnEvent: f("Other"), IsComplete: f("arn:aws:lambda:us-east-1:123456789012:function:Other")},
			node.Definition{
				OnEvent:    &node.Function{Provider: "Other"},
				IsComplete: &node.Function{Provider: "arn:aws:lambda:us-east-1:123456789012:function:Other"},
			},
		},
		"of another run": {
			project.Provider{OnEvent: f("arn:aws:lambda:us-east-1:123456789012:function:Earlier")},
			node.Definition{OnEvent: &node.Function{Provider: "arn:aws:lambda:us-east-1:123456789012:function:Earlier"}},
		},
	} {
		test.declared.Name = "Thing"
		got, err := node.Define(dir, test.declared, others)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for target, want := range map[string]string{
		"./missing.py":       "p:1:2: provider Thing: onEvent: target ./missing.py: " + filepath.Join(dir, "missing.py") + " does not exist",
		"Missing":            "provider Thing: onEvent: no provider named Missing, and: target Missing:",
		"Thing":              "provider Thing: onEvent: Thing: a provider cannot use itself as a function",
		"Pair":               "provider Thing: onEvent: Pair: this provider consists of functions; use those",
		"Web":                "provider Thing: onEvent: Web: this provider is a URL; a function is a file, or a provider that is a process",
		"https://other.test": "provider Thing: onEvent: this provider is a URL",
	} {
		_, err := node.Define(dir, project.Provider{Name: "Thing", OnEvent: f(target), IsComplete: f(target), Place: "p:1:2"}, others)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\np:1:2: provider Thing: isComplete: ") {
			t.Errorf("%s: got %v, want %s", target, err, want)
		}
	}
	_, err := node.Define(dir, project.Provider{Name: "Thing", OnEvent: &project.Function{Target: "Other", Handler: "h"}}, others)
	if want := "handler h: Other is a provider with its own handler"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = node.Define(dir, project.Provider{Name: "Thing", OnEvent: f("Other"), Env: map[string]string{"A": "b"}}, others)
	if want := "provider Thing: env is for functions that are files"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestDefineRuntime checks that the runtime settings of the project file reach the definition that the node runs.
func TestDefineRuntime(t *testing.T) {
	require.Tool(t, "python3")
	dir := handlers(t)
	d, err := node.Define(dir, project.Provider{Name: "Disk", Target: "a.py", Runtime: project.RuntimeFC, Initializer: "a.start", Answers: project.AnswersLater}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(node.Definition{Target: filepath.Join(dir, "a.py"), Runtime: "fc", Initializer: "a.start", Answers: "later"}, d); diff != "" {
		t.Error(diff)
	}
	program, ok, err := d.Program("Disk")
	if err != nil || !ok || program.Contract != bootstrap.FC || program.Initializer != "a.start" {
		t.Errorf("%+v, %v, %v", program, ok, err)
	}
}

// TestInvalidDefinitions checks that definitions from other programs are validated like those of project files.
func TestInvalidDefinitions(t *testing.T) {
	require.Tool(t, "python3")
	dir := handlers(t)
	n, _ := start(t, node.Config{Lock: acquire(t, t.TempDir())})
	file := &node.Function{Target: filepath.Join(dir, "a.py")}
	for want, d := range map[string]node.Definition{
		"use either target or onEvent":                            {},
		"provider Thing: use either target or onEvent":            {Target: filepath.Join(dir, "a.py"), OnEvent: file},
		"isComplete, queryInterval and totalTimeout need onEvent": {Target: filepath.Join(dir, "a.py"), IsComplete: file},
		`queryInterval "5" is not a duration`:                     {OnEvent: file, IsComplete: file, QueryInterval: "5"},
		`totalTimeout "-5s" is not a duration`:                    {OnEvent: file, IsComplete: file, TotalTimeout: "-5s"},
		"totalTimeout (1s) is shorter than queryInterval (5s)":    {OnEvent: file, IsComplete: file, TotalTimeout: "1s"},
		"want its name or its ARN":                                {OnEvent: &node.Function{Provider: "arn:aws:sqs:us-east-1:123456789012:queue"}},
		"onEvent: use either target or provider":                  {OnEvent: &node.Function{}},
		"isComplete: use either target or provider":               {OnEvent: file, IsComplete: &node.Function{Target: "/x", Provider: "X"}},
		"isComplete: the target must be an absolute path":         {OnEvent: file, IsComplete: &node.Function{Target: "a.py"}},
		"the target must be an absolute path or a URL":            {Target: "a.py"},
		"isComplete: target /does/not/exist: /does/not/exist do":  {OnEvent: file, IsComplete: &node.Function{Target: "/does/not/exist"}},
		"answers: want later, got ":                               {Target: filepath.Join(dir, "a.py"), Answers: "soon"},
		"answers needs a local target":                            {Target: "http://127.0.0.1/", Answers: "later"},
		"runtime and initializer need a local target":             {OnEvent: file, Runtime: "fc"},
		"and initializer need a local target":                     {Target: "http://127.0.0.1/", Initializer: "x"},
		"a builtin provider takes no target":                      {Builtin: "aws", Runtime: "fc"},
		"delivery needs a URL":                                    {Target: filepath.Join(dir, "a.py"), Delivery: "webhook"},
		`delivery: want webhook, got "sns"`:                       {Target: "http://127.0.0.1/", Delivery: "sns"},
		`"fcc" is not a kind of function: want lambda or fc`:      {Target: filepath.Join(dir, "a.py"), Runtime: "fcc"},
		"env: FC_REGION is set by the runtime":                    {Target: filepath.Join(dir, "a.py"), Runtime: "fc", Env: map[string]string{"FC_REGION": "x"}},
		"env: _HANDLER is set by the runtime":                     {OnEvent: file, Env: map[string]string{"_HANDLER": "x"}},
	} {
		if err := n.Define(t.Context(), "Thing", d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
