package engine

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// CloudFormation is the dialect of AWS CloudFormation.
var CloudFormation Dialect = cloudFormation{}

type cloudFormation struct{}

func (cloudFormation) Name() string      { return "cloudformation" }
func (cloudFormation) StackType() string { return "AWS::CloudFormation::Stack" }

// stackStates is the table of stack statuses. A combination outside the table cannot occur.
var stackStates = map[store.Kind]map[store.Phase]string{
	store.KindCreate: {
		store.PhasePrepare:      "CREATE_IN_PROGRESS",
		store.PhaseApply:        "CREATE_IN_PROGRESS",
		store.PhaseSucceeded:    "CREATE_COMPLETE",
		store.PhaseFailed:       "CREATE_FAILED",
		store.PhaseRevert:       "ROLLBACK_IN_PROGRESS",
		store.PhaseReverted:     "ROLLBACK_COMPLETE",
		store.PhaseRevertFailed: "ROLLBACK_FAILED",
	},
	store.KindUpdate: {
		store.PhasePrepare:       "UPDATE_IN_PROGRESS",
		store.PhaseApply:         "UPDATE_IN_PROGRESS",
		store.PhaseCleanup:       "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
		store.PhaseSucceeded:     "UPDATE_COMPLETE",
		store.PhaseFailed:        "UPDATE_FAILED",
		store.PhaseRevert:        "UPDATE_ROLLBACK_IN_PROGRESS",
		store.PhaseRevertCleanup: "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
		store.PhaseReverted:      "UPDATE_ROLLBACK_COMPLETE",
		store.PhaseRevertFailed:  "UPDATE_ROLLBACK_FAILED",
	},
	store.KindDelete: {
		store.PhaseApply:     "DELETE_IN_PROGRESS",
		store.PhaseSucceeded: "DELETE_COMPLETE",
		store.PhaseFailed:    "DELETE_FAILED",
	},
	store.KindImport: {
		store.PhaseApply:         "IMPORT_IN_PROGRESS",
		store.PhaseCleanup:       "IMPORT_IN_PROGRESS",
		store.PhaseSucceeded:     "IMPORT_COMPLETE",
		store.PhaseRevert:        "IMPORT_ROLLBACK_IN_PROGRESS",
		store.PhaseRevertCleanup: "IMPORT_ROLLBACK_IN_PROGRESS",
		store.PhaseReverted:      "IMPORT_ROLLBACK_COMPLETE",
		store.PhaseRevertFailed:  "IMPORT_ROLLBACK_FAILED",
	},
	store.KindReview: {
		store.PhaseSucceeded: "REVIEW_IN_PROGRESS",
	},
}

func (cloudFormation) StackStatus(kind store.Kind, phase store.Phase) string {
	return stackStates[kind][phase]
}

func (cloudFormation) ResourceStatus(verb store.Verb, progress store.Progress) string {
	words := map[store.Progress]string{
		store.ProgressRunning:   "IN_PROGRESS",
		store.ProgressSucceeded: "COMPLETE",
		store.ProgressFailed:    "FAILED",
		store.ProgressSkipped:   "SKIPPED",
	}
	return strings.ReplaceAll(strings.ToUpper(string(verb)), "-", "_") + "_" + words[progress]
}

func (cloudFormation) ChangeSetStatus(state store.ChangeSetState) string {
	switch state {
	case store.ChangeSetPreparing:
		return "CREATE_IN_PROGRESS"
	case store.ChangeSetAvailable, store.ChangeSetExecuted:
		return "CREATE_COMPLETE"
	case store.ChangeSetFailed:
		return "FAILED"
	}
	return ""
}

func (cloudFormation) ExecutionStatus(e Execution) string {
	switch e {
	case ExecutionUnavailable:
		return "UNAVAILABLE"
	case ExecutionAvailable:
		return "AVAILABLE"
	case ExecutionObsolete:
		return "OBSOLETE"
	case ExecutionRunning:
		return "EXECUTE_IN_PROGRESS"
	case ExecutionSucceeded:
		return "EXECUTE_COMPLETE"
	case ExecutionFailed:
		return "EXECUTE_FAILED"
	}
	return ""
}

func (cloudFormation) language() template.Language { return template.CloudFormation }

