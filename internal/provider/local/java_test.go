package local_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/clienttest"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// javaHome returns an environment with a home directory that may contain AWS's libraries.
func javaHome(home string) []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home} }

// TestJavaFunction runs every form of a Java handler: with the libraries in its package, in a layer, or in Maven's
// local repository.
func TestJavaFunction(t *testing.T) {
	require.Tool(t, "java")
	whole, bare, layer := t.TempDir(), t.TempDir(), t.TempDir()
	clienttest.Classes(t, whole, filepath.Join("testdata", "java", "Handlers.java"), true)
	clienttest.Classes(t, bare, filepath.Join("testdata", "java", "Handlers.java"), false)
	if err := os.CopyFS(filepath.Join(layer, "java", "lib"), os.DirFS(filepath.Join(require.Java(t), "lib"))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, dir, home, handler string
		layers                   []string
		payload, want            string // the result, or the type and message of the error
	}{
		{"package", whole, "/none", "dev.pintle.Handlers$Mapped::handleRequest", nil, `{"color":"red"}`,
			`{"color":"red","function":"f","options":"-Done=1","task":true,"trusts":"/a b/trust"}`},
		{"layer", bare, "/none", "dev.pintle.Handlers$Streamed", []string{layer}, `{"a":[1]}`, `{"echo":{"a":[1]}}`},
		{"repository", bare, require.Java(t), "dev.pintle.Handlers::plain", nil, `{"color":"red"}`, `{"color":"RED"}`},
		{"failure", bare, require.Java(t), "dev.pintle.Handlers::failing", nil, `{"color":"red"}`, "java.lang.IllegalStateException: no red left"},
		{"no class", bare, require.Java(t), "dev.pintle.None", nil, `{}`, "java.lang.ClassNotFoundException: Class not found: dev.pintle.None"},
		{"no client", bare, "/none", "dev.pintle.Handlers::plain", nil, `{}`, ": no runtime interface client: a Java handler needs AWS's " +
			"runtime interface client for Java, which is neither in the handler's code nor in /none/.m2/repository: run \"mvn dependency:get " +
			"-Dartifact=com.amazonaws:aws-lambda-java-runtime-interface-client:2.10.1\", or add that dependency to the handler"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			target, err := local.FunctionTarget(test.dir, "java17", test.handler)
			if err != nil {
				t.Fatal(err)
			}
			k := newKit(t, "", func(c *local.Config, p *local.Provider) {
				c.Environ, c.CacheDir = javaHome(test.home), t.TempDir()
				c.Trust = func(env map[string]string, program bool) error {
					if program {
						env["JAVA_TOOL_OPTIONS"] = strings.TrimPrefix(env["JAVA_TOOL_OPTIONS"]+` "-Djavax.net.ssl.trustStore=/a b/trust" -Dtwo=2`, " ")
					}
					return nil
				}
				*p = local.Provider{
					Name: "P", Contract: bootstrap.Lambda, Target: target, Handler: test.handler, Env: map[string]string{"JAVA_TOOL_OPTIONS": "-Done=1"},
					Function: &local.Function{Name: "f", Runtime: "java17", Layers: test.layers},
				}
			})
			if err := k.Invoke("P", local.Event{ID: "1", Payload: []byte(test.payload), WantResult: true}); err != nil {
				t.Fatal(err)
			}
			o := k.next().outcome
			got := string(o.Result)
			if o.Kind != local.Returned {
				got = o.Type + ": " + o.Message
			}
			if got != test.want {
				t.Errorf("%s, want %s\n%s", got, test.want, strings.Join(o.Log, "\n"))
			}
		})
	}
}

// TestJavaProvider checks a project file with a jar, or a directory with classes, and the handler's class.
func TestJavaProvider(t *testing.T) {
	require.Tool(t, "java")
	dir := t.TempDir()
	classes := filepath.Join(dir, "classes")
	if err := os.Mkdir(classes, 0o700); err != nil {
		t.Fatal(err)
	}
	clienttest.Classes(t, classes, filepath.Join("testdata", "java", "Handlers.java"), false)
	jar, err := os.Create(filepath.Join(dir, "handlers.jar"))
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(jar)
	if err := archive.AddFS(os.DirFS(classes)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := jar.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ run, handler, want string }{
		{"handlers.jar", "dev.pintle.Handlers::plain", `{"color":"RED"}`},
		{"classes", "dev.pintle.Handlers$Streamed", `{"echo":{"color":"red"}}`},
		{"handlers.jar", "", "provider P: target handlers.jar: handlers.jar holds classes, and none is named: name the handler with " +
			"handler: PACKAGE.CLASS, or PACKAGE.CLASS::METHOD"},
		{"classes", "dev.pintle.None", "provider P: target classes: handler dev.pintle.None: the directory has none of dev/pintle.py, dev.js, dev.mjs, dev.cjs"},
	} {
		t.Run(test.run+" "+test.handler, func(t *testing.T) {
			provider, err := local.ParseProvider(dir, project.Provider{Name: "P", Target: test.run, Handler: test.handler})
			if err != nil {
				if err.Error() != test.want {
					t.Errorf("%v, want %s", err, test.want)
				}
				return
			}
			k := newKit(t, "", func(c *local.Config, p *local.Provider) {
				c.Environ, c.CacheDir, *p = javaHome(require.Java(t)), t.TempDir(), provider
			})
			if err := k.Invoke("P", local.Event{ID: "1", Payload: []byte(`{"color":"red"}`), WantResult: true}); err != nil {
				t.Fatal(err)
			}
			o := k.next().outcome
			if got := string(o.Result); got != test.want {
				t.Errorf("%s, want %s\n%+v", got, test.want, o)
			}
		})
	}
}
