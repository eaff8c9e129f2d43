package pintletest_test

import (
	"context"
	"fmt"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/pintletest"
)

func ExampleLifecycle_Simulate() {
	handler := pintle.HandlerFunc(func(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
		return pintle.Answer{ID: "note", Attributes: pintletest.Map{"Kind": r.ResourceType}}, nil
	})
	report := pintletest.Lifecycle{
		Handler: handler,
		Steps: []pintletest.Step{
			{Properties: pintletest.Map{"Text": "hi", "Lines": 1}, WantID: "note"},
			{Name: "fails, it should be", Properties: pintletest.Map{"Text": ""}, WantError: "Text is empty"},
		},
	}.Simulate(context.Background())
	fmt.Println(report.Problems)
	fmt.Println(report.Transcript)
	// Output:
	// [step 2, Update (fails, it should be): answered SUCCESS, want FAILED with "Text is empty"]
	// step 1, Create
	// -> Create {"Lines":"1","Text":"hi"}
	// <- SUCCESS note {"Kind":"Custom::Test"}
	// step 2, Update (fails, it should be)
	// -> Update note {"Text":""} was {"Lines":"1","Text":"hi"}
	// <- SUCCESS note {"Kind":"Custom::Test"}
	// the end, Delete
	// -> Delete note {"Text":""}
	// <- SUCCESS note
}
