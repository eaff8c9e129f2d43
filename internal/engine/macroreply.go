package engine

import (
	"encoding/json"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// maxReply is the maximum size of a macro's reply in bytes. Source: AWS Lambda, quotas, the response of an
// invocation.
const maxReply = 6 << 20

// macroFailure is the reason why a preparation failed.
type macroFailure struct {
	// text has CloudFormation's words, and more has details.
	text, more string
}

// reply returns the fragment in a macro's reply, or a failure. id is the name of the macro in
// texts. Source: CloudFormation, macros; its texts as users have reported them.
func (d macroRequests) reply(r *store.Request, id string, outcome Outcome) (template.Node, *macroFailure) {
	malformed := func(more string) (template.Node, *macroFailure) {
		return template.Node{}, &macroFailure{"Received malformed response from transform " + id, more}
	}
	switch outcome.Kind {
	case Returned:
	case Died:
		return malformed(withLog(outcome))
	case Refused:
		return template.Node{}, &macroFailure{"Failed to execute transform " + id, withLog(outcome)}
	case TimedOut:
		return template.Node{}, &macroFailure{"Failed to execute transform " + id, "it has not returned within " + r.Body.Timeout.String()}
	case Accepted, Answered, Provided, Awaiting, Waiting, Silent:
		return malformed("it ended as no macro can: " + outcome.Kind.String())
	}
	if len(outcome.Body) > maxReply {
		return malformed("its result is too long")
	}
	var reply struct {
		RequestID    *string         `json:"requestId"`
		Status       *string         `json:"status"`
		ErrorMessage string          `json:"errorMessage"`
		Fragment     json.RawMessage `json:"fragment"`
	}
	switch err := json.Unmarshal(outcome.Body, &reply); {
	case value.Deeper(outcome.Body, value.MaxDepth):
		return malformed("lists and objects are nested too deeply in its result")
	case err != nil:
		return malformed("its result is not an object with requestId, status and fragment")
	case reply.Status == nil:
		return malformed("it returned no status")
	case !strings.EqualFold(*reply.Status, "success") && reply.ErrorMessage == "":
		return template.Node{}, &macroFailure{"Transform " + id + " failed without an error message.", "its status was " + cut(d.presentable(*reply.Status, r.Body.Properties), shownReply)}
	case !strings.EqualFold(*reply.Status, "success"):
		return template.Node{}, &macroFailure{text: "Transform " + id + " failed with: " + reply.ErrorMessage}
	case reply.RequestID == nil || wire.RequestID(*reply.RequestID) != r.ID:
		return malformed("its requestId is not that of the request")
	case reply.Fragment == nil:
		return malformed("it returned no fragment")
	}
	fragment, err := template.Read(`{"fragment":`+string(reply.Fragment)+`}`, template.Limits{Bytes: maxReply})
	if err != nil {
		return template.Node{}, &macroFailure{text: err.Error(), more: "in what " + id + " returned"}
	}
	return fragment.Get("fragment"), nil
}

// Limits of quoted texts of a reply, in bytes.
const (
	shownReply     = 100     // of a word
	maxFailureText = 4 << 10 // of an error
	maxFailureMore = 8 << 10 // of the details, with the last lines of a log
)

// withLog returns the text of an outcome and the last lines of its log.
func withLog(o Outcome) string {
	if len(o.Log) == 0 {
		return o.Text
	}
	return o.Text + "\nLast lines of its log:\n" + strings.Join(o.Log, "\n")
}

// macroProblem returns the failure for an invalid result of a macro.
func macroProblem(id string, err error) *macroFailure {
	if inputErr, ok := InputError(refused(CloudFormation, err)); ok {
		return &macroFailure{text: inputErr.Message}
	}
	return &macroFailure{text: "Transform " + id + " failed with: " + err.Error()}
}
