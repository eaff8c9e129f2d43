package tests_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/statemachine"
	"github.com/pintle-dev/pintle/wire"
)

var loops = []string{"pintle", "aws-lambda-go"}

func withKey() map[string]string {
	return map[string]string{statemachine.EnvMachine: machineARN, statemachine.EnvKey: stateKey}
}

// A wait goes through the machine, with the provider's pauses and its latest state.
func TestWait(t *testing.T) {
	for _, loop := range loops {
		for name, env := range map[string]map[string]string{
			"key":       withKey(),
			"secret":    {statemachine.EnvMachine: machineARN, statemachine.EnvKeySecret: "the-key"},
			"parameter": {statemachine.EnvMachine: machineARN, statemachine.EnvKeyParameter: "/the/key"},
		} {
			t.Run(loop+"/"+name, func(t *testing.T) {
				t.Parallel()
				c := newCloud(t, loop, env)
				c.request("")
				c.request("") // a second delivery
				x, end := c.run()
				a := c.answer()
				if end != "SUCCEEDED" || a.Status != wire.Success || a.PhysicalResourceID != "job-1" || !a.NoEcho || string(a.Data) != `{"Secret":"`+secret+`"}` {
					t.Errorf("%s, answered %v %s %s", end, a.Status, a.Reason, a.Data)
				}
				if diff := cmp.Diff([]int{90, 90}, x.paused); diff != "" {
					t.Errorf("pauses: %s", diff)
				}
				want := map[string]int{"/ledger/create": 1, "/ledger/ready/0": 1, "/ledger/ready/1": 1, "/ledger/ready/2": 1}
				if diff := cmp.Diff(want, c.ledger); diff != "" {
					t.Error(diff)
				}
				if len(c.started) > 0 {
					t.Error("a second execution was started")
				}
			})
		}
	}
}

// A failure is answered, and ends the machine.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		do      string
		reason  string
		retried []int
	}{
		"the operation fails": {do: "fail", reason: "the disk with **** is full"},
		"call times out":      {do: "for ever", reason: "Operation timed out: not ready after"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := newCloud(t, "pintle", withKey())
			world.request(c.do)
			x, end := world.run()
			a := world.answer()
			if end != "SUCCEEDED" || a.Status != wire.Failed || a.PhysicalResourceID != "job-1" || !strings.Contains(a.Reason, c.reason) {
				t.Errorf("%s, answered %v %s %s", end, a.Status, a.PhysicalResourceID, a.Reason)
			}
			if diff := cmp.Diff(c.retried, x.retried); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A function that crashes is invoked again with the same input.
func TestCrash(t *testing.T) {
	for _, loop := range loops {
		t.Run(loop, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, loop, withKey())
			c.request("crash")
			x, end := c.run()
			if a := c.answer(); end != "SUCCEEDED" || a.Status != wire.Success {
				t.Errorf("%s, answered %v %s", end, a.Status, a.Reason)
			}
			if c.ledger["/ledger/ready/1"] != 2 || c.ledger["/ledger/create"] != 1 || !slices.Equal(x.retried, []int{5}) {
				t.Errorf("%v, retried %v", c.ledger, x.retried)
			}
		})
	}
}

// A request may be delivered again after its wait, to a process that does not know it.
func TestAgain(t *testing.T) {
	c := newCloud(t, "pintle", withKey())
	c.request("fail")
	if _, end := c.run(); end != "SUCCEEDED" {
		t.Error(end)
	}
	c.answer()
	other := newCloud(t, "pintle", withKey())
	other.executions = c.executions
	other.request("")
	if _, end := other.run(); end != "SUCCEEDED" {
		t.Error(end)
	}
	if a := other.answer(); a.Status != wire.Success {
		t.Errorf("answered %v %s", a.Status, a.Reason)
	}
	for arn := range other.executions {
		if name := arn[strings.LastIndex(arn, ":")+1:]; len(name) > 80 || !strings.HasPrefix(name, "pintle-") {
			t.Errorf("an execution is named %s", name)
		}
	}
	if len(other.executions) != 2 {
		t.Errorf("%d executions", len(other.executions))
	}
}

