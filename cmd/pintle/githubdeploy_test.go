package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

var updateGitHub = flag.Bool("github.update", false, "write testdata/deployers/github.txtar from the calls of the action")

// githubCalls has the calls of version 2.2.0 of the action aws-actions/aws-cloudformation-github-deploy, as TestGitHubDeployAction
// recorded them. The names of its files are those of githubRuns.
const githubCalls = "testdata/deployers/github.txtar"

// githubRuns are runs of the action, one after the other. Inputs that are not given have the defaults of action.yml.
var githubRuns = []struct {
	name   string
	inputs map[string]string
	fails  bool
	says   string // in the output of the action
	status types.StackStatus
}{
	{"deploy", map[string]string{"parameter-overrides": "Name=a,Text=b"}, false, "/notes/a", types.StackStatusCreateComplete},
	{"deploy again", map[string]string{"parameter-overrides": "Name=a,Text=c"}, false, "/notes/a", types.StackStatusUpdateComplete},
	{"no changes", map[string]string{"parameter-overrides": "Name=a,Text=c"}, false, "_No changes detected_", types.StackStatusUpdateComplete},
	{"no changes, which fails", map[string]string{"parameter-overrides": "Name=a,Text=c", "fail-on-empty-changeset": "1"}, true,
		"The submitted information didn't contain changes.", types.StackStatusUpdateComplete},
	{"failed deploy", map[string]string{"parameter-overrides": "Name=x/y,Text=c"}, true,
		"Stack execution failed: The following resource(s) failed to update: [Note].", types.StackStatusUpdateRollbackComplete},
	{"deploy after a failure", map[string]string{"parameter-overrides": "Name=a,Text=d"}, false, "/notes/a", types.StackStatusUpdateComplete},
	{"create only", map[string]string{"parameter-overrides": "Name=a,Text=e", "mode": "create-only", "change-set-name": "reviewed"}, false,
		"changes-count", types.StackStatusUpdateComplete},
	{"execute only", map[string]string{"mode": "execute-only", "execute-change-set-id": "reviewed", "template": ""}, false,
		"/notes/a", types.StackStatusUpdateComplete},
	{"no changes, set is kept", map[string]string{"parameter-overrides": "Name=a,Text=e", "no-delete-failed-changeset": "1"}, false,
		"_No changes detected_", types.StackStatusUpdateComplete},
	{"name of a kept set", map[string]string{"parameter-overrides": "Name=a,Text=f"}, true,
		"ChangeSet github-CS cannot be created due to a mismatch with existing attribute Parameters", types.StackStatusUpdateComplete},
}

// TestGitHubDeployCalls plays the recorded calls of GitHub's deploy action: run after run, it uses one name for its change sets.
// Source of the behavior: recorded answers of CloudFormation, D1.
func TestGitHubDeployCalls(t *testing.T) {
	require.Tool(t, "python3") // for the function of the template
	s := serve(t, t.TempDir())
	archive, err := txtar.ParseFile(githubCalls)
	if err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile("testdata/deployers/template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{"$template": string(template)}
	for i, run := range githubRuns {
		if archive.Files[i].Name != run.name {
			t.Fatalf("run %d is %q, want %q", i, archive.Files[i].Name, run.name)
		}
		for call := range strings.Lines(string(archive.Files[i].Data)) {
			request, wantStatus, _ := strings.Cut(strings.TrimSpace(call), " => ")
			form, err := url.ParseQuery(request)
			if err != nil {
				t.Fatal(err)
			}
			for key := range form {
				if text, ok := known[form.Get(key)]; ok {
					form.Set(key, text)
				}
			}
			answer := s.githubCall(t, form)
			for name, expression := range githubNames {
				if found := expression.FindStringSubmatch(answer); found != nil {
					known[name] = found[1]
				}
			}
			if status, _, _ := strings.Cut(answer, " "); status != wantStatus {
				t.Errorf("%s, %s: got %s", run.name, call, answer)
			}
		}
		s.githubIs(t, run.name, run.status)
	}
}

// githubNames are values of answers that later calls send back.
var githubNames = map[string]*regexp.Regexp{
	"$stack":      regexp.MustCompile(`<StackId>([^<]+)</StackId>`),
	"$change-set": regexp.MustCompile(`<CreateChangeSetResult><Id>([^<]+)</Id>`),
	"$operation":  regexp.MustCompile(`>(?:CREATE|UPDATE)_STACK</OperationType><OperationId>([^<]+)<`),
}

// githubCall sends a form and returns the status and the answer. It repeats a question about a stack until its operation has finished.
func (s *served) githubCall(t *testing.T, form url.Values) (answer string) {
	t.Helper()
	s.until("the operation has ended", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261126/us-east-1/cloudformation/aws4_request, "+
			"SignedHeaders=host, Signature="+strings.Repeat("0", 64))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		answer = fmt.Sprint(response.StatusCode, " ", string(body))
		return form.Get("Action") != "DescribeStacks" || !strings.Contains(answer, "_IN_PROGRESS</StackStatus>") ||
			strings.Contains(answer, ">REVIEW_IN_PROGRESS<")
	})
	return answer
}

