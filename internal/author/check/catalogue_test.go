package check_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// bug is a provider with one mistake.
type bug struct {
	// name is that of the mistake; a program in testdata/catalogue finds it in BUG.
	name string
	// rule is the rule that must find it. also lists other rules that it breaks, separated by commas.
	rule, also string
	// wild names public handlers with this bug.
	wild string
	// mistake is it, of a provider in this process.
	mistake mistake
}

// program is a provider in whose many versions the mistakes are.
type program struct {
	name string
	// tool is the program that runs it; empty for this program.
	tool string
	bugs []bug
	// config returns the check of the version with a mistake.
	config func(t *testing.T, b bug) check.Config
}

var programs = []program{
	{"http", "", webBugs, func(t *testing.T, b bug) check.Config { return webConfig(t, b.mistake) }},
	{"sdk", "", sdkBugs, func(t *testing.T, b bug) check.Config { return processConfig(t, os.Args[0], b.name) }},
	{"sdk, Read and Plan", "", optionalBugs, func(t *testing.T, b bug) check.Config { return processConfig(t, os.Args[0], b.name) }},
	{"note.py", "python3", pythonBugs, func(t *testing.T, b bug) check.Config {
		return processConfig(t, catalogueFile("note.py"), b.name)
	}},
	{"note.js", "node", nodeBugs, func(t *testing.T, b bug) check.Config {
		return processConfig(t, catalogueFile("note.js"), b.name)
	}},
}

// optional begins the names of the correct providers with Read and Plan.
const optional = "SDK, with Read and Plan"

// correct are providers in which nothing is to be found.
var correct = []struct {
	name, tool string
	config     func(t *testing.T) check.Config
}{
	{"SDK, typed", "", func(t *testing.T) check.Config { return processConfig(t, os.Args[0], "") }},
	{"SDK, with the properties of its schema", "", func(t *testing.T) check.Config {
		c := processConfig(t, os.Args[0], "")
		c.Properties, c.Update, c.Replace, c.Bad = nil, nil, nil, nil
		return c
	}},
	{"SDK, onEvent and isComplete", "", func(t *testing.T) check.Config { return processConfig(t, os.Args[0], "events") }},
	{optional, "", func(t *testing.T) check.Config { return processConfig(t, os.Args[0], "optional") }},
	{optional + ", of ROS", "", func(t *testing.T) check.Config {
		c := processConfig(t, os.Args[0], "optional")
		c.Dialect = wire.ROS
		return c
	}},
	{optional + ", with the properties of its schema", "", func(t *testing.T) check.Config {
		c := processConfig(t, os.Args[0], "optional")
		c.Properties, c.Update, c.Replace, c.Bad = nil, nil, nil, nil
		return c
	}},
	{"SDK, over SNS", "", func(t *testing.T) check.Config {
		c := processConfig(t, os.Args[0], "")
		c.SNS = true
		return c
	}},
	{"over HTTP", "", func(t *testing.T) check.Config { return webConfig(t, mistake{}) }},
	{"over HTTP, of ROS", "", func(t *testing.T) check.Config {
		c := webConfig(t, sentBy(func(s *shelf, r wire.Request, body []byte) int {
			return s.do("POST", r.ResponseURL, strings.NewReader(string(body)), map[string]string{
				"Content-Type": "application/json", "Date": time.Now().UTC().Format(http.TimeFormat),
			})
		}))
		c.Dialect = wire.ROS
		return c
	}},
	{"Python", "python3", func(t *testing.T) check.Config { return processConfig(t, catalogueFile("note.py"), "") }},
	{"Python, over SNS", "python3", func(t *testing.T) check.Config {
		c := processConfig(t, catalogueFile("note.py"), "")
		c.SNS = true
		return c
	}},
	{"Python, cfnresponse done right", "python3", func(t *testing.T) check.Config {
		return processConfig(t, catalogueFile("note_cfnresponse.py"), "")
	}},
	{"Python, strings alone", "python3", func(t *testing.T) check.Config { return strictConfig(t, true) }},
	{"Python, strings alone, with what is false", "python3", func(t *testing.T) check.Config { return strictConfig(t, false) }},
	{"JavaScript", "node", func(t *testing.T) check.Config { return processConfig(t, catalogueFile("note.js"), "") }},
}

