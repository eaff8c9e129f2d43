package logsapi_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// put creates a group g with streams whose messages are one second apart.
func (w *world) put(stream string, messages ...string) {
	w.t.Helper()
	if _, err := w.client.Call(w.t.Context(), "cloudwatch-logs", "CreateLogGroup", m{"logGroupName": "g"}); err != nil &&
		!strings.Contains(err.Error(), "already exists") {
		w.t.Fatal(err)
	}
	w.call("CreateLogStream", m{"logGroupName": "g", "logStreamName": stream})
	var events []any
	for i, message := range messages {
		events = append(events, m{"timestamp": w.now.Add(time.Duration(i) * time.Second).UnixMilli(), "message": message})
	}
	if len(events) > 0 {
		w.call("PutLogEvents", m{"logGroupName": "g", "logStreamName": stream, "logEvents": events})
	}
}

func messages(out m) (list []string) {
	for _, e := range out["events"].([]any) {
		list = append(list, e.(m)["message"].(string))
	}
	return list
}

func TestFilterLogEvents(t *testing.T) {
	w := newWorld(t)
	w.put("a", "ERROR 1", `{"level": "WARN"}`)
	w.put("b", "INFO 1", "ERROR 2")
	at := noon.UnixMilli()
	for name, test := range map[string]struct {
		in   m
		want []string
	}{
		"all":          {m{}, []string{"ERROR 1", "INFO 1", `{"level": "WARN"}`, "ERROR 2"}},
		"identifier":   {m{"logGroupName": nil, "logGroupIdentifier": "arn:aws:logs:eu-west-1:111122223333:log-group:g"}, []string{"ERROR 1", "INFO 1", `{"level": "WARN"}`, "ERROR 2"}},
		"streams":      {m{"logStreamNames": []any{"b"}}, []string{"INFO 1", "ERROR 2"}},
		"prefix":       {m{"logStreamNamePrefix": "a"}, []string{"ERROR 1", `{"level": "WARN"}`}},
		"end included": {m{"endTime": at}, []string{"ERROR 1", "INFO 1"}},
		"start":        {m{"startTime": at + 1}, []string{`{"level": "WARN"}`, "ERROR 2"}},
		"terms":        {m{"filterPattern": `ERROR -"ERROR 2"`}, []string{"ERROR 1"}},
		"JSON":         {m{"filterPattern": `{ $.level = "W*" }`}, []string{`{"level": "WARN"}`}},
		"nothing":      {m{"filterPattern": "absent"}, nil},
	} {
		in := m{"logGroupName": "g"}
		for key, value := range test.in {
			if in[key] = value; value == nil {
				delete(in, key)
			}
		}
		if diff := cmp.Diff(test.want, messages(w.call("FilterLogEvents", in))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var paged []string
	ids := map[string]bool{}
	in := m{"logGroupName": "g", "limit": 1}
	for {
		out := w.call("FilterLogEvents", in)
		for _, e := range out["events"].([]any) {
			ids[e.(m)["eventId"].(string)] = true
			paged = append(paged, fmt.Sprint(e.(m)["logStreamName"], e.(m)["timestamp"].(int64)-at))
		}
		if out["nextToken"] == nil {
			break
		}
		in["nextToken"] = out["nextToken"]
	}
	if diff := cmp.Diff([]string{"a0", "b0", "a1000", "b1000"}, paged); diff != "" || len(ids) != 4 {
		t.Errorf("%d ids, %s", len(ids), diff)
	}
	refused := func(in m, code, message string) {
		t.Helper()
		in["logGroupName"] = "g"
		w.refused("FilterLogEvents", in, code, message)
	}
	refused(m{"filterPattern": "a:b"}, "InvalidParameterException", "Invalid character(s) in term 'a:b'")
	refused(m{"filterPattern": "[a]"}, "InvalidParameterException", "space-delimited")
	refused(m{"logStreamNames": []any{"c"}}, "ResourceNotFoundException", "The specified log stream does not exist.")
	refused(m{"logStreamNames": []any{"a"}, "logStreamNamePrefix": "a"}, "InvalidParameterException", "mutually exclusive")
	refused(m{"limit": 10_001}, "InvalidParameterException", "'limit'")
	refused(m{"nextToken": "x"}, "InvalidParameterException", "nextToken is invalid")
	refused(m{"nextToken": in["nextToken"], "filterPattern": "x"}, "InvalidParameterException", "nextToken is invalid")
	w.refused("FilterLogEvents", m{"logGroupName": "none"}, "ResourceNotFoundException", "The specified log group does not exist.")
}

func TestGetLogEvents(t *testing.T) {
	w := newWorld(t)
	var all []string
	for i := range 5 {
		all = append(all, fmt.Sprint(i))
	}
	w.put("s", all...)
	get := func(in m) (m, []string) {
		t.Helper()
		in["logGroupName"], in["logStreamName"] = "g", "s"
		out := w.call("GetLogEvents", in)
		return out, messages(out)
	}
	out, got := get(m{"limit": 2})
	if !cmp.Equal(got, all[3:]) {
		t.Errorf("the last two: %q", got)
	}
	forward := out["nextForwardToken"]
	back, got := get(m{"limit": 2, "nextToken": out["nextBackwardToken"]})
	if !cmp.Equal(got, all[1:3]) {
		t.Errorf("the two before: %q", got)
	}
	if _, got = get(m{"nextToken": back["nextForwardToken"]}); !cmp.Equal(got, all[3:]) {
		t.Errorf("and forward: %q", got)
	}
	if out, got = get(m{"nextToken": forward}); len(got) > 0 || out["nextForwardToken"] != forward {
		t.Errorf("at the end: %q, %v", got, out)
	}
	w.now = noon.Add(time.Minute)
	w.call("PutLogEvents", m{"logGroupName": "g", "logStreamName": "s", "logEvents": []any{m{"timestamp": w.now.UnixMilli(), "message": "late"}}})
	if _, got = get(m{"nextToken": forward}); !cmp.Equal(got, []string{"late"}) {
		t.Errorf("later: %q", got)
	}
	if _, got = get(m{"startFromHead": true, "limit": 2}); !cmp.Equal(got, all[:2]) {
		t.Errorf("from the head: %q", got)
	}
	if _, got = get(m{"startTime": noon.UnixMilli() + 1000, "endTime": noon.UnixMilli() + 3000}); !cmp.Equal(got, all[1:3]) {
		t.Errorf("times: %q", got)
	}
	w.call("CreateLogStream", m{"logGroupName": "g", "logStreamName": "empty"})
	out = w.call("GetLogEvents", m{"logGroupName": "g", "logStreamName": "empty"})
	w.call("PutLogEvents", m{"logGroupName": "g", "logStreamName": "empty", "logEvents": []any{m{"timestamp": w.now.UnixMilli(), "message": "first"}}})
	if got := messages(w.call("GetLogEvents", m{"logGroupName": "g", "logStreamName": "empty", "nextToken": out["nextForwardToken"]})); !cmp.Equal(got, []string{"first"}) {
		t.Errorf("%q", got)
	}
	for _, token := range []string{"x", "f/1/s", "f/" + strings.Repeat("9", 56) + "/s", "g/" + strings.Repeat("0", 56) + "/s"} {
		w.refused("GetLogEvents", m{"logGroupName": "g", "logStreamName": "s", "nextToken": token}, "InvalidParameterException", "nextToken is invalid")
	}
	w.refused("GetLogEvents", m{"logGroupName": "g", "logStreamName": "no"}, "ResourceNotFoundException", "The specified log stream does not exist.")
}

func TestPutLogEvents(t *testing.T) {
	w := newWorld(t)
	w.put("s")
	at := noon.UnixMilli()
	put := func(events ...any) m { return m{"logGroupName": "g", "logStreamName": "s", "logEvents": events} }
	event := func(at int64, message string) any { return m{"timestamp": at, "message": message} }
	const hour = int64(3_600_000)
	w.call("PutRetentionPolicy", m{"logGroupName": "g", "retentionInDays": 1})
	out := w.call("PutLogEvents", put(event(at-15*24*hour, "old")))
	if diff := cmp.Diff(m{"tooOldLogEventEndIndex": int64(1)}, out["rejectedLogEventsInfo"]); diff != "" {
		t.Error(diff)
	}
	out = w.call("PutLogEvents", put(event(at-25*hour, "expired"), event(at-3*hour, "good")))
	if diff := cmp.Diff(m{"expiredLogEventEndIndex": int64(1)}, out["rejectedLogEventsInfo"]); diff != "" {
		t.Error(diff)
	}
	out = w.call("PutLogEvents", put(event(at, "now"), event(at+3*hour, "new")))
	if diff := cmp.Diff(m{"tooNewLogEventStartIndex": int64(1)}, out["rejectedLogEventsInfo"]); diff != "" {
		t.Error(diff)
	}
	if got := messages(w.call("FilterLogEvents", m{"logGroupName": "g"})); !cmp.Equal(got, []string{"good", "now"}) {
		t.Errorf("%q", got)
	}
	w.refused("PutLogEvents", put(event(at, "a"), event(at-1, "b")), "InvalidParameterException", "must be in chronological order")
	w.refused("PutLogEvents", put(event(at-25*hour, "a"), event(at, "b")), "InvalidParameterException", "cannot span more than 24 hours")
	w.refused("PutLogEvents", put(event(at, strings.Repeat("x", 1<<20))), "InvalidParameterException", "Upload too large: 1048602 bytes exceeds limit of 1048576")
	w.refused("PutLogEvents", put(event(at, "")), "InvalidParameterException", "logEvents.1.member.message")
	w.refused("PutLogEvents", m{"logGroupName": "g", "logStreamName": "no", "logEvents": []any{event(at, "x")}}, "ResourceNotFoundException", "log stream")
	w.now = noon.Add(22 * time.Hour)
	if got := messages(w.call("FilterLogEvents", m{"logGroupName": "g"})); !cmp.Equal(got, []string{"now"}) {
		t.Errorf("after the retention: %q", got)
	}
}

func TestLogStreams(t *testing.T) {
	w := newWorld(t)
	w.put("b", "1")
	w.put("c")
	w.now = noon.Add(time.Second)
	w.put("a", "2")
	names := func(in m) (list []string) {
		t.Helper()
		in["logGroupName"] = "g"
		for {
			out := w.call("DescribeLogStreams", in)
			for _, s := range out["logStreams"].([]any) {
				list = append(list, s.(m)["logStreamName"].(string))
			}
			if out["nextToken"] == nil {
				return list
			}
			in["nextToken"] = out["nextToken"]
		}
	}
	for name, test := range map[string]struct {
		in   m
		want []string
	}{
		"names":      {m{}, []string{"a", "b", "c"}},
		"pages":      {m{"limit": 2, "descending": true}, []string{"c", "b", "a"}},
		"events":     {m{"orderBy": "LastEventTime", "descending": true, "limit": 1}, []string{"a", "b", "c"}},
		"a prefix":   {m{"logStreamNamePrefix": "c"}, []string{"c"}},
		"ascending ": {m{"orderBy": "LastEventTime"}, []string{"c", "b", "a"}},
	} {
		if diff := cmp.Diff(test.want, names(test.in)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	first := w.call("DescribeLogStreams", m{"logGroupName": "g"})["logStreams"].([]any)[0].(m)
	at := w.now.UnixMilli()
	want := m{
		"logStreamName": "a", "creationTime": at, "firstEventTimestamp": at, "lastEventTimestamp": at, "lastIngestionTime": at,
		"arn": "arn:aws:logs:eu-west-1:111122223333:log-group:g:log-stream:a", "storedBytes": int64(0),
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	w.refused("CreateLogStream", m{"logGroupName": "g", "logStreamName": "a"}, "ResourceAlreadyExistsException", "The specified log stream already exists")
	w.refused("CreateLogStream", m{"logGroupName": "g", "logStreamName": "a:b"}, "InvalidParameterException", "[^:*]*")
	w.refused("CreateLogStream", m{"logGroupName": "no", "logStreamName": "a"}, "ResourceNotFoundException", "log group does not exist")
	w.refused("DescribeLogStreams", m{"logGroupName": "g", "orderBy": "LastEventTime", "logStreamNamePrefix": "a"}, "InvalidParameterException", "Cannot order by")
	w.call("DeleteLogStream", m{"logGroupName": "g", "logStreamName": "a"})
	w.refused("DeleteLogStream", m{"logGroupName": "g", "logStreamName": "a"}, "ResourceNotFoundException", "log stream does not exist")
	w.call("DeleteLogGroup", m{"logGroupName": "g"})
	w.put("d")
	if got := names(m{}); !cmp.Equal(got, []string{"d"}) {
		t.Errorf("streams of a group that was made again: %q", got)
	}
}

func TestResourcePolicies(t *testing.T) {
	w := newWorld(t)
	document := `{"Version": "2012-10-17"}`
	w.call("PutResourcePolicy", m{"policyName": "p", "policyDocument": document})
	w.now = noon.Add(time.Second)
	w.call("PutResourcePolicy", m{"policyName": "p", "policyDocument": document})
	want := []any{m{"policyName": "p", "policyDocument": document, "lastUpdatedTime": w.now.UnixMilli()}}
	if diff := cmp.Diff(want, w.call("DescribeResourcePolicies", m{})["resourcePolicies"]); diff != "" {
		t.Error(diff)
	}
	for i := range 9 {
		w.call("PutResourcePolicy", m{"policyName": fmt.Sprint(i), "policyDocument": document})
	}
	w.refused("PutResourcePolicy", m{"policyName": "x", "policyDocument": document}, "LimitExceededException", "Resource limit exceeded.")
	w.refused("PutResourcePolicy", m{"policyName": "p", "policyDocument": "{"}, "InvalidParameterException", "policy document is not valid")
	w.call("DeleteResourcePolicy", m{"policyName": "p"})
	w.refused("DeleteResourcePolicy", m{"policyName": "p"}, "ResourceNotFoundException", "Policy with name [p] does not exist")
}

// TestTailWithCLI checks that the command tails a group: it prints existing events, and then new ones.
func TestTailWithCLI(t *testing.T) {
	aws := require.AWSCLI2(t)
	w := newWorld(t)
	w.now = time.Now()
	w.put("s", "old line", "ERROR other")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, aws, "logs", "tail", "g", "--follow", "--format", "short", "--filter-pattern", "line", "--endpoint-url", w.url)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET", "AWS_REGION=eu-west-1", "AWS_CONFIG_FILE="+os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "NO_PROXY=127.0.0.1", "PYTHONUNBUFFERED=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for i, want := range []string{"old line", "new line"} {
		if !lines.Scan() || !strings.HasSuffix(lines.Text(), want) {
			t.Fatalf("line %d is %q, want %q", i, lines.Text(), want)
		}
		w.call("PutLogEvents", m{"logGroupName": "g", "logStreamName": "s", "logEvents": []any{m{"timestamp": time.Now().UnixMilli(), "message": "new line"}}})
	}
	cancel()
	_ = cmd.Wait() // it was killed
}
