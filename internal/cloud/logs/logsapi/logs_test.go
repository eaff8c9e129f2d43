package logsapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/cloud/logs"
	"github.com/pintle-dev/pintle/internal/cloud/logs/logsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

var (
	home = registry.Scope{Account: "111122223333", Region: "eu-west-1"}
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

type m = map[string]any

// world is the API on a socket, with a client.
type world struct {
	t      *testing.T
	url    string
	client *awscall.Client
	groups *registry.Collection[registry.LogGroup]
	now    time.Time

	streams *logs.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	things := registry.New(rows)
	w := &world{t: t, groups: things.Groups, now: noon}
	kept, err := logs.New(logs.Config{
		Dir: t.TempDir(), Now: func() time.Time { return w.now },
		Retention: func(ctx context.Context, place registry.Scope, group string) (int, error) {
			item, err := w.groups.Get(ctx, place, group)
			return item.Of.Retention, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.streams = kept
	face, err := logsapi.New(logsapi.Config{
		Groups: w.groups, Records: things.Records, Streams: kept, Now: func() time.Time { return w.now },
		Caller: func(context.Context) (api.Caller, bool) {
			return api.Caller{Account: home.Account, Region: home.Region}, true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(face)
	t.Cleanup(server.Close)
	w.url = server.URL
	w.client, err = awscall.New(awscall.Config{
		Region: home.Region, Endpoint: server.URL, MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) call(action string, in m) map[string]any {
	w.t.Helper()
	out, err := w.client.Call(w.t.Context(), "cloudwatch-logs", action, in)
	if err != nil {
		w.t.Fatalf("%s %v: %v", action, in, err)
	}
	return out
}

func (w *world) refused(action string, in m, code, message string) {
	w.t.Helper()
	_, err := w.client.Call(w.t.Context(), "cloudwatch-logs", action, in)
	var answered *awscall.Error
	if !errors.As(err, &answered) || answered.Code != code || !strings.Contains(answered.Message, message) {
		w.t.Errorf("%s %v: %v, want %s %s", action, in, err, code, message)
	}
}

func TestNew(t *testing.T) {
	if _, err := logsapi.New(logsapi.Config{}); err == nil {
		t.Error("no error")
	}
}

func TestGroups(t *testing.T) {
	w := newWorld(t)
	const name, arn = "/aws/lambda/f", "arn:aws:logs:eu-west-1:111122223333:log-group:/aws/lambda/f"
	group := m{"logGroupName": name}
	w.refused("DeleteLogGroup", group, "ResourceNotFoundException", "The specified log group does not exist.")
	w.refused("PutRetentionPolicy", m{"logGroupName": name, "retentionInDays": 1}, "ResourceNotFoundException", "does not exist")
	w.call("CreateLogGroup", m{"logGroupName": name, "tags": m{"a": "b"}, "kmsKeyId": "key"})
	w.refused("CreateLogGroup", group, "ResourceAlreadyExistsException", "The specified log group already exists")
	w.call("PutRetentionPolicy", m{"logGroupName": name, "retentionInDays": 731})
	want := m{
		"logGroupName": name, "arn": arn + ":*", "logGroupArn": arn, "creationTime": noon.UnixMilli(), "retentionInDays": int64(731),
		"metricFilterCount": int64(0), "storedBytes": int64(0), "kmsKeyId": "key", "logGroupClass": "STANDARD",
	}
	if diff := cmp.Diff(m{"logGroups": []any{want}}, w.call("DescribeLogGroups", m{"logGroupNamePrefix": name})); diff != "" {
		t.Error(diff)
	}
	w.call("DeleteRetentionPolicy", group)
	if got := w.call("DescribeLogGroups", m{})["logGroups"].([]any)[0].(m)["retentionInDays"]; got != nil {
		t.Errorf("retention %v", got)
	}
	w.call("TagResource", m{"resourceArn": arn, "tags": m{"c": "d"}})
	w.call("UntagResource", m{"resourceArn": arn + ":*", "tagKeys": []any{"a"}})
	if diff := cmp.Diff(m{"tags": m{"c": "d"}}, w.call("ListTagsForResource", m{"resourceArn": arn})); diff != "" {
		t.Error(diff)
	}
	many := m{}
	for i := range 50 {
		many[fmt.Sprint(i)] = "v"
	}
	w.refused("TagResource", m{"resourceArn": arn, "tags": many}, "TooManyTagsException", "50 tags at most")
	w.refused("ListTagsForResource", m{"resourceArn": "arn:aws:logs:eu-west-1:444455556666:log-group:" + name}, "ResourceNotFoundException", "")
	w.refused("ListTagsForResource", m{"resourceArn": name}, "InvalidParameterException", "is not the ARN of a log group")
	w.refused("PutRetentionPolicy", m{"logGroupName": name, "retentionInDays": 2}, "InvalidParameterException",
		"Value '2' at 'retentionInDays' failed to satisfy constraint: Member must satisfy enum value set: [1, 3, 5, 7, 14,")
	w.refused("CreateLogGroup", m{"logGroupName": "AWS/x"}, "InvalidParameterException", "reserved for AWS")
	w.refused("CreateLogGroup", m{"logGroupName": "a b"}, "InvalidParameterException", "'a b' at 'logGroupName'")
	w.refused("CreateLogGroup", m{"logGroupName": "g", "deletionProtectionEnabled": true}, "InvalidParameterException", "deletionProtectionEnabled")
	w.refused("CreateLogGroup", m{"logGroupName": "g", "logGroupClass": "GOLD"}, "InvalidParameterException", "INFREQUENT_ACCESS")
	w.refused("StartQuery", m{"logGroupName": name, "queryString": "x", "startTime": 0, "endTime": 1}, "UnknownOperationException", "Set AWS_ENDPOINT_URL_CLOUDWATCH_LOGS")
	w.call("DeleteLogGroup", group)
	if groups := w.call("DescribeLogGroups", m{})["logGroups"].([]any); len(groups) != 0 {
		t.Errorf("%v", groups)
	}
}

func TestDescribe(t *testing.T) {
	w := newWorld(t)
	var all []string
	for i := range 120 {
		all = append(all, fmt.Sprintf("/aws/lambda/f%03d", i))
	}
	all = append(all, "/aws/lambdb", "/aws/vpc", "/AWS/lambda", "/aws", "a")
	for i, name := range all {
		class := ""
		if i%2 == 1 {
			class = "INFREQUENT_ACCESS"
		}
		if _, err := w.groups.Put(t.Context(), registry.Item[registry.LogGroup]{Scope: home, Name: name, Of: registry.LogGroup{Class: class}}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(in m) (names []string, pages int) {
		t.Helper()
		for {
			out := w.call("DescribeLogGroups", in)
			for _, g := range out["logGroups"].([]any) {
				names = append(names, g.(m)["logGroupName"].(string))
			}
			pages++
			if out["nextToken"] == nil {
				return names, pages
			}
			in["nextToken"] = out["nextToken"]
		}
	}
	for name, test := range map[string]struct {
		in    m
		want  []string
		pages int
	}{
		"all":            {m{}, append([]string{"/AWS/lambda", "/aws"}, append(append([]string{}, all[:120]...), "/aws/lambdb", "/aws/vpc", "a")...), 3},
		"prefix":         {m{"logGroupNamePrefix": "/aws/lambda/f01"}, all[10:20], 1},
		"paged prefix":   {m{"logGroupNamePrefix": "/aws/lambda/f01", "limit": 3}, all[10:20], 4},
		"whole pages":    {m{"logGroupNamePrefix": "/aws/lambda/f01", "limit": 5}, all[10:20], 2},
		"prefix as name": {m{"logGroupNamePrefix": "/aws/vpc"}, []string{"/aws/vpc"}, 1},
		"none":           {m{"logGroupNamePrefix": "/aws/x"}, nil, 1},
		"pattern":        {m{"logGroupNamePattern": "WS/LAMBDA", "limit": 50}, append([]string{"/AWS/lambda"}, all[:120]...), 3},
		"class":          {m{"logGroupClass": "INFREQUENT_ACCESS", "logGroupNamePrefix": "/aws/lambda/f00"}, []string{all[1], all[3], all[5], all[7], all[9]}, 1},
	} {
		names, pages := list(test.in)
		if diff := cmp.Diff(test.want, names); diff != "" || pages != test.pages {
			t.Errorf("%s: %d pages %s", name, pages, diff)
		}
	}
	w.refused("DescribeLogGroups", m{"limit": 51}, "InvalidParameterException", "'limit'")
	w.refused("DescribeLogGroups", m{"logGroupNamePrefix": "a", "logGroupNamePattern": "b"}, "InvalidParameterException", "mutually exclusive")
	w.refused("DescribeLogGroups", m{"nextToken": "x"}, "InvalidParameterException", "nextToken is invalid")
	w.refused("DescribeLogGroups", m{"logGroupNamePrefix": "a\x01"}, "InvalidParameterException", "cannot have")
}

const script = `
import boto3, botocore.config, sys
logs = boto3.client("logs", endpoint_url=sys.argv[1], region_name="eu-west-1", aws_access_key_id="AKID", aws_secret_access_key="SECRET",
    config=botocore.config.Config(proxies={}, retries={"total_max_attempts": 1}))
logs.create_log_group(logGroupName="/aws/lambda/f")
try:
    logs.create_log_group(logGroupName="/aws/lambda/f")
    raise Exception("created twice")
except logs.exceptions.ResourceAlreadyExistsException:
    pass
logs.put_retention_policy(logGroupName="/aws/lambda/f", retentionInDays=1)
groups = logs.describe_log_groups()["logGroups"]
assert groups[0]["retentionInDays"] == 1, groups
logs.create_log_stream(logGroupName="/aws/lambda/f", logStreamName="s")
put = [{"timestamp": 1795348800000 + i, "message": str(i)} for i in range(5)]
assert "rejectedLogEventsInfo" not in logs.put_log_events(logGroupName="/aws/lambda/f", logStreamName="s", logEvents=put)
pages = logs.get_paginator("filter_log_events").paginate(logGroupName="/aws/lambda/f", PaginationConfig={"PageSize": 2})
assert [e["message"] for page in pages for e in page["events"]] == list("01234")
assert [s["logStreamName"] for s in logs.describe_log_streams(logGroupName="/aws/lambda/f")["logStreams"]] == ["s"]
got = logs.get_log_events(logGroupName="/aws/lambda/f", logStreamName="s", startFromHead=True, limit=3)
assert [e["message"] for e in got["events"]] == list("012"), got
got = logs.get_log_events(logGroupName="/aws/lambda/f", logStreamName="s", nextToken=got["nextForwardToken"])
assert [e["message"] for e in got["events"]] == list("34"), got
logs.put_resource_policy(policyName="p", policyDocument="{}")
logs.delete_resource_policy(policyName="p")
logs.delete_log_group(logGroupName="/aws/lambda/f")
try:
    logs.delete_log_group(logGroupName="/aws/lambda/f")
    raise Exception("deleted twice")
except logs.exceptions.ResourceNotFoundException:
    pass
`

func TestBoto3(t *testing.T) {
	python, w := require.Python(t, "boto3"), newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", script, w.url)
	cmd.Env = append(os.Environ(), "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1")
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
}
