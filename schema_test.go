package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

type tree struct {
	Name string
	Kids []tree `json:",omitempty"`
}

type shownProperties struct {
	Domain   string        `pintle:"required,immutable,length=1..64,pattern=^[a-z.]+$,help='Where it is, and will be'"`
	Mode     string        `pintle:"enum=fast|slow,default=fast"`
	Port     int           `pintle:"min=1,max=65535,default=80"`
	Count    uint          ``
	Ratio    *float64      ``
	On       bool          `pintle:"default=true"`
	Wait     time.Duration `pintle:"default=30s"`
	Key      Secret
	Tags     map[string]string `pintle:"length=..3"`
	Ports    []int             `pintle:"min=1,length=1..,default='[1]'"`
	At       time.Time
	Any      any
	Bytes    []byte
	Tree     tree
	Endpoint struct {
		URL  string `pintle:"required"`
		Zone string `pintle:"immutable"`
	}
}

type shownAttributes struct {
	URL   string
	Count int
	Key   Secret
	Token string `pintle:"secret"`
	Wait  time.Duration
}

type shown struct{}

func (shown) Create(context.Context, *CreateRequest[shownProperties]) (r Response[shownAttributes], err error) {
	return
}
func (shown) Update(context.Context, *UpdateRequest[shownProperties]) (r Response[shownAttributes], err error) {
	return
}
func (shown) Delete(context.Context, *DeleteRequest[shownProperties]) error { return nil }

func TestSchema(t *testing.T) {
	const want = `{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"resourceTypes": {
			"*": {
				"attributes": {"type": "object", "additionalProperties": false, "properties": {
					"Path": {"type": "string"}, "Key": {"type": "string", "x-secret": true}}},
				"properties": {"type": "object", "additionalProperties": false, "required": ["Zone"],
					"createOnlyProperties": ["/properties/Zone"], "properties": {
					"Zone": {"type": "string"}, "Key": {"type": "string", "writeOnly": true}, "Fails": {"type": "string"},
					"Size": {"type": ["integer", "string"], "pattern": "^-?[0-9]+$", "minimum": 1, "default": 10}}}
			},
			"Custom::Shown": {
				"attributes": {"type": "object", "additionalProperties": false, "properties": {
					"URL": {"type": "string"}, "Count": {"type": "integer"}, "Key": {"type": "string", "x-secret": true},
					"Token": {"type": "string", "x-secret": true}, "Wait": {"type": "integer"}}},
				"properties": {"type": "object", "additionalProperties": false, "required": ["Domain", "Endpoint"],
					"createOnlyProperties": ["/properties/Domain", "/properties/Endpoint/Zone"],
					"$defs": {"tree": {"type": "object", "additionalProperties": false, "properties": {
						"Name": {"type": "string"}, "Kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}},
					"properties": {
					"Domain": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[a-z.]+$", "description": "Where it is, and will be"},
					"Mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
					"Port": {"type": ["integer", "string"], "pattern": "^-?[0-9]+$", "minimum": 1, "maximum": 65535, "default": 80},
					"Count": {"type": ["integer", "string"], "pattern": "^-?[0-9]+$", "minimum": 0},
					"Ratio": {"type": ["number", "string"], "pattern": "^-?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"},
					"On": {"enum": [true, false, "true", "false"], "default": true},
					"Wait": {"type": ["string", "number"], "default": "30s"},
					"Key": {"type": "string", "writeOnly": true},
					"Tags": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3},
					"Ports": {"type": "array", "minItems": 1, "default": [1], "items": {"type": ["integer", "string"], "pattern": "^-?[0-9]+$", "minimum": 1}},
					"At": {"type": "string", "format": "date-time"}, "Any": {},
					"Bytes": {"type": "string", "contentEncoding": "base64"},
					"Tree": {"$ref": "#/$defs/tree"},
					"Endpoint": {"type": "object", "additionalProperties": false, "required": ["URL"], "properties": {
						"URL": {"type": "string"}, "Zone": {"type": "string"}}}}}
			}
		}
	}`
	var out, log bytes.Buffer
	handlers := []Handler{For("Custom::Shown", AlwaysDelete(New(shown{}))), New(newDisks())}
	if code := run(handlers, []string{"provider", "schema"}, &out, &log); code != 0 || log.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, &log)
	}
	if got, want := canonical(t, out.String()), canonical(t, want); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := Schema(HandlerFunc(nil)); err == nil || !strings.Contains(err.Error(), "no schema") {
		t.Errorf("a handler without a schema: %v", err)
	}
	out.Reset()
	if code := run([]Handler{HandlerFunc(nil)}, []string{"provider", "schema"}, &out, &log); code != 3 || out.Len() > 0 || !strings.Contains(log.String(), "no schema") {
		t.Errorf("the program of a handler without a schema exits with %d and prints %s%s, want 3 and that it has no schema", code, &out, &log)
	}
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestCommandLine(t *testing.T) {
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "")
	for _, tt := range []struct {
		args        string
		code        int
		stdout, err string
	}{
		{"", 2, "", "This program is a provider"},
		{"--help", 0, "--listen ADDRESS", ""},
		{"shema", 2, "", `unknown command "shema"`},
		{"--lisen x", 2, "", "flag provided but not defined: -lisen"},
		{"--listen 127.0.0.1:0", 1, "", "requests over HTTP could not be verified"},
		{"--listen 127.0.0.1:0 --topic x", 1, "", "is not a topic"},
		{"--listen 0.0.0.0:0 --unsigned", 1, "", "on a loopback address only"},
	} {
		var out, log bytes.Buffer
		code := run([]Handler{New(newDisks())}, append([]string{"provider"}, strings.Fields(tt.args)...), &out, &log)
		if code != tt.code || !strings.Contains(out.String(), tt.stdout) || !strings.Contains(log.String(), tt.err) ||
			(tt.stdout == "") != (out.Len() == 0) || (tt.err == "") != (log.Len() == 0) {
			t.Errorf("%q: exit code %d\n%s%s", tt.args, code, &out, &log)
		}
	}
}

// A queue on the command line takes precedence over the address in the environment, and --listen over the queue.
func TestQueueFlagGoesBeforeTheEnvironment(t *testing.T) {
	t.Setenv("AWS_LAMBDA_RUNTIME_API", "")
	t.Setenv("PINTLE_PROVIDER_LISTEN", "no-port")
	for args, want := range map[string]string{
		"":                         "address no-port: missing port",
		"--queue x":                "the queue is not a URL",
		"--queue x --listen other": "address other: missing port",
	} {
		var out, log bytes.Buffer
		args := append([]string{"provider"}, strings.Fields(args)...)
		code := run([]Handler{New(newDisks())}, append(args, "--topic", "arn:aws:sns:us-east-1:123456789012:t"), &out, &log)
		if code != 1 || !strings.Contains(log.String(), want) {
			t.Errorf("%q: exit code %d\n%swant %s", args, code, &log, want)
		}
	}
}

// A program that imports the package, pintletest or wire gets no other module.
func TestNoDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}}{{end}}",
		".", "./wire", "./pintletest").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	if modules = slices.Compact(modules); len(modules) != 1 || modules[0] != "github.com/pintle-dev/pintle" {
		t.Errorf("modules %q, want this one alone", modules)
	}
}
