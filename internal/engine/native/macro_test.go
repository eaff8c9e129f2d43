package native_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

func TestMacro(t *testing.T) {
	names, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = names.Close() })
	types, err := native.CloudFormation(native.Config{
		Names: names, SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	const resourceType, held = "AWS::CloudFormation::Macro", "macro:123456789012:eu-west-1:Echo"
	serve := func(kind wire.RequestType, logical wire.LogicalID, physical wire.PhysicalID, properties ...string) (native.Result, error) {
		r := request(kind, resourceType)
		r.Logical, r.Body.PhysicalID, r.Body.Properties = logical, physical, object(properties...)
		return types.Serve(t.Context(), r)
	}
	is := func(want *store.Macro) {
		t.Helper()
		row, err := names.Provider(t.Context(), held)
		if want == nil {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the macro is there: %v", err)
			}
			return
		}
		var got store.Macro
		if err == nil {
			err = json.Unmarshal(row.Definition, &got)
		}
		if diff := cmp.Diff(*want, got); err != nil || diff != "" {
			t.Errorf("error %v, %s", err, diff)
		}
	}
	for range 2 { // serving it again has the same result
		got, err := serve(wire.Create, "M", "", "Name", "Echo", "FunctionName", "echo", "Description", "d")
		if err != nil || got.PhysicalID != "Echo" {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	is(&store.Macro{Function: "arn:aws:lambda:eu-west-1:123456789012:function:echo", Description: "d"})
	_, err = serve(wire.Create, "Other", "", "Name", "Echo", "FunctionName", "f")
	if want := "Echo already exists: another stack, or another resource of this one, has made a macro of this name"; err == nil || err.Error() != want {
		t.Errorf("a second of the name: %v", err)
	}
	if _, err := serve(wire.Delete, "Other", "Echo"); err != nil {
		t.Error(err)
	}
	if _, err := serve(wire.Update, "M", "Echo", "Name", "Echo", "FunctionName", "arn:aws:lambda:eu-west-1:1:function:f", "LogRoleARN", "r"); err != nil {
		t.Error(err)
	}
	is(&store.Macro{Function: "arn:aws:lambda:eu-west-1:1:function:f", LogRoleARN: "r"})
	for range 2 {
		if _, err := serve(wire.Delete, "M", "Echo"); err != nil {
			t.Error(err)
		}
		is(nil)
	}
	for name, ok := range map[string]bool{"Echo-1_b": true, "": false, "a b": false, "123456789012::Echo": false, "AWSEcho": false} {
		_, err := types.Declare(resourceType, native.Declaration{StackID: stackID, Properties: object("Name", name, "FunctionName", "f")})
		if (err == nil) != ok {
			t.Errorf("the name %q: %v", name, err)
		}
	}
}
