package operator

import (
	"net/http"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// UpdateRequest is an update that the APIs of CloudFormation and ROS lack: one that sends an Update to custom resources even if
// nothing has changed. Its Again is required.
type UpdateRequest struct {
	PreviewRequest
	// Capabilities are those that the caller acknowledges. Of CloudFormation.
	Capabilities []string `json:"capabilities,omitempty"`
}

// Updated is the answer to an [UpdateRequest].
type Updated struct {
	Stack wire.StackID `json:"stackId"`
}

// rosTimeout is how many minutes an update of a stack of ROS may take. Source: ROS, UpdateStack, the default of TimeoutInMinutes.
const rosTimeout = 60

// update starts an update.
func (f *handler) update(r *http.Request) (any, error) {
	var in UpdateRequest
	ref, ros, err := f.readChange(r, &in)
	if err != nil {
		return nil, err
	}
	if len(in.Again) == 0 {
		return nil, &Error{http.StatusBadRequest, `"again" is missing: name custom resources, or use ["*"] for all`}
	}
	if ros { // the engine finds a ROS stack by its ID
		stack, err := f.stack(r)
		if err != nil {
			return nil, err
		}
		ref.Stack, ref.ByID = string(stack.ID), true
	}
	asked := engine.UpdateStack{Options: in.Options(), Stack: ref, Template: in.Template, Replace: in.Replace, Again: in.Again}
	asked.Capabilities = in.Capabilities
	if ros {
		asked.TimeoutMinutes, asked.Caller = rosTimeout, ref.Account
		if f.ROSCaller != nil {
			asked.Caller = f.ROSCaller(r.Context())
		}
	}
	started, err := f.Engine.Update(r.Context(), asked)
	if input, ok := engine.InputError(err); ok {
		return nil, &Error{http.StatusBadRequest, input.Message}
	}
	return Updated{Stack: started.StackID}, err
}
