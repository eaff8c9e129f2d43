package project_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/project"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, project.FileName)
	text := `# a comment
stack: walkthrough
template: template.json
parameters:
  Count: 0123          # the text is kept
  Big: 1e+07
  On: true
  Zones: [a, b, 3]
  Empty: ""
tags: {team: web}
providers:
  CRTest: ./provider
  Slow:
    run: ./slow
    timeout: 30m
    concurrency: 2
    env: {MODE: careful, LEVEL: 3}
    handler: index.handler
  arn:aws:sns:eu-west-1:84969EXAMPLE:Other: http://127.0.0.1:8080/hook
  Thing:
    onEvent: ./on_event.py
    isComplete: {run: ./f.js, handler: isReady}
    queryInterval: 7s    # no divisor of the next
    totalTimeout: 30m
  Disk: {run: ./disk.py, runtime: fc, initializer: disk.connect, answers: later}
  Poll: {run: ./poll.py, aws: local}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := project.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := &project.Project{
		File: file, Dir: dir, Stack: "walkthrough", Template: filepath.Join(dir, "template.json"),
		Parameters: []project.Pair{{"Count", "0123"}, {"Big", "1e+07"}, {"On", "true"}, {"Zones", "a,b,3"}, {"Empty", ""}},
		Tags:       []project.Pair{{"team", "web"}},
		Providers: []project.Provider{
			{Name: "CRTest", Target: "./provider", Place: file + ":12:3"},
			{
				Name: "Slow", Target: "./slow", Timeout: 30 * time.Minute, Concurrency: 2, Handler: "index.handler",
				Env: map[string]string{"MODE": "careful", "LEVEL": "3"}, Place: file + ":13:3",
			},
			{Name: "arn:aws:sns:eu-west-1:84969EXAMPLE:Other", Target: "http://127.0.0.1:8080/hook", Place: file + ":19:3"},
			{
				Name: "Thing", OnEvent: &project.Function{Target: "./on_event.py"},
				IsComplete:    &project.Function{Target: "./f.js", Handler: "isReady"},
				QueryInterval: 7 * time.Second, TotalTimeout: 30 * time.Minute, Place: file + ":20:3",
			},
			{Name: "Disk", Target: "./disk.py", Runtime: project.RuntimeFC, Initializer: "disk.connect", Answers: project.AnswersLater, Place: file + ":25:3"},
			{Name: "Poll", Target: "./poll.py", AWS: project.AWSLocal, Place: file + ":26:3"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !got.Has("Slow") || got.Has("slow") {
		t.Error("Has: want Slow and not slow")
	}
}

func TestLoadMissing(t *testing.T) {
	if _, err := project.Load(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestParseTemplatePath(t *testing.T) {
	root := filepath.Join(string(filepath.Separator), "root")
	for text, want := range map[string]string{
		"a/t.yaml":                   filepath.Join("dir", "a", "t.yaml"),
		root:                         root,
		"https://example.com/t.json": "https://example.com/t.json",
	} {
		p, err := project.Parse(filepath.Join("dir", "pintle.yaml"), []byte("template: "+text))
		if err != nil {
			t.Fatal(err)
		}
		if p.Template != want {
			t.Errorf("template %s: got %s, want %s", text, p.Template, want)
		}
	}
}

func TestParseEmpty(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "providers:\nparameters:\n"} {
		got, err := project.Parse("pintle.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if diff := cmp.Diff(&project.Project{File: "pintle.yaml", Dir: "."}, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestParseProblems(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"unknown key", "stac: a", []string{`1:1: the project file has no key "stac": did you mean stack?`}},
		{"another case", "Providers: {}", []string{`1:1: the project file has no key "Providers": did you mean providers?`}},
		{"no similar name", "stack: a\nwhatever: b", []string{
			`2:1: the project file has no key "whatever": known are stack, template, parameters, tags, providers, macros, ssm, resolveSecrets, unknownTypes, forward`,
		}},
		{"forward", "forward:\n  - {types: 'AWS::SQS::*'}\n  - {endpoint: aws, types: []}\n  - x\n  - {types: a, endpoint: aws, profil: b}", []string{
			"2:5: forward: endpoint is missing",
			"3:5: forward: types is missing",
			"4:5: forward: want a map of names and values, got a text",
			`5:31: forward has no key "profil": did you mean profile?`,
		}},
		{"in a provider", "providers:\n  A: {run: x, timout: 3s}", []string{
			`2:15: provider A has no key "timout": did you mean timeout?`,
		}},
		{"all at once", "stack: [a]\nstack: b\nproviders:\n  A: {timeout: 5, concurrency: 0}\n  B:\n", []string{
			"1:8: stack: want a text, got a list",
			"2:1: the project file: stack is there twice",
			"4:16: timeout: 5 has no unit: write 5s for seconds",
			`4:32: concurrency: want a whole number from 1 to 1000, got "0"`,
			"4:6: provider A: run is missing: it says what runs, for example run: ./provider (or onEvent, a function that returns its result)",
			"5:5: provider B is empty",
		}},
		{"runtimes", "providers: {A: {run: x, runtime: fcc}, B: {run: x, runtime: lambda, initializer: y}, C: {onEvent: x, runtime: fc}, " +
			"D: {run: 'http://127.0.0.1/', initializer: y}, E: {builtin: aws, runtime: fc}}", []string{
			`1:34: provider A: runtime: want lambda or fc, got "fcc"; omit it to let the service token decide`,
			"1:82: provider B: initializer is of Function Compute, and runtime says lambda",
			"1:111: provider C: runtime is about run: a function that returns its result is called in one way only",
			"1:159: provider D: initializer is about what runs here, and run is a URL",
			"1:190: provider E: runtime is about a program, and builtin names a provider in this one: keep one of them",
		}},
		{"deliveries", "providers: {A: {run: 'http://127.0.0.1/', delivery: sns}, B: {run: x, delivery: webhook}, C: {onEvent: x, delivery: webhook}, " +
			"D: {builtin: aws, delivery: webhook}}", []string{
			`1:53: provider A: delivery: want webhook, got "sns"; omit it to let the service token decide`,
			"1:81: provider B: delivery is for a URL: run: https://…",
			"1:117: provider C: delivery is for a URL: run: https://…",
			"1:155: provider D: delivery is about a program, and builtin names a provider in this one: keep one of them",
		}},
		{"aws", "providers: {A: {run: x, aws: here}, B: {run: x, runtime: fc, aws: local}, C: {run: 'http://127.0.0.1/', aws: local}, " +
			"D: {builtin: aws, aws: local}}", []string{
			`1:30: provider A: aws: want local or environment, got "here"`,
			"1:67: provider B: aws is about functions of Lambda that run here",
			"1:110: provider C: aws is about functions of Lambda that run here",
			"1:141: provider D: aws is about a program, and builtin names a provider in this one: keep one of them",
		}},
		{"answers", "providers: {A: {run: x, answers: soon}, B: {onEvent: x, answers: later}, C: {run: 'http://127.0.0.1/', answers: later}, " +
			"D: {builtin: aws, answers: later}}", []string{
			`1:34: provider A: answers: want later, got "soon"; omit it if the handler sends its answer before it returns`,
			"1:66: provider B: answers is about run: what onEvent and isComplete return is the answer",
			"1:113: provider C: answers is about what runs here, and run is a URL",
			"1:148: provider D: answers is about a program, and builtin names a provider in this one: keep one of them",
		}},
		{"durations", "providers: {A: {run: x, timeout: 25h}, B: {run: x, timeout: soon}}", []string{
			`1:34: timeout: want a duration from 1s to 24h0m0s such as 90s or 15m, got "25h"`,
			`1:61: timeout: want a duration from 1s to 24h0m0s such as 90s or 15m, got "soon"`,
		}},
		{"values", "parameters:\n  A:\n  B: {c: d}\n  C: !Ref d\n  D: ['a,b']\n", []string{
			`2:5: parameters A has no value: write "" for an empty one`,
			"3:6: parameters B: want a text, got a map",
			"4:6: parameters C: unknown tag !Ref",
			`5:7: parameters D: the item "a,b" holds a comma, which would split it: write one text instead of the list`,
		}},
		{"alias", "stack: &a b\ntemplate: *a", []string{"2:11: template: aliases are not read: repeat the value"}},
		{"merge", "tags: &t {a: b}\nproviders:\n  A: {run: x, <<: *t}", []string{
			`3:15: provider A has no key "<<": known are run, onEvent, isComplete, queryInterval, totalTimeout, env, timeout, concurrency, handler, runtime, aws, initializer, delivery, answers, builtin, allow`,
		}},
		{"not a map", "- a", []string{"1:1: the project file: want a map of names and values, got a list"}},
		{"names", "tags: {[a]: b, '': c}", []string{
			"1:8: tags: a name is missing or is not a text",
			"1:16: tags: a name is missing or is not a text",
		}},
		{"env", "providers: {A: {run: x, env: {B: [c]}}}", []string{"1:34: env B: want a text, got a list"}},
		{"functions", `providers:
  A: {isComplete: ./b.py}
  B: {run: ./a, onEvent: ./b.py, isComplete: ./c.py}
  C: {onEvent: ./b.py, queryInterval: 5s, totalTimeout: 30m, handler: d}
  D: {onEvent: ./b.py, isComplete: ./c.py, queryInterval: 10, totalTimeout: 0s}
  E: {onEvent: ./b.py, isComplete: ./c.py, queryInterval: 10s, totalTimeout: 9s}
  F: {onEvent: ./b.py, isComplete: ./c.py, queryInterval: 31m}
  G: {onEvent: {handler: b}, isComplete: {run: '', timeout: 3s}}
  H: {onEvent: [./b.py], isComplete: }
  I: {onevent: ./b.py}