func (cloudFormation) wire() wire.Dialect { return wire.CloudFormation }

func (cloudFormation) rules() rules { return rules{consents: true, deletesCreates: true} }

func (cloudFormation) stackID(name store.StackName, uuid string) wire.StackID {
	return wire.NewStackID(name.Region, name.Account, name.Name, uuid)
}

func (cloudFormation) changeSetID(stack *store.Stack, name, uuid string) store.ChangeSetID {
	return store.ChangeSetID("arn:" + wire.Partition(stack.Region) + ":cloudformation:" + stack.Region + ":" + stack.Account +
		":changeSet/" + name + "/" + uuid)
}

func (cloudFormation) requestID(uuid string) wire.RequestID { return wire.RequestID(uuid) }

func (cloudFormation) checkType(resourceType string) error {
	return wire.CheckResourceType(resourceType)
}

func (cloudFormation) request(properties value.Value) (asked, error) {
	if properties.IsNull() {
		properties = value.Object()
	}
	properties = properties.Stringified()
	token, given := properties.Get("ServiceToken")
	if !given || token.Kind() != value.String || token.Text() == "" {
		return asked{}, errors.New("Value of property ServiceToken must be of type String") //nolint:staticcheck // CloudFormation's words
	}
	timeout := wire.DefaultServiceTimeout
	if seconds, given := properties.Get("ServiceTimeout"); given {
		var err error
		if timeout, err = wire.ParseServiceTimeout(seconds.JSON()); err != nil && seconds.HasSecret() {
			return asked{}, errors.New(secretTimeout) // the error quotes the value
		} else if err != nil {
			return asked{}, err
		}
	}
	return asked{properties: properties, token: token, timeout: timeout}, nil
}

// secretTimeout is the error for a ServiceTimeout that is secret.
const secretTimeout = "ServiceTimeout must be a whole number of seconds from 1 to 3600"

func (cloudFormation) shown(a asked) value.Value { return a.properties }

func (cloudFormation) attribute(data value.Value, name string) (value.Value, bool) {
	v, ok := data.Get(name)
	return v, ok && !v.IsNull()
}

func (cloudFormation) answer(body []byte, size int, _ *store.Request) answer {
	response, err := wire.ParseResponse(body)
	return answerOf(&response, err, size, wire.MaxPhysicalID)
}

// answerOf converts a response and the error from reading it into an answer.
func answerOf(response *wire.Response, err error, size, maxPhysicalID int) answer {
	got := answer{
		success: err == nil && response.Status == wire.Success,
		id:      response.PhysicalResourceID,
		reason:  response.Reason,
		noEcho:  response.NoEcho,
		state:   response.State,
		copied: responseurl.ResponseKey{
			StackID: response.StackID, LogicalID: response.LogicalResourceID, RequestID: response.RequestID,
		},
	}
	if len(response.Data) > 0 {
		if data, err := value.Parse(response.Data); err == nil && data.Kind() == value.Map {
			got.data = data
		}
	}
	if got.noEcho {
		got.data = got.data.Tainted(value.OfAttribute)
	}
	if invalid, ok := errors.AsType[*wire.ResponseError](err); ok {
		invalid.Size = max(invalid.Size, size)
		got.problem, got.explained = invalid.Text, invalid.Error()
		if len(got.id) > maxPhysicalID || strings.Contains(string(got.id), "\x00") { // the store accepts no such ID
			got.id = ""
		}
	}
	return got
}

func (cloudFormation) generateID(stack store.Stack, logical wire.LogicalID, random func(int) string) wire.PhysicalID {
	return wire.PhysicalID(stack.Name + "-" + string(logical) + "-" + random(12))
}

func (cloudFormation) eventID(
	logical wire.LogicalID, status string, at time.Time, detached bool, newID func() string,
) string {
	if detached {
		return string(logical) + "-" + newID()
	}
	return string(logical) + "-" + status + "-" + at.Format("2006-01-02T15:04:05.000Z")
}

func (cloudFormation) fixed() map[string]string {
	return map[string]string{"ServiceToken": cloudFormationTexts.tokenChanged}
}

func (cloudFormation) texts() *texts { return &cloudFormationTexts }

func (cloudFormation) refusals() *refusals { return &cloudFormationRefusals }

