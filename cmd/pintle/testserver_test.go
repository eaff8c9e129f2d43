package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/pintletest"
)

// readerTemplate is a stack with a resource of the provider reader.
const readerTemplate = `
Parameters: {Name: {Type: String}, Key: {Type: String, NoEcho: true, Default: ""}}
Resources:
  Doc: {Type: Custom::Doc, Properties: {ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:Reader", Name: !Ref Name, Key: !Ref Key}}
Outputs: {Path: {Value: !GetAtt Doc.Path}}
`

// readerProject writes a project whose provider is the reader, and returns its directory.
func readerProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	reader, err := exec.LookPath("reader")
	if err != nil {
		t.Fatal(err)
	}
	project := fmt.Sprintf("stack: other\nproviders: {Reader: %q}\nparameters: {Name: wrong}\n", reader)
	if err := os.WriteFile(filepath.Join(dir, "pintle.yaml"), []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "template.yaml"), []byte(readerTemplate), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStartServer deploys and deletes a stack on servers that pintletest started.
func TestStartServer(t *testing.T) {
	t.Setenv("SHELF", t.TempDir())
	t.Setenv("PINTLE_LISTEN", "127.0.0.1:1") // nothing may listen there, so a server that reads it does not start
	t.Setenv("AWS_PROFILE", "other")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PINTLE", relativeProgram(t, here))
	project := readerProject(t)
	var at string
	t.Run("test", func(t *testing.T) {
		server := pintletest.StartServer(t, "--project", project)
		at = server.URL
		t.Setenv("AWS_REGION", "eu-west-1") // which is set too late to have an effect
		outputs, err := server.Deploy(t.Context(), "docs", readerTemplate, map[string]string{"Name": "a", "Key": "k-1"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"Path": "/shelf/a"}, outputs); diff != "" {
			t.Error(diff)
		}
		if outputs, err = server.Deploy(t.Context(), "docs", readerTemplate, map[string]string{"Name": "b"}); err != nil || outputs["Path"] != "/shelf/b" {
			t.Errorf("the update: %v, %v", outputs, err)
		}
		_, err = server.Deploy(t.Context(), "broken", readerTemplate, map[string]string{"Name": "no/such/place"})
		if err == nil || !strings.HasPrefix(err.Error(), "pintle deploy: stack broken was not created") || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("a create that fails: %v", err)
		}
		if err := server.Delete(t.Context(), "docs"); err != nil {
			t.Error(err)
		}
		if err := server.Delete(t.Context(), "docs"); err != nil {
			t.Errorf("the second delete: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := server.Deploy(ended, "late", readerTemplate, nil); err == nil {
			t.Error("Deploy ignores that its context has ended")
		}

		server.Setenv()
		if got := os.Getenv("AWS_ENDPOINT_URL_CLOUDFORMATION"); got != server.URL || os.Getenv("AWS_REGION") != server.Region || server.Region == "eu-west-1" {
			t.Errorf("the endpoint is %q and the region %q; the server has %+v", got, os.Getenv("AWS_REGION"), server)
		}
		if profile, ok := os.LookupEnv("AWS_PROFILE"); ok {
			t.Errorf("AWS_PROFILE is %q", profile)
		}
	})
	if !refuses(t, at) {
		t.Error("the server serves after its test")
	}
	if os.Getenv("AWS_PROFILE") != "other" || os.Getenv("AWS_ENDPOINT_URL_CLOUDFORMATION") == at {
		t.Error("the environment is not restored")
	}
}

// relativeProgram returns the program as a path relative to a directory.
func relativeProgram(t *testing.T, dir string) string {
	t.Helper()
	program, err := exec.LookPath("pintle")
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(dir, program)
	if err != nil {
		t.Fatal(err)
	}
	return relative
}

// awaitEnd waits until a server accepts no connections and no process has a text in its environment.
func awaitEnd(t *testing.T, at, text string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !refuses(t, at) || len(processesWith(t, text)) > 0; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("the server at %q still runs; processes %v", at, processesWith(t, text))
		}
	}
}

// refuses reports whether a server accepts no connections.
func refuses(t *testing.T, at string) bool {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
	if err == nil {
		_ = connection.Close()
	}
	return err != nil
}

