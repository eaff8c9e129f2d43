package native

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// waitCondition is AWS::CloudFormation::WaitCondition. It is created when enough signals have arrived, at its handle
// or, with a CreationPolicy, through SignalResource.
type waitCondition struct{}

var waitConditionSchema = Schema{
	Name: "AWS::CloudFormation::WaitCondition",
	Properties: []Property{
		{Name: "Count", Kind: Integer, Max: MaxSignals},
		{Name: "Handle", Required: true, Waived: true},
		{Name: "Timeout", Kind: Integer, Max: 43200, Required: true, Waived: true},
	},
	Attributes: []string{"Data"}, CreationPolicy: true, Fixed: true,
}

// Schema implements [Type].
func (waitCondition) Schema() *Schema { return &waitConditionSchema }

// Declare implements [Declarer].
func (waitCondition) Declare(d Declaration) (Wanted, error) {
	if !d.CreationPolicy.IsNull() {
		if len(d.Properties.Members()) > 0 {
			return Wanted{}, wrong("A WaitCondition with a CreationPolicy has no properties: remove Handle, Timeout and Count")
		}
		policy, err := parseCreationPolicy(d.CreationPolicy)
		return Wanted{Timeout: policy.timeout, Await: &store.Await{Count: policy.count}}, err
	}
	handle, _ := d.Properties.Get("Handle")
	key, ok := handleKey(handle.Text())
	if !ok || key.StackID != d.StackID {
		return Wanted{}, wrong("Value of property Handle must be the Ref of a " + WaitConditionHandle + " of the same stack")
	}
	timeout, _ := d.Properties.Get("Timeout")
	seconds, err := strconv.Atoi(timeout.Text())
	if err != nil {
		return Wanted{}, missing("Timeout")
	}
	count := 1
	if given, ok := d.Properties.Get("Count"); ok {
		if count, err = strconv.Atoi(given.Text()); err != nil {
			return Wanted{}, missing("Count")
		}
	}
	return Wanted{
		Timeout: time.Duration(seconds) * time.Second,
		Await:   &store.Await{Count: count, Handle: key.LogicalID, From: key.RequestID},
	}, nil
}

// Awaited implements [Awaiter]. One failure fails it, regardless of the number of successes.
func (waitCondition) Awaited(await store.Await, signals []store.Signal, _ value.Value, timedOut bool) (Result, bool, error) {
	byHandle := await.Handle != ""
	var data []value.Member
	for _, s := range signals {
		switch {
		case !s.Failed:
			data = append(data, value.Member{Key: s.ID, Value: value.Str(s.Data)})
		case byHandle:
			return Result{}, true, wrong("WaitCondition received failed message: '" + s.Reason + "' for uniqueId: " + s.ID)
		default:
			return Result{}, true, wrong("Received FAILURE signal with UniqueId " + s.ID)
		}
	}
	switch {
	case len(data) >= await.Count:
		text := string(value.Object(data...).JSON())
		return Result{Attributes: value.Object(value.Member{Key: "Data", Value: value.Str(text)})}, true, nil
	case !timedOut:
		return Result{}, false, nil
	case byHandle:
		return Result{}, true, wrong(fmt.Sprintf("WaitCondition timed out. Received %d conditions when expecting %d", len(data), await.Count))
	}
	return Result{}, true, wrong(fmt.Sprintf("Failed to receive %d resource signal(s) within the specified duration", await.Count-len(data)))
}

// Serve implements [Type]. It creates nothing. The physical ID is the stack's ID followed by the logical ID of the
// handle, as recorded on CloudFormation. With a CreationPolicy it ends in the logical ID of the condition.
func (waitCondition) Serve(_ context.Context, r *store.Request) (Result, error) {
	if r.Type != wire.Create {
		return Result{}, nil
	}
	name := r.Logical
	if await := r.Body.Await; await != nil && await.Handle != "" {
		name = await.Handle
	}
	return Result{PhysicalID: wire.PhysicalID(string(r.Body.StackID) + "/" + string(name))}, nil
}
