package check_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// notesVar makes this program a provider that keeps notes in the directory that it names.
const notesVar = "TEST_NOTES"

func TestMain(m *testing.M) {
	if dir, name := os.Getenv(notesVar), os.Getenv(bugVar); name != "" {
		pintle.Main(newSDKNotes(dir, name))
	} else if dir != "" {
		pintle.Main(pintle.New(notes{dir}))
	}
	os.Exit(m.Run())
}

type note struct {
	Name string `pintle:"required,immutable,pattern=^[a-z0-9-]+$"`
	Text string `pintle:"default=hello"`
	Size int
	Open bool
	Key  pintle.Secret
}

type attributes struct{ Path string }

type notes struct{ dir string }

func (n notes) path(id pintle.PhysicalID) string {
	return filepath.Join(n.dir, filepath.Base(string(id)))
}

func (n notes) write(id pintle.PhysicalID, p note) (pintle.Response[attributes], error) {
	err := os.WriteFile(n.path(id), []byte(p.Text), 0o600)
	return pintle.Response[attributes]{ID: id, Attributes: attributes{n.path(id)}}, err
}

func (n notes) Create(_ context.Context, r *pintle.CreateRequest[note]) (pintle.Response[attributes], error) {
	return n.write(pintle.PhysicalID("note-"+r.Properties.Name), r.Properties)
}

func (n notes) Update(_ context.Context, r *pintle.UpdateRequest[note]) (pintle.Response[attributes], error) {
	if _, err := os.Stat(n.path(r.ID)); err != nil {
		return pintle.Response[attributes]{}, errors.New("there is no such note")
	}
	return n.write(r.ID, r.Properties)
}

func (n notes) Delete(_ context.Context, r *pintle.DeleteRequest[note]) error {
	err := os.Remove(n.path(r.ID))
	if os.IsNotExist(err) {
		return pintle.ErrGone
	}
	return err
}

// target returns a configuration for the provider that a text names.
func target(t *testing.T, text string, env map[string]string) check.Config {
	t.Helper()
	parsed, err := local.ParseTarget("", text)
	if err != nil {
		t.Fatal(err)
	}
	return check.Config{
		Session: harness.SessionConfig{
			Provider: local.Provider{Name: "P", Target: parsed, Env: env},
			Runtime:  local.Config{CacheDir: t.TempDir()},
		},
		Log: func(line string) { t.Log("|", line) },
	}
}

func run(t *testing.T, c check.Config) check.Report {
	t.Helper()
	report, err := check.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range report.Outcomes {
		t.Logf("%s: %s %s (%s)", o.ID, o.Result, o.Reason, o.Took)
		for _, step := range o.Steps {
			t.Logf("    %-50s %s (%s)", step.Request, step.Response, step.Took)
		}
	}
	return report
}

// remedied matches the reasons of scenarios that did not run. They name a remedy, or say that the scenario does not apply.
var remedied = regexp.MustCompile(`\b(set|use|pass)\b|does not apply`)

// wantClean fails for each error and warning.
func wantClean(t *testing.T, report check.Report) {
	t.Helper()
	for _, f := range report.Findings {
		if f.Severity != check.Note {
			t.Errorf("%s in %s: %s\n  request %s\n  response %s", f.ID, f.Scenario, f.Detail, f.Request, f.Response)
		} else {
			t.Logf("note %s in %s: %s", f.ID, f.Scenario, f.Detail)
		}
	}
	for _, o := range report.Outcomes {
		if o.Result == check.NotRun && !remedied.MatchString(o.Reason) {
			t.Errorf("%s was not run and does not say what to do: %s", o.ID, o.Reason)
		}
	}
}

// The SDK's own providers keep all rules, with given properties and with those that their schema has.
func TestSDK(t *testing.T) {
	for name, properties := range map[string]string{
		"given": `{"Name": "a", "Text": "b", "Size": 5, "Open": false, "Key": "correct horse"}`, "schema": "",
	} {
		t.Run(name, func(t *testing.T) {
			c := target(t, os.Args[0], map[string]string{notesVar: t.TempDir()})
			if properties != "" {
				c.Properties = []byte(properties)
			}
			wantClean(t, run(t, c))
		})
	}
}