var cloudFormationTexts = texts{
	begun:           func(store.Kind, store.Phase) string { return "User Initiated" },
	stack:           func(store.Kind, store.Phase) string { return "" },
	createInitiated: "Resource creation Initiated",
	replaced:        "Requested update required the provider to create a new physical resource",
	recreating:      "Requested update requires the creation of a new physical resource; hence creating one.",
	signalled: func(failed bool, id string) string {
		if failed {
			return "Received FAILURE signal with UniqueId " + id
		}
		return "Received SUCCESS signal with UniqueId " + id
	},
	createCancelled:  statusreason.CreationCancelled,
	updateCancelled:  statusreason.UpdateCancelled,
	tokenChanged:     statusreason.TokenChanged,
	notUpdatable:     func(reason string) string { return reason },
	idChanged:        func(_, _ wire.PhysicalID) string { return "" }, // it is a replacement
	idIgnored:        func(_, _ wire.PhysicalID) string { return "" },
	left:             func(string) string { return "" },
	failure:          func(_ failure, _ wire.LogicalID, text string) string { return text },
	transformed:      "Transformation succeeded",
	stackCancelled:   "Stack update cancelled",
	createStopped:    "Stack creation cancelled",
	unchanged:        "The submitted information didn't contain changes. Submit different information to create a change set.",
	orphaned:         "Update successful. One or more resources could not be deleted.",
	failed:           statusreason.Failed,
	timedOut:         statusreason.TimedOut,
	missingAttribute: statusreason.MissingAttribute,
	applyFailed: func(op *store.Operation, then failureAction, _ failed) string {
		var parts []string
		if len(op.FailedCreates) > 0 {
			verb := "create"
			if op.Import {
				verb = "import"
			}
			parts = append(parts, "The following resource(s) failed to "+verb+": "+list(op.FailedCreates)+".")
		}
		if len(op.FailedUpdates) > 0 {
			parts = append(parts, "The following resource(s) failed to update: "+list(op.FailedUpdates)+".")
		}
		switch {
		case then == keepFailed:
			parts = append(parts, "")
		case op.Kind == store.KindCreate && !op.Import:
			parts = append(parts, requested(then))
		}
		return strings.Join(parts, " ")
	},
	revertFailed: func(op *store.Operation, _ failed) string {
		if len(op.FailedDeletes) > 0 {
			return "The following resource(s) failed to delete: " + list(op.FailedDeletes) + ". "
		}
		return "The following resource(s) failed to update: " + list(op.FailedUpdates) + "."
	},
	outputFailed: func(_ *store.Operation, problem string, then failureAction) string {
		if then == keepFailed {
			return problem
		}
		return strings.TrimSuffix(problem, ".") + ". " + requested(then)
	},
	prepareFailed: func(text string, then failureAction) string {
		if then == keepFailed {
			return text
		}
		return text + ". " + requested(then)
	},
	expired: func(_ *store.Operation, then failureAction) string {
		const text = "Stack creation time exceeded the specified timeout. "
		if then == keepFailed {
			return text
		}
		return text + requested(then)
	},
	deleteFailed: func(op *store.Operation, _ failed) string {
		return "The following resource(s) failed to delete: " + list(op.FailedDeletes) + ". "
	},
	exportTaken: func(name, by string) string {
		return "Export with name " + name + " is already exported by stack " + by + "."
	},
	exportChanged: func(name string, in []string) string {
		return "Export " + name + " cannot be updated as it is in use by " + enumerated(in)
	},
	exportDropped: func(name string, in []string) string {
		return "Export " + name + " cannot be deleted as it is in use by " + enumerated(in)
	},
	deleteCancelled: func(name string, in []string) string {
		return "Delete canceled. Cannot delete export " + name + " as it is in use by " + enumerated(in) + "."
	},
}

// maxEnumerated is the maximum number of stacks that a reason names.
const maxEnumerated = 20

// enumerated joins names the way CloudFormation does.
func enumerated(names []string) string {
	if more := len(names) - maxEnumerated; more > 0 {
		names = append(slices.Clip(names[:maxEnumerated]), strconv.Itoa(more)+" others")
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

func requested(then failureAction) string {
	if then == deleteStack {
		return "Delete requested by user."
	}
	return "Rollback requested by user."
}

func list(ids []wire.LogicalID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