// githubIs checks the stack after a run.
func (s *served) githubIs(t *testing.T, run string, status types.StackStatus) {
	t.Helper()
	name := "github"
	out, err := s.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		t.Fatal(err)
	}
	stack := out.Stacks[0]
	var path string
	for _, o := range stack.Outputs {
		if *o.OutputKey == "Path" {
			path = *o.OutputValue
		}
	}
	if stack.StackStatus != status || path != "/notes/a" {
		t.Errorf("after %s, the stack is %s with the path %q, want %s with /notes/a", run, stack.StackStatus, path, status)
	}
}

// TestGitHubDeployAction runs the unmodified action, which is published on GitHub only: PINTLE_GITHUB_DEPLOY names a clone of
// https://github.com/aws-actions/aws-cloudformation-github-deploy. Its calls must be those that TestGitHubDeployCalls plays.
func TestGitHubDeployAction(t *testing.T) {
	clone := os.Getenv("PINTLE_GITHUB_DEPLOY")
	if clone == "" {
		t.Skip("PINTLE_GITHUB_DEPLOY names no clone of the action")
	}
	require.Tool(t, "python3")
	node := require.Tool(t, "node")
	s := serve(t, t.TempDir())
	recorder := recordGitHub(t, s.url)
	workspace := t.TempDir()
	if err := os.CopyFS(workspace, os.DirFS(filepath.Join("testdata", "deployers"))); err != nil {
		t.Fatal(err)
	}
	archive := &txtar.Archive{Comment: []byte("The calls of aws-actions/aws-cloudformation-github-deploy 2.2.0. See githubdeploy_test.go.\n")}
	for _, run := range githubRuns {
		inputs := githubDefaults(t, clone)
		maps.Copy(inputs, map[string]string{"name": "github", "template": "template.yaml"})
		maps.Copy(inputs, run.inputs)
		output := filepath.Join(t.TempDir(), "output")
		if err := os.WriteFile(output, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, node, filepath.Join(clone, "dist", "index.js"))
		cmd.WaitDelay = time.Second
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+recorder.url, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test",
			"AWS_SECRET_ACCESS_KEY=test", "GITHUB_WORKSPACE="+workspace, "GITHUB_OUTPUT="+output)
		for name, value := range inputs {
			cmd.Env = append(cmd.Env, "INPUT_"+strings.ToUpper(name)+"="+value)
		}
		said, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
		written, readErr := os.ReadFile(output)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if (err != nil) != run.fails || !strings.Contains(string(said)+string(written), run.says) {
			t.Errorf("%s ended with %v, want failure %v and %q:\n%s\n%s", run.name, err, run.fails, run.says, said, written)
		}
		s.githubIs(t, run.name, run.status)
		archive.Files = append(archive.Files, txtar.File{Name: run.name, Data: []byte(recorder.take())})
	}
	got := txtar.Format(archive)
	if *updateGitHub {
		if err := os.WriteFile(githubCalls, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(githubCalls)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the action calls something else than %s (-file +action):\n%s", githubCalls, diff)
	}
}

// githubDefaults returns the inputs of the action that have a default, as GitHub's runner passes them.
func githubDefaults(t *testing.T, clone string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(clone, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Default string }
	}
	if err := yaml.Unmarshal(text, &action); err != nil {
		t.Fatal(err)
	}
	inputs := map[string]string{}
	for name, input := range action.Inputs {
		if input.Default != "" {
			inputs[name] = input.Default
		}
	}
	return inputs
}

// githubRecorder passes calls to a server and records them.
type githubRecorder struct {
	url   string
	mu    sync.Mutex
	calls []string
	known map[string]string // of values to their names
}

func recordGitHub(t *testing.T, server string) *githubRecorder {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile("testdata/deployers/template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	recorder := &githubRecorder{known: map[string]string{string(template): "$template"}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(response *http.Response) error {
			body, err := io.ReadAll(response.Body)
			if err != nil {
				return err
			}
			response.Body = io.NopCloser(bytes.NewReader(body))
			form, _ := response.Request.Context().Value(githubForm{}).(url.Values)
			recorder.record(form, response.StatusCode, string(body))
			return nil
		},
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), githubForm{}, form)))
	}))
	t.Cleanup(front.Close)
	recorder.url = front.URL
	return recorder
}

// githubForm is the key of a call's form in its context.
type githubForm struct{}

// record notes a call. Two kinds depend on time and are left out: the action follows the events of the stack while it waits, and it
// asks for the stack until its operation has finished.
func (r *githubRecorder) record(form url.Values, status int, answer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, expression := range githubNames {
		if found := expression.FindStringSubmatch(answer); found != nil {
			r.known[found[1]] = name
		}
	}
	if form.Get("Action") == "DescribeEvents" && form.Has("StackName") {
		return
	}
	var members []string
	for _, key := range slices.Sorted(maps.Keys(form)) {
		value := form.Get(key)
		if name, ok := r.known[value]; ok {
			members = append(members, key+"="+name)
		} else {
			members = append(members, url.Values{key: {value}}.Encode())
		}
	}
	call := fmt.Sprint(strings.Join(members, "&"), " => ", status)
	if form.Get("Action") == "DescribeStacks" && len(r.calls) > 0 && r.calls[len(r.calls)-1] == call {
		return
	}
	r.calls = append(r.calls, call)
}

// take returns the calls so far and forgets them.
func (r *githubRecorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.calls, func(a, b string) int { // the action does not wait for a delete
		return cmp.Compare(strings.Count(a, "Action=DeleteChangeSet"), strings.Count(b, "Action=DeleteChangeSet"))
	})
	calls := strings.Join(r.calls, "\n") + "\n"
	r.calls = nil
	return calls
}
