package engine

import (
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// rosTexts are the texts of ROS. They follow the few published samples; docs/ros-engine.md lists Pintle's own texts.
var rosTexts = texts{
	begun: rosReason,
	stack: rosReason,
	// ROS gives no other reason for a resource's status than that its state changed.
	resource:        "state changed",
	createInitiated: "",
	replaced:        "",
	recreating:      "",
	signalled:       CloudFormation.texts().signalled,
	createCancelled: "the creation was cancelled, because another resource failed or the operation was cancelled",
	updateCancelled: "the update was cancelled, because another resource failed or the operation was cancelled",
	tokenChanged: "ServiceToken cannot be updated. Keep it, or update the stack with ReplacementOption Enabled: " +
		"the resource is then deleted and created again",
	notUpdatable: func(reason string) string {
		const remedy = "update the stack with ReplacementOption Enabled: the resource is then deleted and created again"
		if reason == "" {
			return "the change cannot be made to the resource that there is; " + remedy
		}
		return strings.TrimRight(reason, ".") + "; or " + remedy
	},
	idChanged: func(is, answered wire.PhysicalID) string {
		return fmt.Sprintf("the answer to the Update has the PhysicalResourceId %q, and the resource is %q: an update cannot replace it. "+
			"The provider has to answer with the id of the request", answered, is)
	},
	idIgnored: func(is, answered wire.PhysicalID) string {
		return fmt.Sprintf("the answer has the PhysicalResourceId %q, which was ignored: the resource stays %q", answered, is)
	},
	left: func(why string) string { return "retained: " + why },
	failure: func(kind failure, logical wire.LogicalID, text string) string {
		return string(kind) + ": resources." + string(logical) + ": " + text
	},
	transformed:    "",
	stackCancelled: "Stack UPDATE cancelled",
	createStopped:  "Stack CREATE cancelled",
	ignored:        "Stack CREATE completed successfully, without the resources that failed",
	unchanged:      "The change set is completely the same as the stack.",
	orphaned:       "Stack UPDATE completed, but not every resource that it removed could be deleted",
	failed: func(reason string, id wire.RequestID) string {
		return reason + " (RequestId: " + string(id) + ")"
	},
	timedOut: func(id wire.RequestID) string {
		return "the provider did not answer in time (RequestId: " + string(id) + ")"
	},
	missingAttribute: func(attribute string, by responseurl.ResponseKey) string {
		return "The Referenced Attribute (" + string(by.LogicalID) + " " + attribute + ") is incorrect."
	},
	applyFailed: func(op *store.Operation, _ failureAction, first failed) string { return rosFailed(op, first) },
	revertFailed: func(op *store.Operation, first failed) string {
		return rosFailed(op, first)
	},
	outputFailed: func(op *store.Operation, problem string, _ failureAction) string {
		return "Stack " + strings.ToUpper(string(op.Kind)) + " failed: outputs: " + problem
	},
	prepareFailed: func(text string, _ failureAction) string { return text },
	expired: func(op *store.Operation, _ failureAction) string {
		return "Stack " + strings.ToUpper(string(op.Kind)) + " failed: Timeout: TimeoutInMinutes are over"
	},
	deleteFailed: func(op *store.Operation, first failed) string { return rosFailed(op, first) },
	// ROS has no exports.
	exportTaken:     func(string, string) string { return "" },
	exportChanged:   func(string, []string) string { return "" },
	exportDropped:   func(string, []string) string { return "" },
	deleteCancelled: func(string, []string) string { return "" },
}

// rosReason is the default reason for a stack's state.
func rosReason(kind store.Kind, phase store.Phase) string {
	action := rosAction(kind, phase)
	switch {
	case kind == store.KindReview:
		return ""
	case !phase.Final():
		return "Stack " + action + " started"
	case phase == store.PhaseSucceeded, phase == store.PhaseReverted:
		return "Stack " + action + " completed successfully"
	}
	return "Stack " + action + " failed"
}

// rosFailed returns the reason for a stack's failure; first is the first failed resource.
func rosFailed(_ *store.Operation, first failed) string {
	return "Resource " + strings.ToUpper(string(first.verb)) + " failed: " + first.reason
}
