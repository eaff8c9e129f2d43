package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// poll is the polling interval for stacks.
const poll = 2 * time.Second

// try creates a stack from a template and deletes it.
func try(ctx context.Context, client *rosclient.Client, name, path string) outcome {
	end := func(stage, reason string) outcome { return outcome{path, stage, reason} }
	text, err := os.ReadFile(path)
	if err != nil {
		return end("read", err.Error())
	}
	parsed, err := template.ParseROS(string(text), template.Limits{})
	if err != nil && strings.Contains(err.Error(), "The transform ") {
		return end("transform", "")
	}
	if err != nil {
		return end("validate", err.Error())
	}
	values := url.Values{"StackName": {name}, "TemplateBody": {string(text)}}
	given := fill(parsed, strings.ReplaceAll(name, "-", ""))
	n := 0
	for key, value := range given {
		n++
		values.Set(fmt.Sprintf("Parameters.%d.ParameterKey", n), key)
		values.Set(fmt.Sprintf("Parameters.%d.ParameterValue", n), value)
	}
	var created struct {
		StackID string `json:"StackId"`
	}
	if err := client.Call(ctx, "CreateStack", values, &created); err != nil {
		return end("create", err.Error())
	}
	reason, err := settle(ctx, client, created.StackID, "CREATE_COMPLETE")
	made := end("create", reason)
	if err != nil {
		made.reason = err.Error()
	}
	err = client.Call(ctx, "DeleteStack", url.Values{"StackId": {created.StackID}}, nil)
	switch {
	case made.reason != "": // it may still be rolling back
		return made
	case err != nil:
		return end("delete", err.Error())
	}
	if reason, err := settle(ctx, client, created.StackID, "DELETE_COMPLETE"); err != nil || reason != "" {
		return end("delete", fmt.Sprint(reason, err))
	}
	return end("done", "")
}

// settle waits until a stack operation ends, and sends the signals that the stack waits for. It returns the reason if
// the final status is not the wanted one, and otherwise "".
func settle(ctx context.Context, client *rosclient.Client, id, wanted string) (reason string, err error) {
	for sent := map[string]bool{}; ; {
		var stack struct{ Status, StatusReason string }
		err := client.Call(ctx, "GetStack", url.Values{"StackId": {id}}, &stack)
		var refused *rosclient.Error
		switch {
		case errors.As(err, &refused) && refused.Code == "StackNotFound" && wanted == "DELETE_COMPLETE":
			return "", nil
		case err != nil:
			return "", err
		case stack.Status == wanted:
			return "", nil
		case !strings.HasSuffix(stack.Status, "_IN_PROGRESS"), strings.Contains(stack.Status, "ROLLBACK"):
			return failure(ctx, client, id, stack.StatusReason), nil
		}
		if err := signal(ctx, client, id, sent); err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(poll):
		}
	}
}

// failure returns the reason of the first failed resource, or that of the stack.
func failure(ctx context.Context, client *rosclient.Client, id, otherwise string) string {
	var list struct {
		Events []struct{ Status, StatusReason string }
	}
	if err := client.Call(ctx, "ListStackEvents", url.Values{"StackId": {id}, "Status.1": {"CREATE_FAILED"}}, &list); err == nil {
		for i := len(list.Events) - 1; i >= 0; i-- { // the oldest first
			if reason := list.Events[i].StatusReason; !strings.HasPrefix(reason, "Cancelled: ") {
				return reason
			}
		}
	}
	return otherwise
}

// signal sends the maximum number of success signals to each new wait condition handle.
func signal(ctx context.Context, client *rosclient.Client, id string, sent map[string]bool) error {
	const enough = 20
	var list struct {
		Resources []struct {
			LogicalResourceID string `json:"LogicalResourceId"`
			ResourceType      string
			Status            string
		}
	}
	if err := client.Call(ctx, "ListStackResources", url.Values{"StackId": {id}}, &list); err != nil {
		return err
	}
	for _, r := range list.Resources {
		if r.ResourceType != "ALIYUN::ROS::WaitConditionHandle" || r.Status != "CREATE_COMPLETE" || sent[r.LogicalResourceID] {
			continue
		}
		var detail struct {
			ResourceAttributes []struct {
				ResourceAttributeKey   string
				ResourceAttributeValue any
			}
		}
		query := url.Values{"StackId": {id}, "LogicalResourceId": {r.LogicalResourceID}, "ShowResourceAttributes": {"true"}}
		if err := client.Call(ctx, "GetStackResource", query, &detail); err != nil {
			return err
		}
		for _, a := range detail.ResourceAttributes {
			if a.ResourceAttributeKey != "URL" {
				continue
			}
			for n := range enough {
				if err := post(ctx, fmt.Sprint(a.ResourceAttributeValue), `{"id": "`+strconv.Itoa(n+1)+`", "data": "done"}`); err != nil {
					return err
				}
			}
			sent[r.LogicalResourceID] = true
		}
	}
	return nil
}

func post(ctx context.Context, target, body string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusNotFound {
		return fmt.Errorf("a signal was refused: %s", reply.Status)
	}
	return nil
}