var pythonBugs = []bug{
	{name: "hangs-on-update", rule: "hang", wild: "waiters without an end (crhelper 5)"},
	{name: "returns-the-answer", rule: "silence", also: "missing-id-unanswered,unknown-request-type",
		wild: "handlers of the CDK's framework without the framework"},
	{name: "no-answer-to-delete", rule: "silence", also: "missing-id-unanswered", wild: "handlers with nothing to delete"},
	{name: "uncaught", rule: "crash", also: "unknown-request-type", wild: "no try around the handler (lambda powertools' samples)"},
	{name: "uncaught-exit", rule: "crash", also: "unknown-request-type", wild: "sys.exit in a script that became a handler"},
	{name: "logs-event", rule: "url-in-log", also: "secret-in-log,properties-in-log",
		wild: "crhelper, most samples of AWS: print(event)"},
	{name: "logs-url", rule: "url-in-log", wild: "cfnresponse: print(responseUrl)"},
	{name: "logs-properties", rule: "secret-in-log", also: "properties-in-log", wild: "crhelper at its level DEBUG"},
	{name: "own-request-id", rule: "answer-copies", wild: "aws_request_id for RequestId"},
	{name: "no-reason", rule: "answer-reason", wild: "custom-cf, cfn-wrapper-python"},
	{name: "long-reason", rule: "answer-too-long", wild: "traceback.format_exc() whole"},
	{name: "event-in-reason", rule: "secret-in-reason", wild: "f'{error}: {properties}'"},
	{name: "coloured-reason", rule: "answer-control-characters", wild: "the output of terraform or npm as Reason"},
	{name: "exception-as-reason", rule: "answer-types", wild: "error.args for str(error)"},
	{name: "failed-without-id", rule: "id-missing", wild: "aws-lambda-go 77, crhelper 56"},
	{name: "failed-update-other-id", rule: "id-changed-on-failure", wild: "aws-cdk 13527"},
	{name: "none-id-on-failure", rule: "id-placeholder", wild: "str(event.get('PhysicalResourceId'))"},
	{name: "log-stream-on-failure", rule: "id-changed-on-failure", also: "id-log-stream", wild: "cfnresponse without an ID"},
	{name: "else-is-create", rule: "unknown-request-type", wild: "else: success"},
	{name: "random-id", rule: "created-twice", wild: "uuid4 at each Create"},
	{name: "log-stream-id", rule: "id-changed", also: "id-shared,delete-harms-other,not-replaced",
		wild: "DataDog 177, cfn-response 2"},
	{name: "invocation-id", rule: "id-request-id", also: "id-changed,id-shared,created-twice,delete-harms-other,not-replaced",
		wild: "PhysicalResourceId: context.aws_request_id"},
	{name: "content-id", rule: "id-changed", wild: "a hash of the properties as ID"},
	{name: "in-memory", rule: "state-in-memory", also: "update-refused,delete-harms-other,redelivery-refused", wild: "dicts for databases"},
	{name: "exclusive", rule: "redelivery-refused", wild: "open(path, 'x')"},
	{name: "uses-old", rule: "old-format-refused", wild: "OldResourceProperties['Name'] without a default"},
	{name: "integers", rule: "strings-refused", also: "create-refused", wild: "isinstance(size, int) (aws-cdk 15249)"},
	{name: "strict", rule: "service-timeout-refused", wild: "dataclass(**properties)"},
	{name: "strict-event", rule: "unknown-field-refused", wild: "pydantic with extra='forbid'"},
	{name: "only-grows", rule: "rollback-refused", also: "old-values-refused", wild: "sizes that cannot shrink"},
	{name: "truthy", rule: "strings-misread", wild: "bool('false') (roadmap 1037)"},
	{name: "echo", rule: "answer-grows", also: "secret-in-data", wild: "Data = ResourceProperties"},
	{name: "nan", rule: "answer-json", wild: "json.dumps(float('nan'))"},
	{name: "data-list", rule: "answer-types", wild: "lists of outputs"},
	{name: "number-id", rule: "answer-types", wild: "IDs of databases"},
	{name: "global-data", rule: "state-leaks", wild: "crhelper's helper.Data between warm invocations"},
	{name: "global-noecho", rule: "state-leaks", wild: "crhelper's NoEcho between warm invocations"},
	{name: "delete-validates", rule: "delete-after-failure-refused", also: "old-values-refused",
		wild: "validation before the switch"},
	{name: "missing-key", rule: "missing-id-unanswered", wild: "event['PhysicalResourceId'] outside of the try"},
	{name: "remove-raises", rule: "delete-unknown-refused", also: "delete-after-failure-refused",
		wild: "os.remove of what is not there"},
	{name: "deletes-by-name", rule: "delete-harms-other", wild: "Delete by properties (aws-cdk 22670)"},
	{name: "repr", rule: "answer-json", wild: "str(answer) for json.dumps(answer)"},
	{name: "twice-encoded", rule: "answer-json", wild: "requests.put(json=json.dumps(answer))"},
	{name: "latin-1", rule: "answer-encoding", also: "answer-json", wild: "http.client's encoding of str"},
	{name: "byte-order-mark", rule: "answer-encoding", also: "answer-json", wild: "utf-8-sig"},
	{name: "length-of-text", rule: "answer-json", also: "answer-length,gives-up", wild: "len(str) for len(bytes)"},
	{name: "after-return", rule: "answer-after-return", wild: "threads that nobody joins"},
	{name: "sends-in-finally", rule: "answered-twice", wild: "a send in the branch and one in finally"},
	{name: "fails-after-success", rule: "answers-disagree", wild: "except around the send"},
	{name: "raises-after-answer", rule: "crash-after-answer", wild: "aws-lambda-go's panics"},
	{name: "post", rule: "answer-verb", wild: "urllib where only the data was given"},
	{name: "default-content-type", rule: "answer-content-type", wild: "urllib's x-www-form-urlencoded"},
	{name: "quoted-url", rule: "answer-url", wild: "quote of what is quoted"},
	{name: "swallows-503", rule: "gives-up", wild: "cfnresponse: except: print"},
}