// TestStartServerWithTheTool starts a server with the tool of the test's own module.
func TestStartServerWithTheTool(t *testing.T) {
	if testing.Short() {
		t.Skip("links the program")
	}
	goTool := require.Tool(t, "go")
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/pintle-dev/pintle"
	text := strings.Replace(string(mod), "module "+module+"\n", "module example.test/site\n", 1)
	text += fmt.Sprintf("\ntool %s/cmd/pintle\n\nrequire %[1]s v0.0.0\n\nreplace %[1]s => %s\n", module, root)
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": text, "go.sum": string(sum), "site_test.go": `package site

import (
	"testing"

	"github.com/pintle-dev/pintle/pintletest"
)

func TestServer(t *testing.T) {
	if server := pintletest.StartServer(t); server.URL == "" {
		t.Error("no URL")
	}
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), goTool, "test", ".")
	cmd.Dir = dir
	// The C compiler stays on PATH, or go would compile everything again without cgo.
	path := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "pintle"))
		return err == nil
	})
	cmd.Env = append(os.Environ(), "PATH="+strings.Join(path, string(os.PathListSeparator)), "PINTLE=", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// parentVariable is the directory of the project whose server TestParentOfServer starts.
const parentVariable = "PINTLE_TEST_PARENT"

// TestParentOfServer is the process that TestServerEndsWithItsParent kills.
func TestParentOfServer(t *testing.T) {
	project := os.Getenv(parentVariable)
	if project == "" {
		t.Skip("it is a part of TestServerEndsWithItsParent")
	}
	server := pintletest.StartServer(t, "--project", project)
	if _, err := server.Deploy(t.Context(), "docs", readerTemplate, map[string]string{"Name": "a"}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("serving", server.URL)
	<-t.Context().Done()
}

// TestServerEndsWithItsParent kills processes that started a server for a test. Nothing of the server remains: neither the server nor
// the process of a provider.
func TestServerEndsWithItsParent(t *testing.T) {
	program, err := exec.LookPath("pintle")
	if err != nil {
		t.Fatal(err)
	}
	integrations, err := filepath.Abs(filepath.Join("..", "..", "integrations"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"test_parent.py": `
import time


def test_parent(pintle_server):
    pintle_server.deploy("docs", open("template.yaml").read(), {"Name": "a"})
    print("serving", pintle_server.url, flush=True)
    time.sleep(600)
`,
		"pytest.ini": "[pytest]\npintle_serve = --project .\n",
		"parent.js": fmt.Sprintf(`const { readFileSync } = require('node:fs');
const { startServer } = require(%q);
(async () => {
  const server = await startServer({ options: ['--project', '.'] });
  await server.deploy('docs', readFileSync('template.yaml', 'utf8'), { Name: 'a' });
  console.log('serving', server.url);
  setTimeout(() => {}, 600_000);
})();
`, filepath.Join(integrations, "node", "testing", "testing.js")),
	}
	for name, command := range map[string]func(*testing.T, string) *exec.Cmd{
		"go": func(t *testing.T, project string) *exec.Cmd {
			t.Helper()
			cmd := exec.Command(os.Args[0], "-test.run=^TestParentOfServer$", "-test.v")
			cmd.Env = append(os.Environ(), parentVariable+"="+project)
			return cmd
		},
		"node": func(t *testing.T, _ string) *exec.Cmd {
			t.Helper()
			return exec.Command(require.Tool(t, "node"), "parent.js")
		},
		"pytest": func(t *testing.T, _ string) *exec.Cmd {
			t.Helper()
			require.Python(t, "boto3")
			cmd := exec.Command(require.Python(t, "pytest"), "-m", "pytest", "-p", "pytest_pintle", "-p", "no:cacheprovider", "-s", "-q")
			cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(integrations, "pytest"), "PYTHONDONTWRITEBYTECODE=1")
			return cmd
		},
	} {
		for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			t.Run(name+"/"+signal.String(), func(t *testing.T) {
				t.Parallel()
				project := readerProject(t)
				for name, text := range files {
					if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				cmd := command(t, project)
				if cmd.Env == nil {
					cmd.Env = os.Environ()
				}
				// Every process of this server has the directory in its environment.
				cmd.Env = append(cmd.Env, "SHELF="+filepath.Join(project, "shelf"), "PINTLE="+program, "TMPDIR="+t.TempDir())
				cmd.Dir = project
				at := serving(t, cmd)
				if runtime.GOOS == "linux" && len(processesWith(t, project)) < 3 {
					t.Fatalf("processes %v: want the parent, the server and the provider", processesWith(t, project))
				}
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait() // it ended by a signal
				awaitEnd(t, at, project)
			})
		}
	}
}

// serving starts a command, waits until it prints the address of a server, and returns it.
func serving(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // which ends its output
	defer late.Stop()
	var printed strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if _, at, ok := strings.Cut(lines.Text(), "serving "); ok {
			return at
		}
		printed.WriteString(lines.Text() + "\n")
	}
	_ = cmd.Wait()
	t.Fatalf("%v starts no server:\n%s%s", cmd.Args, &printed, &stderr)
	return ""
}

// processesWith returns the IDs of the processes that have a text in their environment. It is empty on other systems than Linux.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, file := range files {
		// A process of another user, or one that has ended, is none of these.
		if environ, err := os.ReadFile(file); err == nil && strings.Contains(string(environ), text) {
			list = append(list, filepath.Base(filepath.Dir(file)))
		}
	}
	return list
}