// Failed calls are retried. Without Step Functions, the function waits itself.
func TestAway(t *testing.T) {
	c := newCloud(t, "pintle", withKey())
	c.broken = 3
	c.request("")
	if _, end := c.run(); end != "SUCCEEDED" {
		t.Error(end)
	}
	c.answer()

	c = newCloud(t, "pintle", withKey())
	c.request("bulk") // too large for an execution
	if a := c.answer(); a.Status != wire.Success || len(c.started) > 0 {
		t.Errorf("answered %v %s", a.Status, a.Reason)
	}

	c = newCloud(t, "pintle", map[string]string{statemachine.EnvMachine: "arn:wrong"})
	text, failure := c.invoke([]byte(`{"pintleWait":{"version":1}}`))
	if failure == "" || !strings.Contains(c.logged(), "the function waits itself") {
		t.Errorf("%s %s\n%s", text, failure, c.logged())
	}
}

// Records that were modified or belong to another request are rejected.
func TestForged(t *testing.T) {
	c := newCloud(t, "pintle", withKey())
	c.request("")
	x, s := c.execution()
	var in map[string]map[string]any
	c.must(json.Unmarshal([]byte(s.input), &in))
	for name, c := range map[string]struct {
		change map[string]any
		end    string
	}{
		"another key of a request": {map[string]any{"key": "00"}, "Pintle.UselessRecord"},
		"changed":                  {map[string]any{"sealed": "AAAA"}, "Pintle.UselessRecord"},
		"nothing":                  {map[string]any{"sealed": nil}, "Pintle.UselessRecord"},
		"another version":          {map[string]any{"version": 2}, "Pintle.UselessRecord"},
	} {
		changed := map[string]any{}
		for key, value := range in["pintleWait"] {
			changed[key] = value
		}
		for key, value := range c.change {
			changed[key] = value
		}
		text, err := json.Marshal(map[string]any{"pintleWait": changed})
		if err != nil {
			t.Fatal(err)
		}
		if end := x.run(text); end != c.end {
			t.Errorf("%s: %s, want %s", name, end, c.end)
		}
	}
	if len(c.puts) > 0 {
		t.Error("a forged record was answered")
	}
	// With another key, the machine retries as long as the service listens, because the function may still get the key.
	other := newCloud(t, "pintle", map[string]string{statemachine.EnvMachine: machineARN, statemachine.EnvKey: strings.ToUpper(stateKey)})
	x.invoke = func(_ string, payload []byte) ([]byte, string) { return other.invoke(payload) }
	if end := x.run([]byte(s.input)); !strings.Contains(end, "sealed under a key that is not here") {
		t.Errorf("another key: %s", end)
	}
	sum := 0
	for _, seconds := range x.retried {
		sum += seconds
	}
	if sum < 3600 {
		t.Errorf("an invocation is retried for %d s", sum)
	}
}

func TestDefinition(t *testing.T) {
	for args, want := range map[string]struct {
		status int
		text   string
	}{
		"":                               {0, `"Resource": "${FunctionArn}"`},
		"--function-arn " + functionARN:  {0, `"Resource": "` + functionARN + `"`},
		"--function-arn arn:aws:lambda:": {2, "is not the ARN of a Lambda function"},
		"--help":                         {0, "usage: statemachine"},
		"other":                          {2, `unexpected argument "other"`},
		"--other":                        {2, "usage: statemachine"},
	} {
		var out bytes.Buffer
		if status := statemachine.Command(strings.Fields(args), &out, &out); status != want.status || !strings.Contains(out.String(), want.text) {
			t.Errorf("%q: status %d\n%s", args, status, &out)
		}
	}
}

func TestConfig(t *testing.T) {
	for want, c := range map[string]statemachine.Config{
		`"" is not the ARN of a state machine`: {},
		"no key to seal with":                  {Machine: machineARN},
		"32 are needed":                        {Machine: machineARN, Keys: [][]byte{[]byte("short")}},
		"the endpoint of states":               {Machine: machineARN, Keys: [][]byte{[]byte(stateKey)}, Endpoint: "ftp://x"},
	} {
		if _, err := statemachine.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	for want, env := range map[string]map[string]string{
		"one of PINTLE_STATE_KEY": {},
		"both PINTLE_STATE_KEY":   {statemachine.EnvKey: stateKey, statemachine.EnvKeySecret: "x"},
		"32 are needed":           {statemachine.EnvKey: "short"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Setenv(statemachine.EnvMachine, machineARN)
			for name, value := range env {
				t.Setenv(name, value)
			}
			if _, err := statemachine.FromEnvironment(nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error = %v, want %q", err, want)
			}
		})
	}
	t.Setenv(statemachine.EnvMachine, "")
	if w, err := statemachine.FromEnvironment(nil); w != nil || err != nil {
		t.Errorf("without a machine: %v, %v", w, err)
	}
}