var nodeBugs = []bug{
	{name: "console-log", rule: "url-in-log", also: "secret-in-log,properties-in-log", wild: "cfn-lambda, udondan"},
	{name: "only-create-and-update", rule: "silence", also: "missing-id-unanswered", wild: "handlers with nothing to delete"},
	{name: "unhandled-rejection", rule: "crash", also: "unknown-request-type", wild: "async handlers without a try"},
	{name: "awaits-nothing", rule: "answer-after-return", wild: "a promise that nobody awaits"},
	{name: "callback-twice", rule: "answered-twice", wild: "callbacks and promises mixed"},
	{name: "throws-after-answer", rule: "crash-after-answer", wild: "context.done with the error too"},
	{name: "exits", rule: "crash", also: "unknown-request-type", wild: "process.exit in a library"},
	{name: "error-object", rule: "answer-types", wild: "Reason: error"},
	{name: "undefined-id", rule: "id-missing", wild: "JSON.stringify leaves out what is undefined"},
	{name: "undefined-text", rule: "id-placeholder", also: "id-changed-on-failure", wild: "`${undefined}`"},
	{name: "object-id", rule: "id-placeholder", also: "id-shared,not-replaced", wild: "`${object}`"},
	{name: "empty-reason", rule: "answer-reason", wild: "errors without a message"},
	{name: "log-stream", rule: "id-changed-on-failure", also: "id-log-stream", wild: "cfn-response, udondan"},
	{name: "long-stack", rule: "answer-too-long", wild: "error.stack: the CDK's Provider"},
	{name: "unlink", rule: "delete-unknown-refused", also: "delete-after-failure-refused", wild: "unlinkSync of what is not there"},
	{name: "deleted-id", rule: "id-changed-on-delete", wild: "custom-resource-helper's Delete"},
	{name: "numbers-only", rule: "strings-refused", also: "create-refused", wild: "typeof size === 'number'"},
	{name: "clock-id", rule: "id-changed", also: "created-twice", wild: "Date.now() in the ID"},
	{name: "module-id", rule: "not-replaced", also: "id-changed,id-shared", wild: "let at the top of the module"},
	{name: "never-replaces", rule: "not-replaced", wild: "renames in place that cannot be"},
	{name: "truthy-string", rule: "strings-misread", wild: "if (properties.Open)"},
	{name: "adds-to-a-string", rule: "strings-misread", wild: "'5' + 1"},
	{name: "password-in-data", rule: "secret-in-data", wild: "connection strings in Data"},
	{name: "no-data-on-update", rule: "attributes-lost", wild: "aws-cdk 29949"},
	{name: "pathname", rule: "answer-url", wild: "url.pathname without url.search"},
	{name: "encoded-url", rule: "answer-url", wild: "encodeURI of what is encoded"},
	{name: "posts", rule: "answer-verb", wild: "axios.post"},
	{name: "twice-stringified", rule: "answer-json", wild: "JSON.stringify of a text"},
	{name: "gzip", rule: "answer-encoding", also: "answer-json", wild: "clients that compress"},
	{name: "json-content-type", rule: "answer-content-type", wild: "axios, got, fetch by default"},
	{name: "no-length", rule: "answer-length", wild: "http.request without Content-Length"},
	{name: "string-length", rule: "answer-json", also: "answer-length", wild: "cfn-response 1.0.1: body.length"},
	{name: "unchecked-status", rule: "gives-up", wild: "fetch without a look at response.ok"},
}