// TestNodeServer runs tests of Node that use a server.
func TestNodeServer(t *testing.T) {
	node := require.Tool(t, "node")
	module, err := filepath.Abs(filepath.Join("..", "..", "integrations", "node", "testing", "testing.js"))
	if err != nil {
		t.Fatal(err)
	}
	project := readerProject(t)
	script := fmt.Sprintf(`import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { startServer } from %q;

const template = readFileSync('template.yaml', 'utf8');
let server;
before(async () => (server = await startServer({ options: ['--project', '.'] })));
after(() => server.stop());

test('a stack', async () => {
  assert.deepEqual(await server.deploy('docs', template, { Name: 'a' }), { Path: '/shelf/a' });
  assert.deepEqual(await server.deploy('docs', template, { Name: 'b', Key: 'k-1' }), { Path: '/shelf/b' });
  await server.delete('docs');
  await server.delete('docs');
});

test('a template that is an object', async () => {
  const resource = { Type: 'AWS::SSM::Parameter', Properties: { Type: 'String', Name: '/a', Value: 'b' } };
  assert.deepEqual(await server.deploy('plain', { Resources: { R: resource } }), {});
});

test('a create that fails', async () => {
  await assert.rejects(server.deploy('broken', template, { Name: 'no/such/place' }), /^Error: pintle deploy: stack broken was not created[^]*no such file/);
});

test('variables', () => {
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal(server.env.AWS_ENDPOINT_URL_LAMBDA, server.url);
  assert.equal(server.env.AWS_REGION, server.region);
  assert.equal(server.env.AWS_SECRET_ACCESS_KEY, server.credentials.secretAccessKey);
  assert.ok('AWS_PROFILE' in server.env && server.env.AWS_PROFILE === undefined);
});

test('a server that does not start', async () => {
  await assert.rejects(startServer({ options: ['--no-such-flag'] }), /exited with status 2[^]*unknown flag: --no-such-flag/);
  await assert.rejects(startServer({ cwd: 'no-such-directory' }), /the directory no-such-directory does not exist/);
});

test('a server that stops', async () => {
  const other = await startServer();
  const { port } = new URL(other.url);
  await Promise.all([other.stop(), other.stop()]);
  await assert.rejects(new Promise((resolve, reject) => connect(port, '127.0.0.1', resolve).on('error', reject)), { code: 'ECONNREFUSED' });
});
`, module)
	forgetful := fmt.Sprintf("require(%q).startServer().then((server) => console.log(server.url));\n", module)
	for name, text := range map[string]string{"site.test.mjs": script, "forgetful.js": forgetful} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	relative := relativeProgram(t, project) // the program also runs in another directory
	temporary := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), node, args...)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "PINTLE="+relative, "SHELF="+filepath.Join(project, "shelf"), "TMPDIR="+temporary, "AWS_PROFILE=other",
			"PINTLE_LISTEN=127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:9")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("node %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("--test", "site.test.mjs")
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("temporary files remain: %v, %v", left, err)
	}
	// A program that does not stop its server ends, and so does the server.
	at := strings.TrimSpace(run("forgetful.js"))
	awaitEnd(t, at, project)
}
