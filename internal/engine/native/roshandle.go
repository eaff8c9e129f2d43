package native

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ROSWaitConditionHandle is the name of the ROS type whose resources accept signals at a URL.
const ROSWaitConditionHandle = "ALIYUN::ROS::WaitConditionHandle"

// rosHandle is ALIYUN::ROS::WaitConditionHandle: a URL for signals. The engine stores the signals with the resource.
//
// Anyone who has the URL can signal, so the attributes that contain it are secret. The physical ID identifies the
// handle, and an update does not change it.
//
// Source: ROS, ALIYUN::ROS::WaitConditionHandle; package ros-cdk-ros 1.11.0.
type rosHandle struct {
	signalURL func(key responseurl.ResponseKey, stackName string) (string, error)
}

var rosHandleSchema = Schema{
	Name: ROSWaitConditionHandle, Dialect: wire.ROS,
	Properties: []Property{
		{Name: "Count", Kind: Integer, Min: -1, Max: MaxSignals},
		{Name: "Mode"},
	},
	Attributes: []string{"CurlCli", "Headers", "PowerShellCurlCli", "URL", "WindowsCurlCli"},
}

// Schema implements [Type].
func (rosHandle) Schema() *Schema { return &rosHandleSchema }

// Declare implements [Declarer].
func (rosHandle) Declare(d Declaration) (Wanted, error) {
	mode, given := d.Properties.Get("Mode")
	if given && mode.Text() != rosModeFull && mode.Text() != rosModeIncrement {
		return Wanted{}, BadValue(wire.ROS, "Mode", "be Full or Increment")
	}
	return Wanted{Timeout: DefaultTimeout}, nil
}

// Serve implements [Type]. Every Create and Update signs a new URL. Earlier URLs stay valid until they expire.
func (t rosHandle) Serve(_ context.Context, r *store.Request) (Result, error) {
	key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
	switch r.Type {
	case wire.Create:
	case wire.Update:
		key, _ = ROSHandleKey(string(r.Body.PhysicalID))
	case wire.Delete, wire.Read, wire.Plan: // no native type gets a Read
		return Result{}, nil
	}
	if t.signalURL == nil {
		return Result{}, errors.New("nothing can be signalled here")
	}
	url, err := t.signalURL(key, r.Body.StackName)
	if err != nil {
		return Result{}, fmt.Errorf("make the URL of the handle: %w", err)
	}
	return Result{PhysicalID: wire.PhysicalID(key.String()), Attributes: rosHandleAttributes(url)}, nil
}

// ROSHandleKey returns the key in the physical ID of a ROS handle, false if the text is not one.
func ROSHandleKey(id string) (responseurl.ResponseKey, bool) {
	key, err := responseurl.ParseResponseKey(id)
	return key, err == nil
}

// rosHandleAttributes returns the attributes of a handle: commands with the URL, to which the sender appends a
// signal.
func rosHandleAttributes(url string) value.Value {
	secret := func(name, text string) value.Member { return value.Member{Key: name, Value: value.SecretStr(text)} }
	return value.Object(
		secret("CurlCli", "curl -i -X POST -H 'Content-Type: application/json' -H 'Accept: application/json' '"+url+"'"),
		value.Member{Key: "Headers", Value: value.Object(
			value.Member{Key: "Content-Type", Value: value.Str("application/json")},
			value.Member{Key: "Accept", Value: value.Str("application/json")},
		)},
		secret("PowerShellCurlCli", "Invoke-RestMethod -Method Post -ContentType 'application/json' "+
			"-Headers @{'Accept'='application/json'} -Uri '"+url+"'"),
		secret("URL", url),
		secret("WindowsCurlCli", `curl -i -X POST -H "Content-Type: application/json" -H "Accept: application/json" "`+url+`"`),
	)
}

// The modes of a handle.
const (
	rosModeFull      = "Full"
	rosModeIncrement = "Increment"
)

// ROSSignalsKept returns the signals that a ROS handle keeps in an update. In mode Increment it keeps none. In mode
// Full with a Count of 0 or more it keeps those whose IDs are whole numbers up to the Count, otherwise all. The error
// reports an ID that is not a number when the Count applies.
func ROSSignalsKept(properties value.Value, signals []store.Signal) ([]store.Signal, error) {
	mode, _ := properties.Get("Mode")
	if mode.Text() == rosModeIncrement {
		return nil, nil
	}
	given, _ := properties.Get("Count")
	count := -1
	if n, err := strconv.Atoi(given.Text()); err == nil {
		count = n
	}
	if count < 0 {
		return signals, nil
	}
	var kept []store.Signal
	for _, s := range signals {
		number, err := strconv.Atoi(s.ID)
		if err != nil {
			return nil, wrong("the handle has a signal with the ID " + strings.ToValidUTF8(s.ID, "") +
				", which is not a number, so its Count cannot say which signals to keep")
		}
		if number <= count {
			kept = append(kept, s)
		}
	}
	return kept, nil
}
