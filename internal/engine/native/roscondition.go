package native

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// rosCondition is ALIYUN::ROS::WaitCondition. It is created, or updated, when its handle has enough signals.
//
// Source: ROS, ALIYUN::ROS::WaitCondition; package ros-cdk-ros 1.11.0.
type rosCondition struct{}

var rosConditionSchema = Schema{
	Name: "ALIYUN::ROS::WaitCondition", Dialect: wire.ROS,
	Properties: []Property{
		{Name: "Count", Kind: Integer, Max: MaxSignals},
		{Name: "Handle", Required: true, Change: Replaces},
		{Name: "ShowProgressEvent", Change: Replaces},
		{Name: "Timeout", Kind: Integer, Min: 1, Max: 43200, Required: true, Change: Replaces},
	},
	Attributes: []string{"Data", "ErrorData", "JoinedErrorData", "JoinedLastErrorData", "LastData", "LastErrorData"},
}

// Schema implements [Type].
func (rosCondition) Schema() *Schema { return &rosConditionSchema }

// Declare implements [Declarer].
func (rosCondition) Declare(d Declaration) (Wanted, error) {
	handle, _ := d.Properties.Get("Handle")
	key, ok := ROSHandleKey(handle.Text())
	if !ok || key.StackID != d.StackID {
		return Wanted{}, BadValue(wire.ROS, "Handle", "be the Ref of an "+ROSWaitConditionHandle+" of the same stack")
	}
	shown, given := d.Properties.Get("ShowProgressEvent")
	switch {
	case !given, shown.Text() == "Disabled", shown.Text() == "Enabled", shown.Text() == "EnabledIfCreateStack":
	default:
		return Wanted{}, BadValue(wire.ROS, "ShowProgressEvent", "be Disabled, Enabled or EnabledIfCreateStack")
	}
	timeout, _ := d.Properties.Get("Timeout")
	seconds, err := strconv.Atoi(timeout.Text())
	if err != nil {
		return Wanted{}, rosConditionSchema.missing("Timeout")
	}
	count := 1
	if given, ok := d.Properties.Get("Count"); ok {
		if count, err = strconv.Atoi(given.Text()); err != nil {
			return Wanted{}, rosConditionSchema.missing("Count")
		}
	}
	return Wanted{
		Timeout: time.Duration(seconds) * time.Second,
		Await:   &store.Await{Count: count, Handle: key.LogicalID, From: key.RequestID},
	}, nil
}

// Awaited implements [Awaiter]. A failure ends the wait at once. Warnings count as signals, but at least one signal
// must not be a warning. Source: ROS, SignalResource.
func (rosCondition) Awaited(await store.Await, signals []store.Signal, before value.Value, timedOut bool) (Result, bool, error) {
	var good, bad []value.Member
	warned := 0
	for _, s := range signals {
		member := value.Member{Key: s.ID, Value: s.Value()}
		switch {
		case s.Failed:
			return Result{}, true, wrong("WaitConditionFailure: " + strings.TrimSuffix("received a FAILURE signal with id "+s.ID+": "+s.Reason, ": "))
		case s.Warning:
			warned++
			bad = append(bad, member)
		default:
			good = append(good, member)
		}
	}
	received := len(good) + warned
	switch {
	case received >= await.Count && (warned == 0 || len(good) > 0):
		return Result{Attributes: rosConditionData(good, bad, before)}, true, nil
	case received >= await.Count:
		return Result{}, true, wrong("WaitConditionFailure: all signals are warnings")
	case !timedOut:
		return Result{}, false, nil
	}
	return Result{}, true, wrong(fmt.Sprintf("WaitConditionTimeout: %d of %d signals received", received, await.Count))
}

// rosConditionData returns the attributes of a condition, each a text. before are its previous attributes, or null.
func rosConditionData(good, bad []value.Member, before value.Value) value.Value {
	last := func(name, otherwise string) value.Value {
		if v, given := before.Get(name); given {
			return v
		}
		return value.Str(otherwise)
	}
	var joined strings.Builder
	for _, m := range bad {
		if m.Value.IsScalar() {
			joined.WriteString(m.Value.Text())
		}
	}
	return value.Object(
		value.Member{Key: "Data", Value: value.Str(string(value.Object(good...).JSON()))},
		value.Member{Key: "ErrorData", Value: value.Str(string(value.Object(bad...).JSON()))},
		value.Member{Key: "JoinedErrorData", Value: value.Str(joined.String())},
		value.Member{Key: "JoinedLastErrorData", Value: last("JoinedErrorData", "")},
		value.Member{Key: "LastData", Value: last("Data", "{}")},
		value.Member{Key: "LastErrorData", Value: last("ErrorData", "{}")},
	)
}

// Serve implements [Type]. It creates nothing.
func (rosCondition) Serve(context.Context, *store.Request) (Result, error) { return Result{}, nil }