func catalogueFile(name string) string { return filepath.Join("testdata", "catalogue", name) }

// catalogued gives a check the properties of the catalogue's notes.
func catalogued(c check.Config) check.Config {
	state := func(members string) json.RawMessage {
		return json.RawMessage(`{` + members + `, "Password": "correct horse battery"}`)
	}
	c.Properties = state(`"Name": "alpha", "Text": "first-text", "Size": 5, "Open": false`)
	c.Update = state(`"Name": "alpha", "Text": "second-text", "Size": 6, "Open": true`)
	c.Replace = state(`"Name": "beta", "Text": "first-text", "Size": 5, "Open": false`)
	c.Bad = state(`"Name": "Über/../x", "Text": "first-text"`)
	return c
}

// processConfig is the check of a program with a mistake.
func processConfig(t *testing.T, path, name string) check.Config {
	t.Helper()
	parsed, err := local.ParseTarget("", path)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"NOTES": t.TempDir(), "BUG": name, "PYTHONDONTWRITEBYTECODE": "1"}
	if path == os.Args[0] {
		env = map[string]string{notesVar: t.TempDir(), bugVar: name}
		if name == "" {
			env[bugVar] = "none"
		}
	}
	c := catalogued(check.Config{
		Session: harness.SessionConfig{
			Provider: local.Provider{Name: "P", Target: parsed, Env: env}, Runtime: local.Config{CacheDir: t.TempDir()},
		},
		Settle: 100 * time.Millisecond,
	})
	switch name {
	case "hangs-on-update": // each Update uses the whole timeout
		c.Timeout, c.Only = 3*time.Second, []string{"life"}
	case "after-return", "awaits-nothing": // whose answers come late, as it may be on a busy machine
		c.Settle = 2 * time.Second
	}
	return c
}

// strictConfig is the check of a provider that reads no types, and has properties that are called like secrets.
func strictConfig(t *testing.T, public bool) check.Config {
	t.Helper()
	c := processConfig(t, catalogueFile("note_strict.py"), "")
	state := func(name, level string) json.RawMessage {
		return fmt.Appendf(nil, `{"Name": %q, "Public": %t, "Level": %s, "Username": "postgres", "Password": "postgres", `+
			`"SecretArn": "arn:aws:secretsmanager:us-east-1:000000000000:secret:db-AbCdEf"}`, name, public, level)
	}
	c.Properties, c.Update, c.Replace, c.Bad = state("alpha", "5"), state("alpha", "6"), state("beta", "5"), []byte(`{"Name": "alpha"}`)
	return c
}

