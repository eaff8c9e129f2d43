package operator

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// MaxPreview is the maximum size in bytes of a request for a preview or an update: a template, parameters and tags.
const MaxPreview = 1 << 20

// PreviewRequest is the input of a create or an update to preview.
type PreviewRequest struct {
	Template   string             `json:"template"`
	Parameters []PreviewParameter `json:"parameters,omitempty"`
	// Tags replace the stack's tags. Nil keeps them.
	Tags []store.Tag `json:"tags,omitempty"`
	// DisableRollback means that a failed update is not rolled back. A stack that has failed this way can be updated
	// only with it.
	DisableRollback bool `json:"disableRollback,omitempty"`
	// Replace allows an update to replace resources that cannot be updated. Only for ROS.
	Replace bool `json:"replace,omitempty"`
	// Plan asks the providers of custom resources what they would do.
	Plan bool `json:"plan,omitempty"`
	// Again are custom resources that get an Update even if nothing changed, see [engine.UpdateStack].
	Again []wire.LogicalID `json:"again,omitempty"`
}

// PreviewParameter is a parameter in a [PreviewRequest].
type PreviewParameter struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
	// UsePrevious keeps the value that the stack has.
	UsePrevious bool `json:"usePrevious,omitempty"`
}

// Options returns the options for the engine.
func (r *PreviewRequest) Options() engine.Options {
	o := engine.Options{Tags: r.Tags, DisableRollback: r.DisableRollback}
	for _, p := range r.Parameters {
		o.Parameters = append(o.Parameters, engine.Parameter{Key: p.Key, Value: p.Value, UsePrevious: p.UsePrevious})
	}
	return o
}

var stackName = regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9]{0,127}$`)

// preview returns an [engine.Preview].
func (f *handler) preview(r *http.Request) (any, error) {
	var in PreviewRequest
	ref, ros, err := f.readChange(r, &in)
	if err != nil {
		return nil, err
	}
	asked := engine.PreviewStack{Options: in.Options(), Template: in.Template, Stack: ref, Replace: in.Replace, Ask: in.Plan, Again: in.Again}
	if ros {
		asked.Dialect = engine.ROS
	}
	out, err := f.Engine.Preview(r.Context(), asked)
	if inputErr, ok := engine.InputError(err); ok {
		return nil, &Error{http.StatusBadRequest, inputErr.Message}
	}
	return out, err
}

// readChange reads a request to change a stack, bounded, into a pointer to a struct. It returns the stack of the path and whether
// that is of ROS.
func (f *handler) readChange(r *http.Request, in any) (engine.Ref, bool, error) {
	caller, ok := f.Caller(r.Context())
	if !ok {
		return engine.Ref{}, false, errNoCaller
	}
	name := r.PathValue("name")
	ref, err := refOf(r, caller)
	if err != nil {
		return ref, false, err
	}
	ros, err := isROS(r)
	if err != nil {
		return ref, false, err
	}
	if !ros && !stackName.MatchString(name) && !strings.HasPrefix(name, "arn:") {
		return ref, false, &Error{http.StatusBadRequest, fmt.Sprintf("%.200q cannot be the name of a stack: "+
			"it has up to 128 letters, digits and hyphens and begins with a letter", name)}
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, MaxPreview+1))
	if err != nil {
		return ref, ros, &Error{http.StatusBadRequest, "the request body ended before its end"}
	}
	if len(text) > MaxPreview {
		return ref, ros, &Error{http.StatusRequestEntityTooLarge, fmt.Sprintf("the request is longer than %d bytes", MaxPreview)}
	}
	if err := json.Unmarshal(text, in); err != nil { // the error's text may quote a parameter
		return ref, ros, &Error{http.StatusBadRequest, "the request must be a JSON object with a template, parameters and tags"}
	}
	return ref, ros, nil
}
