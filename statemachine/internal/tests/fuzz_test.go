package tests_test

import (
	"context"
	"testing"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/statemachine"
)

// No event is accepted as a record unless it was encrypted here.
func FuzzEvent(f *testing.F) {
	w, err := statemachine.New(statemachine.Config{Machine: machineARN, Keys: [][]byte{[]byte(stateKey)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"pintleWait":{"version":1,"state":"waiting","seconds":2,"key":"aa","sealed":"AQAAAAA="}}`))
	f.Add([]byte(`{"pintleWait":{"version":2}}`))
	f.Add([]byte(`{"RequestType":"Create"}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		result, ok, err := w.Event(context.Background(), event, func(context.Context, pintle.Pending) (*pintle.Pending, error) {
			t.Error("a record was made up")
			return nil, nil
		})
		if !ok && (result != nil || err != nil) {
			t.Errorf("%s, %v for an event that is another's", result, err)
		}
	})
}
