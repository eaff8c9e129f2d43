package native

import (
	"context"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// rosSleep is ALIYUN::ROS::Sleep, which delays its dependents. A restart does not prolong the delay.
//
// Source: ROS, ALIYUN::ROS::Sleep.
type rosSleep struct{}

// maxSleep is the maximum delay of one request in seconds.
const maxSleep = 1800

var rosSleepSchema = Schema{
	Name: "ALIYUN::ROS::Sleep", Dialect: wire.ROS,
	Properties: []Property{
		{Name: "CreateDuration", Kind: Integer, Max: maxSleep, Change: Replaces},
		{Name: "DeleteDuration", Kind: Integer, Max: maxSleep},
		{Name: "Triggers", Kind: Object},
		{Name: "UpdateDuration", Kind: Integer, Max: maxSleep},
		{Name: "UpdateRollbackDuration", Kind: Integer, Max: maxSleep},
	},
}

// Schema implements [Type].
func (rosSleep) Schema() *Schema { return &rosSleepSchema }

// Pause implements [Pauser]. An update takes time only if Triggers changes.
func (rosSleep) Pause(kind wire.RequestType, before, after value.Value, back bool) time.Duration {
	seconds := func(property string) time.Duration {
		v, _ := after.Get(property)
		n, err := strconv.Atoi(v.Text())
		if err != nil {
			return 0
		}
		return time.Duration(n) * time.Second
	}
	was, _ := before.Get("Triggers")
	is, _ := after.Get("Triggers")
	switch {
	case kind == wire.Create:
		return seconds("CreateDuration")
	case kind == wire.Delete:
		return seconds("DeleteDuration")
	case kind != wire.Update || was.Equal(is):
		return 0
	case back:
		return seconds("UpdateRollbackDuration")
	}
	return seconds("UpdateDuration")
}

// Serve implements [Type].
func (rosSleep) Serve(context.Context, *store.Request) (Result, error) { return Result{}, nil }
