package cloudformation_test

import (
	"context"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// looked is an engine that counts how often a stack is looked up.
type looked struct {
	cloudformation.Engine
	times  int
	notify func(times int)
}

func (l *looked) Find(ctx context.Context, ref engine.Ref) (store.Stack, error) {
	l.times++
	l.notify(l.times)
	return l.Engine.Find(ctx, ref)
}

// TestPatience checks that DescribeStacks returns the result of an operation that has just begun if it finishes soon,
// and otherwise the current state.
func TestPatience(t *testing.T) {
	for name, test := range map[string]struct {
		patience time.Duration
		answerAt int // number of the lookup
		want     types.StackStatus
	}{
		"none":             {0, 2, types.StackStatusCreateInProgress},
		"enough":           {time.Hour, 3, types.StackStatusCreateComplete},
		"patience expires": {50 * time.Millisecond, 1 << 30, types.StackStatusCreateInProgress},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world, config *cloudformation.Config) {
				config.Patience = test.patience
				config.Engine = &looked{Engine: config.Engine, notify: func(times int) {
					if times == test.answerAt {
						w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
					}
				}}
			})
			stack, body := "s", `{"Resources": {"A": {"Type": "Custom::A", "Properties": {"ServiceToken": "`+token+`"}}}}`
			_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: &stack, TemplateBody: &body})
			w.must(err)
			out, err := w.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: &stack})
			w.must(err)
			if got := out.Stacks[0].StackStatus; got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestPatienceWithADeletedStack deletes a stack while DescribeStacks waits. The stack existed when the call arrived, so
// the answer describes it. Clients such as rain use the ID in this answer for polling.
func TestPatienceWithADeletedStack(t *testing.T) {
	for name, successor := range map[string]bool{"name is free": false, "another stack has the name": true} {
		t.Run(name, func(t *testing.T) {
			stack, body := "s", `{"Resources": {"A": {"Type": "Custom::A", "Properties": {"ServiceToken": "`+token+`"}}}}`
			looks := -1 // since the delete; negative before it
			w := newWorld(t, func(w *world, config *cloudformation.Config) {
				config.Patience = time.Hour
				config.Engine = &looked{Engine: config.Engine, notify: func(int) {
					if looks < 0 {
						return
					}
					if looks++; looks != 2 { // the first lookup finds the stack in DELETE_IN_PROGRESS
						return
					}
					w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
					if successor {
						w.create(&sdk.CreateStackInput{StackName: &stack, TemplateBody: &body})
					}
				}}
			})
			id := w.create(&sdk.CreateStackInput{StackName: &stack, TemplateBody: &body})
			_, err := w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: &stack})
			w.must(err)
			looks = 0
			out, err := w.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: &stack})
			w.must(err)
			if got := out.Stacks[0]; *got.StackId != id || got.StackStatus != types.StackStatusDeleteComplete {
				t.Errorf("described %s %s, want %s %s", *got.StackId, got.StackStatus, id, types.StackStatusDeleteComplete)
			}
		})
	}
}