`, []string{
			"2:19: provider A: isComplete needs onEvent",
			"3:26: provider B: run answers requests itself, onEvent is called for their result: keep one of them",
			"3:46: provider B: run answers requests itself, isComplete is called for their result: keep one of them",
			"4:71: provider C: handler is about run: write onEvent: {run: FILE, handler: NAME}",
			"4:39: provider C: queryInterval needs isComplete",
			"4:57: provider C: totalTimeout needs isComplete",
			"5:59: queryInterval: 10 has no unit: write 10s for seconds",
			`5:77: totalTimeout: want a duration from 1s to 24h0m0s such as 90s or 15m, got "0s"`,
			"6:78: provider E: totalTimeout (9s) is shorter than queryInterval (10s), so isComplete would be asked once only",
			"7:59: provider F: totalTimeout (30m0s) is shorter than queryInterval (31m0s), so isComplete would be asked once only",
			"8:16: onEvent: run is missing: it says which file, for example run: ./on_event.py",
			"8:48: isComplete run is empty",
			`8:52: isComplete has no key "timeout": known are run, handler`,
			"9:16: onEvent: want a text, got a list",
			"9:38: isComplete is empty",
			`10:7: provider I has no key "onevent": did you mean onEvent?`,
			"10:6: provider I: run is missing: it says what runs, for example run: ./provider (or onEvent, a function that returns its result)",
		}},
		{"wrong kinds once", "providers: {A: {run: {}, concurrency: [], timeout: {}, handler: ''}}", []string{
			"1:22: run: want a text, got a map",
			"1:39: concurrency: want a text, got a list",
			"1:52: timeout: want a text, got a map",
			"1:65: handler is empty",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := project.Parse("pintle.yaml", []byte(test.text))
			var problems project.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v, want Problems", err)
			}
			var got []string
			for line := range strings.Lines(problems.Error()) {
				got = append(got, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "pintle.yaml:"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseNotYAML(t *testing.T) {
	for name, text := range map[string]string{
		"broken":         "stack: [a",
		"second broken":  "stack: a\n---\nb: [",
		"two documents":  "stack: a\n---\nstack: b\n",
		"too large":      "stack: " + strings.Repeat("a", project.MaxSize),
		"control":        "stack: \x01",
		"deep":           strings.Repeat("[", 100_000),
		"unknown anchor": "stack: *a",
	} {
		_, err := project.Parse("pintle.yaml", []byte(text))
		var problems project.Problems
		if err == nil || errors.As(err, &problems) || !strings.Contains(err.Error(), "pintle.yaml") {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("stack: a\ntemplate: t.json\nparameters: {A: [1, b]}\ntags: {c: d}\nproviders: {E: ./e}")
	f.Add("providers: {A: {run: x, timeout: 5s, concurrency: 3, env: {B: c}, handler: d}}")
	f.Add("providers: {A: {onEvent: ./a.py, isComplete: {run: b.js, handler: c}, queryInterval: 5s, totalTimeout: 1h}}")
	f.Add("a: &b c\nd: *b\n---\n<<: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := project.Parse("pintle.yaml", []byte(text))
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without text")
			}
			return
		}
		for _, provider := range p.Providers {
			one := (provider.Target != "") != (provider.OnEvent != nil && provider.OnEvent.Target != "")
			if provider.Name == "" || !one || !p.Has(provider.Name) {
				t.Errorf("incomplete provider %+v", provider)
			}
			if provider.IsComplete == nil && provider.QueryInterval+provider.TotalTimeout != 0 ||
				provider.IsComplete != nil && provider.IsComplete.Target == "" {
				t.Errorf("isComplete of %+v", provider)
			}
			if provider.Timeout < 0 || provider.Concurrency < 0 || provider.Concurrency > 1000 {
				t.Errorf("provider out of range %+v", provider)
			}
		}
	})
}
