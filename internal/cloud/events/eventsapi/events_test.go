package eventsapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/events/eventsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

var home = registry.Scope{Account: "111122223333", Region: "eu-west-1"}

const (
	function = "arn:aws:lambda:eu-west-1:111122223333:function:f"
	ruleARN  = "arn:aws:events:eu-west-1:111122223333:rule/"
)

type m = map[string]any

// world is the API on a socket, with an SDK client.
type world struct {
	t      *testing.T
	client *awscall.Client
	things *registry.Catalog

	mu   sync.Mutex
	sent []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, things: registry.New(rows)}
	made, err := events.New(events.Config{Catalog: w.things, Send: func(_ context.Context, _ registry.Scope, target registry.Target, payload []byte, ended func()) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sent = append(w.sent, target.ARN+" "+string(payload))
		ended()
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	face, err := eventsapi.New(eventsapi.Config{Rules: made, Caller: func(context.Context) (api.Caller, bool) {
		return api.Caller{Account: home.Account, Region: home.Region, Function: true}, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(face)
	t.Cleanup(server.Close)
	w.client, err = awscall.New(awscall.Config{
		Region: home.Region, Endpoint: server.URL, MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) call(action string, in m) m {
	w.t.Helper()
	out, err := w.client.Call(w.t.Context(), "eventbridge", action, in)
	if err != nil {
		w.t.Fatalf("%s %v: %v", action, in, err)
	}
	return out
}

func (w *world) refused(action string, in m, code, message string) {
	w.t.Helper()
	_, err := w.client.Call(w.t.Context(), "eventbridge", action, in)
	var answered *awscall.Error
	if !errors.As(err, &answered) || answered.Code != code || !strings.Contains(answered.Message, message) {
		w.t.Errorf("%s %v: %v, want %s %s", action, in, err, code, message)
	}
}

func TestNew(t *testing.T) {
	if _, err := eventsapi.New(eventsapi.Config{}); err == nil {
		t.Error("no error")
	}
}

func TestRules(t *testing.T) {
	w := newWorld(t)
	rule := m{"Name": "r"}
	w.refused("DescribeRule", rule, "ResourceNotFoundException", "Rule r does not exist on EventBus default.")
	w.refused("PutRule", rule, "ValidationException", "Parameter(s) EventPattern or ScheduleExpression must be specified.")
	w.refused("PutRule", m{"Name": "r", "ScheduleExpression": "rate(1 minutes)"}, "ValidationException", "Parameter ScheduleExpression is not valid.")
	w.refused("PutRule", m{"Name": "r", "EventPattern": `{"a": 1}`}, "InvalidEventPatternException", "Event pattern is not valid. Reason:")
	w.refused("PutRule", m{"Name": "r", "ScheduleExpression": "rate(1 minute)", "EventBusName": "b"}, "ResourceNotFoundException", "Event bus b does not exist.")
	w.refused("PutRule", m{"Name": "r", "ScheduleExpression": "rate(1 minute)", "State": "ON"}, "ValidationException", "[ENABLED, DISABLED]")
	w.refused("PutRule", m{"Name": "r", "ScheduleExpression": "rate(1 minute)", "Tags": []any{m{"Key": "aws:x", "Value": "y"}}}, "ValidationException", "Parameter Tags")
	arn := w.call("PutRule", m{
		"Name": "r", "ScheduleExpression": "rate(2 minutes)", "Description": "d", "RoleArn": "arn:aws:iam::111122223333:role/r", "EventBusName": "default",
		"Tags": []any{m{"Key": "a", "Value": "b"}},
	})["RuleArn"]
	if arn != ruleARN+"r" {
		t.Errorf("the ARN is %v", arn)
	}
	want := m{
		"Name": "r", "Arn": arn, "ScheduleExpression": "rate(2 minutes)", "Description": "d", "RoleArn": "arn:aws:iam::111122223333:role/r",
		"State": "ENABLED", "EventBusName": "default", "CreatedBy": home.Account,
	}
	if diff := cmp.Diff(want, w.call("DescribeRule", rule)); diff != "" {
		t.Error(diff)
	}
	of, err := w.things.Rules.Get(t.Context(), registry.Global, registry.RuleName(home, "r"))
	if err != nil || !of.Of.Poll || of.Of.Next.IsZero() {
		t.Errorf("a rule of a function does not poll: %+v, %v", of.Of, err)
	}
	w.call("DisableRule", rule)
	if got := w.call("DescribeRule", rule)["State"]; got != "DISABLED" {
		t.Errorf("it is %v", got)
	}
	w.call("EnableRule", rule)
	w.call("TagResource", m{"ResourceARN": arn, "Tags": []any{m{"Key": "c", "Value": "d"}}})
	w.call("UntagResource", m{"ResourceARN": arn, "TagKeys": []any{"a"}})
	if diff := cmp.Diff(m{"Tags": []any{m{"Key": "c", "Value": "d"}}}, w.call("ListTagsForResource", m{"ResourceARN": arn})); diff != "" {
		t.Error(diff)
	}
	w.refused("ListTagsForResource", m{"ResourceARN": "arn:aws:events:eu-west-1:444455556666:rule/r"}, "ResourceNotFoundException", "")
	w.refused("ListTagsForResource", m{"ResourceARN": "r"}, "ValidationException", "Provided Arn is not in correct format.")
	w.refused("CreateEventBus", m{"Name": "b"}, "UnknownOperationException", "Set AWS_ENDPOINT_URL_EVENTBRIDGE")
	w.call("DeleteRule", rule)
	w.call("DeleteRule", rule) // idempotent
	w.refused("EnableRule", rule, "ResourceNotFoundException", "")
}

func TestListRules(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.call("PutRule", m{"Name": fmt.Sprintf("a%d", i), "ScheduleExpression": "rate(1 day)"})
	}
	w.call("PutRule", m{"Name": "b", "EventPattern": `{"source": ["x"]}`})
	var names []string
	in := m{"NamePrefix": "a", "Limit": int64(2)}
	for {
		out := w.call("ListRules", in)
		for _, rule := range out["Rules"].([]any) {
			names = append(names, rule.(m)["Name"].(string))
		}
		if out["NextToken"] == nil {
			break
		}
		in["NextToken"] = out["NextToken"]
	}
	if got := strings.Join(names, " "); got != "a0 a1 a2 a3 a4" {
		t.Errorf("listed %s", got)
	}
	if all := w.call("ListRules", m{})["Rules"].([]any); len(all) != 6 {
		t.Errorf("listed %d", len(all))
	}
	w.refused("ListRules", m{"NextToken": "x"}, "ValidationException", "NextToken")
	w.refused("ListRules", m{"Limit": int64(101)}, "ValidationException", "limit")
}

func TestTargets(t *testing.T) {
	w := newWorld(t)
	w.call("PutRule", m{"Name": "r", "EventPattern": `{"source": ["shop"]}`})
	targets := []any{
		m{"Id": "1", "Arn": function, "Input": `{"a": 1}`, "RetryPolicy": m{"MaximumRetryAttempts": int64(2)}},
		m{"Id": "2", "Arn": function, "InputTransformer": m{"InputPathsMap": m{"n": "$.detail.n"}, "InputTemplate": `{"n": <n>}`}},
	}
	if diff := cmp.Diff(m{"FailedEntryCount": int64(0), "FailedEntries": []any{}}, w.call("PutTargets", m{"Rule": "r", "Targets": targets})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(m{"Targets": targets}, w.call("ListTargetsByRule", m{"Rule": "r"})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(m{"RuleNames": []any{"r"}}, w.call("ListRuleNamesByTarget", m{"TargetArn": function})); diff != "" {
		t.Error(diff)
	}
	w.refused("PutTargets", m{"Rule": "none", "Targets": targets}, "ResourceNotFoundException", "Rule none does not exist on EventBus default.")
	w.refused("PutTargets", m{"Rule": "r", "Targets": []any{targets[0], targets[0]}}, "ValidationException", "Duplicate target ids.")
	w.refused("PutTargets", m{"Rule": "r", "Targets": []any{m{"Id": "1", "Arn": "queue"}}}, "ValidationException", "not in correct format")
	w.refused("DeleteRule", m{"Name": "r"}, "ValidationException", "Rule can't be deleted since it has targets.")
	out := w.call("PutEvents", m{"Entries": []any{
		m{"Source": "shop", "DetailType": "Order", "Detail": `{"n": 12345678901234567890}`}, m{"Source": "shop", "DetailType": "Order"},
	}})
	if out["FailedEntryCount"] != int64(1) || out["Entries"].([]any)[1].(m)["ErrorCode"] != "InvalidArgument" {
		t.Errorf("put: %v", out)
	}
	if diff := cmp.Diff([]string{function + ` {"a": 1}`, function + ` {"n": 12345678901234567890}`}, w.sent); diff != "" {
		t.Error(diff)
	}
	w.call("RemoveTargets", m{"Rule": "r", "Ids": []any{"1", "2"}})
	w.call("DeleteRule", m{"Name": "r"})
}
