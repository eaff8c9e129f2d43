package cdk_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/author/generate"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// generatedSchema is the schema for the constructs of the apps in testdata/generated.
const generatedSchema = "../../author/generate/testdata/schema.json"

// wantProperties are the properties that each app sets on its construct.
const wantProperties = `{
	"Name": "a", "Pages": [{"Title": "Home", "Weight": 3}], "Groups": {"admins": [{"Member": "m"}]}, "Labels": {"k": "v"}, "Level": 2,
	"Menu": {"Title": "Top", "Entries": [{"Title": "Below"}]}, "Origin": {"class": true, "from": "x"}, "Private": true, "Timeout": "30s",
	"URLs": ["a", "b"]
}`

// program is an app in its own directory, with the construct that it uses.
type program struct {
	t          *testing.T
	dir        string
	tools, cdk string // installed tools
}

func newProgram(t *testing.T, f generate.Format, pkg, sub string, sources ...string) *program {
	t.Helper()
	p := &program{t: t, dir: t.TempDir(), tools: require.CDKLanguages(t), cdk: require.CDKCLI(t)}
	text, err := os.ReadFile(generatedSchema)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := generate.Read(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.Write(resources, pkg)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		p.write(filepath.Join(sub, file.Name), file.Text)
	}
	for _, source := range sources {
		p.copy(source, filepath.Base(source))
	}
	return p
}

func (p *program) write(name string, text []byte) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) copy(source, name string) {
	p.t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(name, text)
}

// run runs a command and returns its standard output.
func (p *program) run(name string, args ...string) []byte {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(p.tools, "python"), "GOFLAGS=-mod=mod", "GOPROXY=off",
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1", "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION=1",
		"JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION=1")
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, errors.Bytes())
	}
	return out
}

// compile compiles TypeScript with the modules in a directory.
func (p *program) compile(modules, file string) {
	p.t.Helper()
	if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(p.dir, "node_modules")); err != nil {
		p.t.Fatal(err)
	}
	installed := filepath.Join(p.tools, "node_modules")
	p.run("node", filepath.Join(installed, "typescript", "bin", "tsc"), "--strict", "--noUnusedLocals", "--target", "es2022",
		"--module", "commonjs", "--skipLibCheck", "--typeRoots", filepath.Join(installed, "@types"), "--types", "node", file)
}

// TestGenerated checks that a provider's schema becomes a construct that compiles in each language, and that all of
// them produce the same resource.
func TestGenerated(t *testing.T) {
	format := func(t *testing.T, language string) generate.Format {
		t.Helper()
		f, err := generate.CDK(language)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, synthesize := range map[string]func(*testing.T) []byte{
		"typescript": func(t *testing.T) []byte {
			require.Tool(t, "node")
			p := newProgram(t, format(t, "typescript"), "", "", "testdata/generated/app.ts")
			p.compile(p.cdk, "app.ts")
			return p.run("node", "app.js")
		},
		"python": func(t *testing.T) []byte {
			return newProgram(t, format(t, "python"), "", "", "testdata/generated/app.py").run(require.Tool(t, "python3"), "app.py")
		},
		"go": func(t *testing.T) []byte {
			require.Tool(t, "node") // required by the CDK
			p := newProgram(t, format(t, "go"), "sites", "sites", "testdata/generated/main.go",
				"../../../tools/cdklanguages/go.mod", "../../../tools/cdklanguages/go.sum")
			return p.run("go", "run", ".")
		},
		"java": func(t *testing.T) []byte {
			require.Tool(t, "javac")
			require.Tool(t, "node")
			p := newProgram(t, format(t, "java"), "example.sites", "example/sites", "testdata/generated/Main.java")
			jars := filepath.Join(p.tools, "jars", "*")
			p.run("javac", "-encoding", "UTF-8", "-Werror", "-d", "out", "-cp", jars, "Main.java", "example/sites/WebSite.java")
			return p.run("java", "-cp", "out"+string(filepath.ListSeparator)+jars, "Main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got struct {
				Resources map[string]struct {
					Type       string
					Properties map[string]any
				}
				Outputs map[string]struct{ Value any }
			}
			if err := json.Unmarshal(synthesize(t), &got); err != nil {
				t.Fatal(err)
			}
			want := decoded(t, wantProperties)
			want["ServiceToken"] = "arn:aws:lambda:us-east-1:000000000000:function:sites"
			const id = "SiteE53D7754"
			if r := got.Resources[id]; r.Type != "Custom::Web-Site" || !cmp.Equal(r.Properties, want) {
				t.Errorf("the resource differs: %s", cmp.Diff(want, r.Properties))
			}
			values := map[string]any{}
			for name, output := range got.Outputs {
				values[strings.TrimPrefix(name, "Site")[:3]] = output.Value
			}
			wantValues := map[string]any{
				"Url": map[string]any{"Fn::GetAtt": []any{id, "Url"}}, "Vis": map[string]any{"Fn::GetAtt": []any{id, "Visits"}},
			}
			if !cmp.Equal(values, wantValues) {
				t.Errorf("the outputs differ: %s", cmp.Diff(wantValues, values))
			}
		})
	}
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestGeneratedROS is TestGenerated for the ROS CDK.
func TestGeneratedROS(t *testing.T) {
	require.Tool(t, "node")
	t.Parallel()
	p := newProgram(t, generate.ROSCDK(), "", "", "testdata/generated/ros.ts")
	p.compile(require.OSS(t), "ros.ts")
	var got struct{ Resources, Outputs any }
	if err := json.Unmarshal(p.run("node", "ros.js"), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"Site": map[string]any{"Type": "Custom::Web-Site", "Properties": map[string]any{
		"ServiceToken": "acs:fc:cn-hangzhou:1234567890:functions/sites", "Timeout": 120.0, "Parameters": decoded(t, wantProperties),
	}}}
	if !cmp.Equal(got.Resources, any(want)) {
		t.Errorf("the resources differ: %s", cmp.Diff(any(want), got.Resources))
	}
	wantOutputs := decoded(t, `{"Url": {"Value": {"Fn::GetAtt": ["Site", "Url"]}}, "Visits": {"Value": {"Fn::GetAtt": ["Site", "Visits"]}}}`)
	if !cmp.Equal(got.Outputs, any(wantOutputs)) {
		t.Errorf("the outputs differ: %s", cmp.Diff(any(wantOutputs), got.Outputs))
	}
}

// TestGeneratedDeploys generates a construct from a provider's program, and deploys an app with it and that provider.
func TestGeneratedDeploys(t *testing.T) {
	require.Tool(t, "node")
	p := &program{t: t, dir: t.TempDir(), tools: require.CDKLanguages(t), cdk: require.CDKCLI(t)}
	provider := filepath.Join(t.TempDir(), "accounts")
	if out, err := exec.Command("go", "build", "-o", provider, "../../../examples/typed/provider").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	p.run(pintle(t), "generate", "cdk", provider, "--out", p.dir)
	p.copy("testdata/generated/typed.ts", "typed.ts")
	p.compile(p.cdk, "typed.ts")
	a := &app{t: t, cloud: newCloud(t, "--provider", "Accounts="+provider), source: filepath.Join(p.dir, "typed.js"), dir: p.dir, tools: p.cdk}
	first := a.deploys(nil)["typed"]
	if first["Login"] == "" || first["Id"] == "" {
		t.Fatalf("the outputs are %v", first)
	}
	second := a.deploys([]string{"region=south"})["typed"] // an immutable property
	if second["Id"] == first["Id"] {
		t.Errorf("the account %s was not replaced", first["Id"])
	}
	a.destroys()
}
