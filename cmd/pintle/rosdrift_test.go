package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

const rosReadable = `{"ROSTemplateFormatVersion": "2015-09-01", "Parameters": {"Key": {"Type": "String", "NoEcho": true}}, "Resources": {
	"A": {"Type": "Custom::File", "Properties": {"ServiceToken": "acs:fc:cn-hangzhou:1234567890123456:functions/File",
		"Parameters": {"Name": "a", "Size": 5, "Key": {"Ref": "Key"}}}}}}`

// TestROSReadsSurviveKill kills the server while a provider reads a resource of a ROS stack. The Read is sent once more.
func TestROSReadsSurviveKill(t *testing.T) {
	onBothStores(t, testROSReadsSurviveKill)
}

func testROSReadsSurviveKill(t *testing.T, args ...string) {
	server := serveReader(t, args...)
	check := server.check
	call := func(out any, action string, pairs ...string) error {
		client, err := rosclient.New(rosclient.Config{
			Endpoint: server.url, Region: "cn-hangzhou",
			Keys: func(context.Context) (rosclient.Keys, error) { return rosclient.Keys{ID: "test", Secret: "test"}, nil },
		})
		check(err)
		parameters := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			parameters.Set(pairs[i], pairs[i+1])
		}
		return client.Call(t.Context(), action, parameters, out)
	}
	var stack struct{ StackID, Status, StackDriftStatus string }
	check(call(&stack, "CreateStack", "StackName", "s", "TemplateBody", rosReadable, "Parameters.1.ParameterKey", "Key", "Parameters.1.ParameterValue", "hunter2"))
	id := stack.StackID
	server.until("the stack is created", func() bool {
		return call(&stack, "GetStack", "StackId", id) == nil && stack.Status == "CREATE_COMPLETE"
	})

	check(os.WriteFile(filepath.Join(server.shelf, "a.json"), []byte(`{"size": 7, "key": "swordfish"}`), 0o600))
	server.holdRead()
	var detection struct{ DriftDetectionID string }
	check(call(&detection, "DetectStackDrift", "StackId", id))
	server.restartInRead()

	var end struct {
		DriftDetectionStatus, StackDriftStatus string
		DriftedStackResourceCount              int
	}
	server.until("the drift is detected", func() bool {
		err := call(&end, "GetStackDriftDetectionStatus", "DriftDetectionId", detection.DriftDetectionID)
		return err == nil && end.DriftDetectionStatus != "DETECTION_IN_PROGRESS"
	})
	if end.DriftDetectionStatus != "DETECTION_COMPLETE" || end.StackDriftStatus != "DRIFTED" || end.DriftedStackResourceCount != 1 {
		t.Errorf("the detection is %+v", end)
	}
	check(call(&stack, "GetStack", "StackId", id))
	if stack.StackDriftStatus != "DRIFTED" {
		t.Errorf("GetStack: %s", stack.StackDriftStatus)
	}
	var list struct {
		ResourceDrifts []struct {
			LogicalResourceID, ResourceDriftStatus string
			PropertyDifferences                    []struct{ PropertyPath, ExpectedValue, ActualValue string }
		}
	}
	check(call(&list, "ListStackResourceDrifts", "StackId", id))
	var got []string
	for _, r := range list.ResourceDrifts {
		got = append(got, r.LogicalResourceID+" "+r.ResourceDriftStatus)
		for _, d := range r.PropertyDifferences {
			got = append(got, d.PropertyPath+": "+d.ExpectedValue+" -> "+d.ActualValue)
		}
	}
	if diff := cmp.Diff([]string{"A MODIFIED", "/Parameters/Size: 5 -> 7", "/Parameters/Key: ***** -> *****"}, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	server.wantRequests("Create a", "Read a", "Read a")
	for _, secret := range []string{"hunter2", "swordfish"} {
		if strings.Contains(server.output(), secret) {
			t.Errorf("the server's log contains %s", secret)
		}
	}
}

// TestROSDriftSDK detects drift with the typed methods of the SDK for Python.
func TestROSDriftSDK(t *testing.T) {
	folder, python := require.Popcore(t), require.Tool(t, "python3")
	const id, secret = "LTAIexample", "the secret of an access key"
	shelf := filepath.Join(t.TempDir(), "shelf")
	t.Setenv("SHELF", shelf)
	program, err := exec.LookPath("reader")
	if err != nil {
		t.Fatal(err)
	}
	s := serveWithKey(t, id, secret, "--provider", "File="+program)
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "ros", "drift.py"), s.url, shelf)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(folder, "python"), "PYTHONDONTWRITEBYTECODE=1", "KEY_ID="+id, "KEY_SECRET="+secret,
		"TEMPLATE="+rosReadable)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\nthe server's log:\n%s", err, out, s.output())
	}
}
