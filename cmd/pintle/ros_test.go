package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestROSClients plays the life of a stack of ROS by Alibaba Cloud's own clients, whose calls are signed, before a real server
// and a real provider.
func TestROSClients(t *testing.T) {
	folder, node := require.Popcore(t), require.Tool(t, "node")
	const id, secret = "LTAIexample", "the secret of an access key"
	s, provider := serveWithKey(t, id, secret), newROSProvider(t)
	var mu sync.Mutex
	reported := map[string][]string{} // the reported statuses by recipient
	listener := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Status string }
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&message); err != nil {
			t.Errorf("notification: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		reported[path.Base(r.URL.Path)] = append(reported[path.Base(r.URL.Path)], message.Status)
	}))
	t.Cleanup(listener.Close)
	for _, client := range []string{"popcore", "popcore-get", "ros-cdk", "sdk"} {
		t.Run(client, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "ros", "clients.js"), folder, client, s.url, "web:"+provider.URL)
			cmd.Env = append(os.Environ(), "KEY_ID="+id, "KEY_SECRET="+secret, "TOLD="+listener.URL)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\nthe server's log:\n%s", err, out, s.output())
			}
			want := []string{"CREATE_COMPLETE", "DELETE_COMPLETE", "ROLLBACK_COMPLETE", "UPDATE_COMPLETE", "UPDATE_COMPLETE"}
			var got []string
			s.until("all events have reached "+client, func() bool {
				mu.Lock()
				defer mu.Unlock()
				got = slices.Sorted(slices.Values(reported[client]))
				return len(got) >= len(want)
			})
			if !slices.Equal(got, want) {
				t.Errorf("told %v, want %v", got, want)
			}
		})
	}
}

// TestROSCDK deploys an app of the CDK of ROS, updates and destroys it, with the calls of its command ros-cdk.
func TestROSCDK(t *testing.T) {
	folder, node := require.Popcore(t), require.Tool(t, "node")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "@alicloud", "ros-cdk-core")); err != nil {
		t.Fatalf("%v: an older tools/popcore/install has made %s; run it again", err, require.PopcoreVariable)
	}
	const id, secret = "LTAIexample", "the secret of an access key"
	s, provider := serveWithKey(t, id, secret), newROSProvider(t)
	cmd := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "ros", "cdk.js"), folder, s.url, "web:"+provider.URL)
	cmd.Env = append(os.Environ(), "KEY_ID="+id, "KEY_SECRET="+secret, "TMPDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\nthe server's log:\n%s", err, out, s.output())
	}
}

// TestROSPython plays it by three generations of the SDK for Python: the newest two sign every header that they set, the oldest
// signs parameters.
func TestROSPython(t *testing.T) {
	folder, python := require.Popcore(t), require.Tool(t, "python3")
	const id, secret = "LTAIexample", "the secret of an access key"
	s, provider := serveWithKey(t, id, secret), newROSProvider(t)
	for _, client := range []string{"python", "python-iact3", "python-v1"} {
		t.Run(client, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(folder, client)); err != nil {
				t.Fatalf("%v: an older tools/popcore/install has made %s; run it again", err, require.PopcoreVariable)
			}
			path := filepath.Join(folder, client) + string(os.PathListSeparator) + filepath.Join(folder, "python")
			cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "ros", "clients.py"), client, s.url, "web:"+provider.URL)
			cmd.Env = append(os.Environ(), "PYTHONPATH="+path, "PYTHONDONTWRITEBYTECODE=1", "KEY_ID="+id, "KEY_SECRET="+secret)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\nthe server's log:\n%s", err, out, s.output())
			}
		})
	}
}

// TestROSJava plays it by the libraries beneath the SDKs for Java: that of the newest, and that of the first.
func TestROSJava(t *testing.T) {
	libraries := filepath.Join(require.Java(t), "ros")
	java := require.Tool(t, "java")
	if _, err := os.Stat(libraries); err != nil {
		t.Fatalf("%v: an older tools/java/install has made %s; run it again", err, require.JavaVariable)
	}
	const id, secret = "LTAIexample", "the secret of an access key"
	s, provider := serveWithKey(t, id, secret), newROSProvider(t)
	for _, client := range []string{"java", "java-v1"} {
		t.Run(client, func(t *testing.T) {
			program := filepath.Join("testdata", "ros", "Clients.java")
			cmd := exec.CommandContext(t.Context(), java, "-Dfile.encoding=UTF-8", "-cp", filepath.Join(libraries, "*"), program, client, s.url, "web:"+provider.URL)
			cmd.Env = append(os.Environ(), "KEY_ID="+id, "KEY_SECRET="+secret)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\nthe server's log:\n%s", err, out, s.output())
			}
		})
	}
}

