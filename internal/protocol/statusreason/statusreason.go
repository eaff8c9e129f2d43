// Package statusreason has the texts that the service puts into the status reason of a resource whose request failed. Tools search for
// them. The texts for an invalid response are in the errors of [wire.ParseResponse].
package statusreason

import (
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/wire"
)

// Exact texts of CloudFormation.
const (
	// TokenChanged is the reason for an update that changes the service token of a resource. No provider is called.
	TokenChanged = "Modifying service token is not allowed."
	// CreationCancelled is the reason for a create that was stopped because another resource failed.
	CreationCancelled = "Resource creation cancelled"
	// UpdateCancelled is the reason for an update that was stopped because another resource failed.
	UpdateCancelled = "Resource update cancelled"
)

// Returned is the start of the reason for a request whose handler returned without an answer. It is Pintle's own: the
// services wait for the timeout of the request.
const Returned = "The provider's handler returned without sending a response"

// Failed returns the reason for a response with status FAILED. An empty reason becomes "null".
func Failed(reason string, id wire.RequestID) string {
	if reason == "" {
		reason = "null"
	}
	return "Received response status [FAILED] from custom resource. Message returned: " + reason +
		" (RequestId: " + string(id) + ")"
}

// TimedOut returns the reason for a request that was not answered in time.
func TimedOut(id wire.RequestID) string {
	return "CloudFormation did not receive a response from your Custom Resource. Please check your logs for requestId [" +
		string(id) + "]. If you are using the Python cfn-response module, you may need to update your Lambda function " +
		"code so that CloudFormation can attach the updated version."
}

// MissingAttribute returns the reason for a resource or output that reads an attribute which is missing in the
// response to key, the last successful response of the custom resource.
func MissingAttribute(attribute string, key responseurl.ResponseKey) string {
	return "CustomResource attribute error: Vendor response doesn't contain " + attribute + " attribute in object " +
		key.String()
}
