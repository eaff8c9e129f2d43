package engine

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ROS is the dialect of Alibaba Cloud's Resource Orchestration Service. docs/ros-engine.md lists the choices where
// its documentation says nothing.
var ROS Dialect = ros{}

type ros struct{}

func (ros) Name() string      { return wire.ROS.String() }
func (ros) StackType() string { return "ALIYUN::ROS::Stack" }

func (ros) language() template.Language { return template.ROS }
func (ros) wire() wire.Dialect          { return wire.ROS }
func (ros) rules() rules {
	return rules{idsStay: true, idsAsGiven: true, typesStay: true, updatesRevert: true, leavesAny: true, executedStay: true}
}

// rosStates is the table of stack statuses. ROS has no statuses for clean-ups, which belong to the preceding phase.
// Note that ROLLBACK_COMPLETE is the end of an update and CREATE_ROLLBACK_COMPLETE that of a create, unlike in
// CloudFormation.
var rosStates = map[store.Kind]map[store.Phase]string{
	store.KindCreate: {
		store.PhaseApply:        "CREATE_IN_PROGRESS",
		store.PhaseCleanup:      "CREATE_IN_PROGRESS",
		store.PhaseSucceeded:    "CREATE_COMPLETE",
		store.PhaseFailed:       "CREATE_FAILED",
		store.PhaseRevert:       "CREATE_ROLLBACK_IN_PROGRESS",
		store.PhaseReverted:     "CREATE_ROLLBACK_COMPLETE",
		store.PhaseRevertFailed: "CREATE_ROLLBACK_FAILED",
	},
	store.KindUpdate: {
		store.PhaseApply:         "UPDATE_IN_PROGRESS",
		store.PhaseCleanup:       "UPDATE_IN_PROGRESS",
		store.PhaseSucceeded:     "UPDATE_COMPLETE",
		store.PhaseRevert:        "ROLLBACK_IN_PROGRESS",
		store.PhaseRevertCleanup: "ROLLBACK_IN_PROGRESS",
		store.PhaseReverted:      "ROLLBACK_COMPLETE",
		store.PhaseRevertFailed:  "ROLLBACK_FAILED",
	},
	store.KindDelete: {
		store.PhaseApply:     "DELETE_IN_PROGRESS",
		store.PhaseSucceeded: "DELETE_COMPLETE",
		store.PhaseFailed:    "DELETE_FAILED",
	},
	store.KindReview: {
		store.PhaseSucceeded: "REVIEW_IN_PROGRESS",
	},
}

func (ros) StackStatus(kind store.Kind, phase store.Phase) string { return rosStates[kind][phase] }

// rosAction returns the action in a stack's status.
func rosAction(kind store.Kind, phase store.Phase) string {
	status := rosStates[kind][phase]
	for _, ending := range []string{"_IN_PROGRESS", "_COMPLETE", "_FAILED"} {
		status = strings.TrimSuffix(status, ending)
	}
	return status
}

// ResourceStatus renders the state of a resource; without a verb, the resource has not been started. ROS has no
// status for a retained resource. DELETE_COMPLETE only means that the stack does not have it any more.
func (ros) ResourceStatus(verb store.Verb, progress store.Progress) string {
	if verb == "" {
		return "INIT_COMPLETE"
	}
	status := ""
	switch progress {
	case store.ProgressRunning:
		status = "_IN_PROGRESS"
	case store.ProgressSucceeded, store.ProgressSkipped:
		status = "_COMPLETE"
	case store.ProgressFailed:
		status = "_FAILED"
	}
	return strings.ToUpper(string(verb)) + status
}

func (ros) ChangeSetStatus(state store.ChangeSetState) string {
	switch state {
	case store.ChangeSetPreparing:
		return "CREATE_IN_PROGRESS"
	case store.ChangeSetAvailable, store.ChangeSetExecuted:
		return "CREATE_COMPLETE"
	case store.ChangeSetFailed:
		return "CREATE_FAILED"
	}
	return ""
}

func (ros) ExecutionStatus(e Execution) string { return CloudFormation.ExecutionStatus(e) } // it has the same words

func (ros) stackID(_ store.StackName, uuid string) wire.StackID { return wire.StackID(uuid) }

func (ros) changeSetID(_ *store.Stack, _, uuid string) store.ChangeSetID {
	return store.ChangeSetID(uuid)
}

func (ros) requestID(uuid string) wire.RequestID { return wire.RequestID(strings.ToUpper(uuid)) }

func (ros) checkType(resourceType string) error { return wire.ROS.CheckResourceType(resourceType) }

func (ros) answer(body []byte, size int, to *store.Request) answer {
	response, err := wire.ROS.ParseReceived(body, size) // the receiver limits the length
	if err != nil && size == 0 && to.Type == wire.Delete && to.Body.PhysicalID == "" {
		// A Delete that was sent without an id may be answered without one, although the rule is that every SUCCESS
		// has an id.
		if more, ok := withID(body); ok {
			if again, wrong := wire.ROS.ParseReceived(more, 0); wrong == nil {
				response, err = again, nil
			}
		}
	}
	return answerOf(&response, err, size, wire.MaxROSPhysicalID)
}

// withID adds an ID to a response without one. It returns false if there is an ID, or the body is not an object.
func withID(body []byte) ([]byte, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields == nil {
		return nil, false
	}
	switch string(fields["PhysicalResourceId"]) {
	case "", "null", `""`:
	default:
		return nil, false
	}
	fields["PhysicalResourceId"] = json.RawMessage(`"-"`)
	more, err := json.Marshal(fields)
	return more, err == nil
}

// attribute returns one key of the data, or all data for Outputs. Source: ROS, ALIYUN::ROS::CustomResource, return
// values.
func (ros) attribute(data value.Value, name string) (value.Value, bool) {
	if name != "Outputs" {
		return data.Get(name)
	}
	if data.IsNull() {
		return value.Object(), true
	}
	return data, true
}

func (ros) generateID(stack store.Stack, logical wire.LogicalID, random func(int) string) wire.PhysicalID {
	id := CloudFormation.generateID(stack, logical, random)
	return id[max(0, len(id)-wire.MaxROSPhysicalID):]
}

func (ros) eventID(_ wire.LogicalID, _ string, _ time.Time, _ bool, newID func() string) string {
	return newID()
}

func (ros) fixed() map[string]string { return map[string]string{rosToken: rosTexts.tokenChanged} }

func (ros) texts() *texts       { return &rosTexts }
func (ros) refusals() *refusals { return &rosRefusals }

// notification reports the final status of an operation. Source: ROS, CreateStack, NotificationURLs.
func (d ros) notification(stack *store.Stack, e store.Event) (string, bool) {
	if e.Phase == "" || !e.Phase.Final() {
		return "", false
	}
	outputs := []map[string]any{}
	for _, o := range stack.Outputs {
		v, _ := stack.OutputValues.Get(o.Key)
		outputs = append(outputs, map[string]any{"OutputKey": o.Key, "Description": o.Description, "OutputValue": v})
	}
	text, err := json.Marshal(map[string]any{
		"Outputs": outputs, "StackId": stack.ID, "StackName": stack.Name, "Status": d.StackStatus(e.Kind, e.Phase),
	})
	return string(text), err == nil
}