// TestROSGo plays it by the libraries beneath the clients in Go: that of the SDKs, and that of the aliyun CLI.
func TestROSGo(t *testing.T) {
	clients := filepath.Join(require.Popcore(t), "go-clients")
	if _, err := os.Stat(clients); err != nil {
		t.Fatalf("%v: an older tools/popcore/install has made %s; run it again", err, require.PopcoreVariable)
	}
	const id, secret = "LTAIexample", "the secret of an access key"
	s, provider := serveWithKey(t, id, secret), newROSProvider(t)
	for _, client := range []string{"go", "go-v1"} {
		t.Run(client, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), clients, client, s.url, "web:"+provider.URL)
			cmd.Env = append(os.Environ(), "KEY_ID="+id, "KEY_SECRET="+secret)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\nthe server's log:\n%s", err, out, s.output())
			}
		})
	}
}

// serveWithKey starts a server that knows a key, whose calls it verifies.
func serveWithKey(t *testing.T, id, secret string, args ...string) *served {
	t.Helper()
	dir := t.TempDir()
	credentials := filepath.Join(dir, "credentials")
	text := "[default]\naws_access_key_id = " + id + "\naws_secret_access_key = " + secret + "\naws_account_id = 123456789012\n"
	if err := os.WriteFile(credentials, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return serve(t, dir, append([]string{"--credentials", credentials}, args...)...)
}

// newROSProvider starts a provider behind a URL that answers each request by a POST to its response URL, as on Function Compute.
// It fails requests with a parameter Fail.
func newROSProvider(t *testing.T) *httptest.Server {
	t.Helper()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ResponseURL, StackId, RequestId, LogicalResourceId string
			ResourceProperties                                 map[string]any
		}
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request); err != nil {
			t.Errorf("request: %v", err)
		}
		answer := map[string]any{
			"StackId": request.StackId, "RequestId": request.RequestId, "LogicalResourceId": request.LogicalResourceId,
			"Status": "SUCCESS", "PhysicalResourceId": "thing-1", "Data": map[string]any{"Answer": 42.5},
		}
		if request.ResourceProperties["Fail"] == true {
			answer["Status"], answer["Reason"] = "FAILED", "no disk"
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		response, err := http.Post(request.ResponseURL, "application/json", bytes.NewReader(text)) //nolint:noctx // it is short
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			said, _ := io.ReadAll(response.Body)
			t.Errorf("the response URL answers %s: %s", response.Status, said)
		}
	}))
	t.Cleanup(provider.Close)
	return provider
}

