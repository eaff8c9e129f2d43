package cdkprovider_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/cdkprovider"
)

// The two functions of the CDK's provider framework.
func ExampleNew() {
	onEvent := func(_ context.Context, event map[string]any) (map[string]any, error) {
		if event["RequestType"] == "Delete" {
			return nil, nil
		}
		return map[string]any{"Job": "job-7"}, nil // for isComplete
	}
	isComplete := func(_ context.Context, event map[string]any) (map[string]any, error) {
		if event["RequestType"] != "Delete" && event["Job"] != "job-7" {
			return nil, errors.New("the job is lost")
		}
		return map[string]any{"IsComplete": true, "Data": map[string]any{"Size": 3}}, nil
	}
	pintle.Main(cdkprovider.New(onEvent, isComplete, pintle.WithPollPolicy(pintle.PollPolicy{Interval: 5 * time.Second})))
}

// Two Lambda functions that were written for the CDK's provider framework.
func ExampleNewRemote() {
	onEvent, err := cdkprovider.LambdaFunction("on-event", cdkprovider.LambdaConfigFromEnvironment())
	if err != nil {
		log.Fatal(err)
	}
	isComplete, err := cdkprovider.LambdaFunction("is-complete", cdkprovider.LambdaConfigFromEnvironment())
	if err != nil {
		log.Fatal(err)
	}
	pintle.Main(cdkprovider.NewRemote(onEvent, isComplete))
}