// left returns the notes that a provider of the catalogue has at the end.
func left(t *testing.T, c check.Config) (notes []string) {
	t.Helper()
	target := c.Session.Provider.Target
	if s, ok := shelves.Load(target.Path()); ok {
		s := s.(*shelf)
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Sorted(maps.Keys(s.notes))
	}
	env := c.Session.Provider.Env
	files, err := os.ReadDir(cmp.Or(env["NOTES"], env[notesVar]))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		notes = append(notes, f.Name())
	}
	return notes
}

// hides lists the bugs that make a provider create notes which no response mentions.
var hides = map[string]string{"request-id": "an Update makes a note and answers with the ID of another"}

// wantLedger fails if a provider has notes that the report does not list. A correct provider has none.
func wantLedger(t *testing.T, c check.Config, report check.Report, bug string) {
	t.Helper()
	switch notes := left(t, c); {
	case len(notes) > 0 && (bug == "" || len(report.Left) == 0) && hides[bug] == "":
		t.Errorf("left behind: %v; reported: %v", notes, report.Left)
	case len(report.Left) > 0 && bug == "":
		t.Errorf("reported as left: %v", report.Left)
	}
}

// Correct providers have nothing left after any scenario alone.
func TestLedger(t *testing.T) {
	for _, p := range correct {
		if testing.Short() && !strings.HasPrefix(p.name, "over HTTP") {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			if p.tool != "" {
				require.Tool(t, p.tool)
			}
			for _, s := range check.Scenarios() {
				c := p.config(t)
				c.Only = []string{s.ID}
				report, err := check.Run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				t.Run(s.ID, func(t *testing.T) { wantLedger(t, c, report, "") })
			}
		})
	}
}

// TestCatalogue checks that the right rule finds each seeded bug, without false findings in any provider, with or without a bug.
// With -short it checks only the providers that need no process of their own.
func TestCatalogue(t *testing.T) {
	var hits atomic.Int32
	var mu sync.Mutex
	var wrong, total, others int // guarded by mu
	look := func(t *testing.T, tool, bug string, config func(*testing.T) check.Config) (check.Report, bool) {
		t.Parallel()
		if tool != "" {
			require.Tool(t, tool)
		}
		c := config(t)
		report, err := check.Run(t.Context(), c)
		if err != nil {
			t.Error(err)
		} else {
			wantLedger(t, c, report, bug)
		}
		return report, err == nil
	}
	alarms := func(t *testing.T, report check.Report, expected []string) {
		for _, f := range report.Findings {
			if !slices.Contains(expected, f.ID) {
				expected = append(expected, f.ID) // each is reported once
				mu.Lock()
				wrong++
				mu.Unlock()
				t.Errorf("false alarm: %s in %s: %s\n  request %s\n  response %s", f.ID, f.Scenario, f.Detail, f.Request, f.Response)
			}
		}
	}
	t.Run("each", func(t *testing.T) {
		for _, p := range programs {
			if testing.Short() && p.name != "http" {
				continue
			}
			for _, b := range p.bugs {
				t.Run(p.name+"/"+b.name, func(t *testing.T) {
					report, ok := look(t, p.tool, b.name, func(t *testing.T) check.Config { return p.config(t, b) })
					mu.Lock()
					total++
					mu.Unlock()
					switch {
					case !ok:
					case has(report, b.rule):
						hits.Add(1)
					default:
						t.Errorf("%s (%s) is not found by %s, but by %v", b.name, b.wild, b.rule, found(report))
					}
					alarms(t, report, append(strings.Split(b.also, ","), b.rule))
				})
			}
		}
		for _, p := range correct {
			if testing.Short() && !strings.HasPrefix(p.name, "over HTTP") {
				continue
			}
			t.Run("correct/"+p.name, func(t *testing.T) {
				report, ok := look(t, p.tool, "", p.config)
				mu.Lock()
				others++
				mu.Unlock()
				want := len(check.Scenarios())
				if !strings.HasPrefix(p.name, optional) {
					want -= 2 // of the optional requests
				}
				if ok && len(report.Outcomes) != want {
					t.Errorf("%d of %d scenarios", len(report.Outcomes), want)
				}
				alarms(t, report, nil)
			})
		}
	})
	t.Logf("seeded bugs found %d of %d, false alarms %d over %d correct providers", hits.Load(), total, wrong, others)
}
