package wire

import (
	"encoding/json"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
)

var rosResponseFields = []string{
	"Status", "Reason", "PhysicalResourceId", "StackId", "RequestId", "LogicalResourceId", "Data", stateField,
}

// readROSResponse is [readResponse] for ROS. A failure requires a reason, and a success requires a physical ID. NoEcho is
// an unknown member.
func readROSResponse(fields map[string]json.RawMessage) (r Response, text, detail string) {
	refuse := func(t, d string) {
		if text == "" {
			text, detail = textInvalidResponse+t, d
		}
	}
	str := func(key string) (s string) {
		if raw := fields[key]; isSet(raw) && json.Unmarshal(raw, &s) != nil {
			refuse(key+" is not a string", "")
		}
		return s
	}
	loose := func(key string) (s string) { // a wrong type counts as a mismatch
		_ = json.Unmarshal(fields[key], &s)
		return s
	}
	r = Response{
		Dialect:            ROS,
		Status:             Status(str("Status")),
		PhysicalResourceID: PhysicalID(str("PhysicalResourceId")),
		Reason:             CleanText(str("Reason")),
		StackID:            StackID(loose("StackId")),
		RequestID:          RequestID(loose("RequestId")),
		LogicalResourceID:  LogicalID(loose("LogicalResourceId")),
	}
	if raw := fields["Data"]; isSet(raw) {
		if _, err := value.Parse(raw); raw[0] != '{' {
			refuse("Data is not an object", "")
		} else if err != nil {
			refuse("Data is not an object", "In Data "+err.Error())
		} else {
			r.Data = raw
		}
	}
	switch {
	case !isSet(fields["Status"]):
		refuse("Status is missing", "It must be SUCCESS or FAILED")
	case !r.Status.Valid():
		refuse(fmt.Sprintf("Status is %q", short(CleanText(string(r.Status)))), "It must be SUCCESS or FAILED, in capital letters")
	case r.Status == Failed && r.Reason == "":
		refuse("Reason is missing", "It is required when Status is FAILED")
	}
	switch id := r.PhysicalResourceID; {
	case id == "" && r.Status == Success:
		refuse("PhysicalResourceId is missing", "It is required when Status is SUCCESS, also in the response to a Delete")
	case len(id) > MaxROSPhysicalID:
		refuse("PhysicalResourceId is too long", fmt.Sprintf("It has %d bytes, %d are allowed", len(id), MaxROSPhysicalID))
	case CleanText(string(id)) != string(id):
		refuse("PhysicalResourceId holds control characters", "No list of resources can show them")
	}
	r.State = readState(fields[stateField])
	r.Extra = extra(fields, rosResponseFields)
	return r, text, detail
}
