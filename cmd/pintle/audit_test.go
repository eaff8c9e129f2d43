package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
)

// audited returns the audit entries, one line each: caller, place, action and result.
func audited(t *testing.T, path string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var e audit.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Time.IsZero() || e.Request == "" || e.From != "127.0.0.1" {
			t.Errorf("%s lacks its time, request or address", line)
		}
		who := e.Who.Key
		if e.Who.Local {
			who = "local"
		}
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintln(who, e.Endpoint, e.Service, e.Action, e.Stack, e.Resource, e.ChangeSet, e.Token,
			e.Outcome, e.Status)), " "))
	}
	return lines
}

// Every change is recorded, through whichever endpoint. Reads and secrets are not.
func TestAuditLog(t *testing.T) {
	dir := t.TempDir()
	log, data := filepath.Join(dir, "audit.log"), filepath.Join(dir, "data")
	server := serve(t, data, "--audit-log", log)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	t.Cleanup(silent.Close)
	const secret = "planted-s3cret"
	template := aws.String(fmt.Sprintf(`{"Parameters": {"P": {"Type": "String", "NoEcho": true}},
		"Resources": {"R": {"Type": "Custom::Thing", "Properties": {"ServiceToken": %q, "P": {"Ref": "P"}}}}}`, silent.URL+"/?hook="+secret))
	parameters := []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: aws.String(secret)}}
	client, ctx := server.client(), t.Context()
	if _, err := client.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String("s"), TemplateBody: template, Parameters: parameters, ClientRequestToken: aws.String("mine"),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String("s"), TemplateBody: template, Parameters: parameters,
	}); err == nil {
		t.Error("a stack was created twice")
	}
	if _, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{}); err != nil {
		t.Fatal(err)
	}
	server.until("the provider is waited for", func() bool {
		answer := exec.Command("pintle", "respond", "s", "R", "--data", data, "--status", "SUCCESS", "--physical-id", "by-hand", "--attribute", "K="+secret)
		return answer.Run() == nil
	})
	// Refusals came before, until its request was delivered.
	lines := audited(t, log)
	for len(lines) > 3 && strings.HasSuffix(lines[2], "refused 400") {
		lines = append(lines[:2], lines[3:]...)
	}
	want := []string{
		"test api cloudformation CreateStack s mine granted 200",
		"test api cloudformation CreateStack s refused 400",
		"local operator Respond s R granted 200",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// It is moved away, and continues in a new file.
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	if err := server.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	server.until("the file is there anew", func() bool { _, err := os.Stat(log); return err == nil })
	if _, err := client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: aws.String("s")}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"test api cloudformation DeleteStack s granted 200"}, audited(t, log)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{log, log + ".1"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, error %v", name, info.Mode(), err)
		}
		for _, never := range []string{secret, "TemplateBody", "X-Amz", "by-hand"} {
			if bytes.Contains(text, []byte(never)) {
				t.Errorf("%s tells %q:\n%s", name, never, text)
			}
		}
	}
}

// Calls of ROS are recorded as those of CloudFormation are.
func TestAuditLogOfROS(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "audit.log")
	server := serve(t, filepath.Join(dir, "data"), "--audit-log", log)
	client, err := rosclient.New(rosclient.Config{
		Endpoint: server.url, Region: "cn-beijing", HTTP: awshttp.Client(),
		Keys: func(context.Context) (rosclient.Keys, error) {
			return rosclient.Keys{ID: "aliyun", Secret: "test"}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	template := `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"Q": {"Type": "ALIYUN::MNS::Queue", "Properties": {"QueueName": "q"}}}}`
	if err := client.Call(t.Context(), "CreateStack", url.Values{
		"StackName": {"r"}, "TemplateBody": {template}, "ClientToken": {"once"}, "TimeoutInMinutes": {"10"},
	}, nil); err != nil {
		t.Fatal(err)
	}
	if err := client.Call(t.Context(), "ListStacks", nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := client.Call(t.Context(), "DeleteStack", url.Values{"StackId": {"00000000-0000-0000-0000-000000000000"}}, nil); err == nil {
		t.Error("a stack was deleted that there is not")
	}
	want := []string{
		"aliyun api ros CreateStack r once granted 200",
		"aliyun api ros DeleteStack 00000000-0000-0000-0000-000000000000 refused 404",
	}
	if diff := cmp.Diff(want, audited(t, log)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAuditLogThatIsFull checks that a change is made even if its audit record cannot be written. The server counts
// and logs the failure.
func TestAuditLogThatIsFull(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("this system has no file that is always full")
	}
	server := serve(t, filepath.Join(t.TempDir(), "data"), "--audit-log", full)
	if _, err := server.client().DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("none")}); err != nil {
		t.Fatal(err)
	}
	server.until("the log tells what is not on record", func() bool {
		return strings.Contains(server.output(), "an audit record was not written") && strings.Contains(server.output(), "action=DeleteStack")
	})
	if series, _ := scrape(t, server.url+"/metrics", ""); series["pintle_audit_errors_total"] != 1 {
		t.Errorf("%v changes are counted as not on record", series["pintle_audit_errors_total"])
	}
}