// TestAliyunCLI does the same by the command line of Alibaba Cloud, which has the parameters of the signature in the query and the
// others in the form.
func TestAliyunCLI(t *testing.T) {
	aliyun := require.Tool(t, "aliyun")
	const id, secret = "LTAIexample", "the secret of an access key"
	s := serveWithKey(t, id, secret)
	provider := newROSProvider(t)
	body := `{"ROSTemplateFormatVersion": "2015-09-01", "Parameters": {"Size": {"Type": "Number"}}, "Resources": {"Thing": {"Type": "Custom::Thing",
		"Properties": {"ServiceToken": "web:` + provider.URL + `", "Parameters": {"Size": {"Ref": "Size"}}}}},
		"Outputs": {"Answer": {"Value": {"Fn::GetAtt": ["Thing", "Answer"]}}}}`
	home := t.TempDir()
	run := func(secret, action string, arguments ...string) (string, error) {
		arguments = append([]string{"ros", action, "--RegionId", "cn-hangzhou"}, arguments...)
		arguments = append(arguments, "--region", "cn-hangzhou", "--endpoint", strings.TrimPrefix(s.url, "http://"),
			"--insecure", "--force", "--mode", "AK", "--access-key-id", id, "--access-key-secret", secret)
		cmd := exec.CommandContext(t.Context(), aliyun, arguments...)
		cmd.Env = append(os.Environ(), "HOME="+home)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	call := func(action string, arguments ...string) map[string]any {
		t.Helper()
		out, err := run(secret, action, arguments...)
		var reply map[string]any
		if err == nil {
			err = json.Unmarshal([]byte(out), &reply)
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s\nthe server's log:\n%s", action, err, out, s.output())
		}
		return reply
	}
	refused := func(secret, code, action string, arguments ...string) {
		t.Helper()
		out, err := run(secret, action, arguments...)
		if err == nil || !strings.Contains(out, "ErrorCode: "+code+"\n") {
			t.Errorf("%s: %v, want %s\n%s", action, err, code, out)
		}
	}
	const missing = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	refused("another secret", "SignatureDoesNotMatch", "ListStacks")
	refused(secret, "StackNotFound", "GetStack", "--StackId", missing)
	refused(secret, "ChangeSetNotFound", "GetChangeSet", "--ChangeSetId", missing)
	refused(secret, "MissingParameter", "CreateStack", "--StackName", "s")
	stack, _ := call("CreateStack", "--StackName", "s", "--TemplateBody", body, "--TimeoutInMinutes", "20",
		"--Parameters.1.ParameterKey", "Size", "--Parameters.1.ParameterValue", "7")["StackId"].(string)
	settled := func(want string) map[string]any {
		t.Helper()
		var reply map[string]any
		s.until("the stack is "+want, func() bool {
			reply = call("GetStack", "--StackId", stack)
			return !strings.HasSuffix(reply["Status"].(string), "_IN_PROGRESS")
		})
		if reply["Status"] != want {
			t.Fatalf("%v", reply)
		}
		return reply
	}
	outputs, _ := settled("CREATE_COMPLETE")["Outputs"].([]any)
	if len(outputs) != 1 || outputs[0].(map[string]any)["OutputValue"] != 42.5 {
		t.Errorf("%v", outputs)
	}
	given := func(size string) []string {
		return []string{"--StackId", stack, "--TemplateBody", body, "--Parameters.1.ParameterKey", "Size", "--Parameters.1.ParameterValue", size}
	}
	refused(secret, "StackExists", "CreateStack", "--StackName", "s", "--TemplateBody", body, "--Parameters.1.ParameterKey", "Size",
		"--Parameters.1.ParameterValue", "7")
	refused(secret, "NotSupported", "UpdateStack", given("7")...)
	call("UpdateStack", given("8")...)
	settled("UPDATE_COMPLETE")
	call("TagResources", "--ResourceType", "stack", "--ResourceId.1", stack, "--Tag.1.Key", "team", "--Tag.1.Value", "x")
	if tags, _ := settled("UPDATE_COMPLETE")["Tags"].([]any); len(tags) != 1 {
		t.Errorf("tags %v", tags)
	}
	set, _ := call("CreateChangeSet", append(given("9"), "--ChangeSetName", "more")...)["ChangeSetId"].(string)
	if shown := call("GetChangeSet", "--ChangeSetId", set); shown["ExecutionStatus"] != "AVAILABLE" {
		t.Errorf("change set %v", shown)
	}
	call("ExecuteChangeSet", "--ChangeSetId", set)
	settled("UPDATE_COMPLETE")
	if events, _ := call("ListStackEvents", "--StackId", stack, "--PageSize", "50")["Events"].([]any); len(events) != 12 {
		t.Errorf("%d events: %v", len(events), events)
	}
	if resources, _ := call("ListStackResources", "--StackId", stack)["Resources"].([]any); len(resources) != 1 {
		t.Errorf("resources %v", resources)
	}
	detection, _ := call("DetectStackDrift", "--StackId", stack)["DriftDetectionId"].(string)
	if found := call("GetStackDriftDetectionStatus", "--DriftDetectionId", detection); found["DriftDetectionStatus"] != "DETECTION_COMPLETE" {
		t.Errorf("drift detection %v", found)
	}
	if drifts, _ := call("ListStackResourceDrifts", "--StackId", stack)["ResourceDrifts"].([]any); len(drifts) != 1 {
		t.Errorf("resource drifts %v", drifts)
	}
	refused(secret, "NotSupported", "DetectStackResourceDrift", "--StackId", stack, "--LogicalResourceId", "Thing")
	refused(secret, "DriftDetectionNotFound", "GetStackDriftDetectionStatus", "--DriftDetectionId", missing)
	call("DeleteStack", "--StackId", stack)
	settled("DELETE_COMPLETE")
}
