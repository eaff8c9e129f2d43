package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// status is the status of an object: a text, and a class for the style sheet.
type status struct {
	Text  string
	Class picture.State
}

// statusOf renders the status of a stack or of an operation.
func statusOf(dialect string, kind store.Kind, phase store.Phase) status {
	text := string(kind) + " " + string(phase)
	if d, err := engine.DialectOf(dialect); err == nil {
		text = d.StackStatus(kind, phase)
	}
	return status{text, classOf(kind, phase)}
}

func classOf(kind store.Kind, phase store.Phase) picture.State {
	switch phase {
	case store.PhaseSucceeded:
		if kind == store.KindReview {
			return picture.Waiting
		}
		return picture.Done
	case store.PhaseFailed, store.PhaseRevertFailed:
		return picture.Failed
	case store.PhaseReverted:
		return picture.Stopped
	case store.PhasePrepare, store.PhaseApply, store.PhaseCleanup, store.PhaseRevert, store.PhaseRevertCleanup:
	}
	return picture.Running
}

func stackStatus(stack *store.Stack) status { return statusOf(stack.Dialect, stack.Kind, stack.Phase) }

// resourceStatus renders the status of a resource.
func resourceStatus(dialect string, verb store.Verb, progress store.Progress) status {
	if verb == "" {
		return status{"not started", picture.Waiting}
	}
	text := string(verb) + " " + string(progress)
	if d, err := engine.DialectOf(dialect); err == nil {
		text = d.ResourceStatus(verb, progress)
	}
	switch progress {
	case store.ProgressRunning:
		return status{text, picture.Running}
	case store.ProgressFailed:
		return status{text, picture.Failed}
	case store.ProgressSkipped:
		return status{text, picture.Stopped}
	case store.ProgressSucceeded:
	}
	return status{text, picture.Done}
}

// requestStatus renders the status of a request. The row of a settled request does not say whether it succeeded.
func requestStatus(r *store.Request, now time.Time) status {
	switch {
	case r.State == store.RequestSettled:
		return status{"settled: " + r.Ending, picture.Stopped}
	case r.Cancelled:
		return status{string(r.State) + ", cancelled", picture.Stopped}
	case r.State == store.RequestWaiting && engine.Deadlines([]store.Request{*r})[r.ID].IsZero():
		return status{"with its nested stack", picture.Running}
	case r.State == store.RequestWaiting:
		return status{"with its provider", picture.Running}
	case r.State == store.RequestDelayed:
		return status{"to be sent again in " + short(r.Due.Sub(now)), picture.Waiting}
	}
	return status{"on its way to its provider", picture.Waiting}
}

// answer returns the command for answering instead of a provider whose handler returned without an answer. It returns
// "" for other requests.
func answer(stack *store.Stack, r *store.Request) string {
	if engine.Standing(r) == "" {
		return ""
	}
	return "pintle respond " + stack.Name + " " + string(r.Logical) + " --status SUCCESS"
}

// childURL returns the path of an instance's nested stack, or "" if it has none.
func childURL(i store.Instance) string {
	if i.PhysicalID == "" || i.Body.Type != engine.CloudFormation.StackType() && i.Body.Type != engine.ROS.StackType() {
		return ""
	}
	return stackURL(wire.StackID(i.PhysicalID))
}

// dialectName returns the display name of a dialect.
func dialectName(dialect string) string {
	if dialect == engine.ROS.Name() {
		return "ROS"
	}
	return "CloudFormation"
}

// place identifies one of a stack's pages.
type place struct {
	Stack *store.Stack
	Here  string
}

// field is a name and a value as displayed.
type field struct {
	Name, Value string
	// Note is additional information, e.g. an export's name.
	Note string
}

// plainText returns a value as a text with masked secrets. It also masks signatures in URLs: a viewer must not be able
// to use a signed URL. The mask of a secret list hides its length too.
func plainText(v value.Value) string {
	switch {
	case v.Kind() == value.List && v.HasSecret():
		return value.ParameterMask
	case v.IsScalar():
		return wire.Redact(v.Masked().Text())
	}
	return wire.Redact(v.String())
}

// indented returns a value as indented JSON, with the masks of [plainText], or "" for null.
func indented(v value.Value) string {
	if v.IsNull() {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(v.String()), "", "  "); err != nil {
		return wire.Redact(v.String())
	}
	return wire.Redact(b.String())
}

// functions returns the template functions of the pages.
func functions(assets map[string]asset) template.FuncMap {
	return template.FuncMap{
		"asset": func(name string) string { return Prefix + "static/" + name + "?v=" + assets[name].tag },
		"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"ago":   func(now, t time.Time) string { return short(now.Sub(t)) },
		"upto":  func(now, t time.Time) string { return short(max(t.Sub(now), 0)) },
		"stack": func(s *store.Stack, parts ...any) string {
			texts := make([]string, len(parts))
			for i, part := range parts {
				texts[i] = fmt.Sprint(part)
			}
			return stackURL(s.ID, texts...)
		},
		"request": requestURL,
		"plural":  plural,
		"lines":   func(text string) bool { return strings.Contains(text, "\n") },
		"child":   childURL,
		"dialect": dialectName,
		"stands":  func(s *store.Stack) status { return stackStatus(s) },
		"join":    strings.Join,
		"parent":  func(s *store.Stack) string { return stackURL(s.Parent) },
		"below":   func(s *store.Stack, here string) place { return place{s, here} },
	}
}

// namedRequest finds the request that the reason of a failure names. The engine adds it after the provider's text, and
// in CloudFormation's text for a provider that gave no reason.
var namedRequest = regexp.MustCompile(`(?s).*\(RequestId: ([\w-]+)\)|^.*? for requestId \[([\w-]+)\]`)

// failureURL returns the path of the request that made a resource fail, or "". Rows of earlier versions have it only in
// the reason.
func failureURL(failedBy wire.RequestID, reason string) string {
	if failedBy != "" {
		return requestURL(failedBy)
	}
	return requestIn(reason)
}

// requestIn returns the path of the request that a reason names, or "".
func requestIn(reason string) string {
	found := namedRequest.FindStringSubmatch(reason)
	if found == nil {
		return ""
	}
	return requestURL(wire.RequestID(found[1] + found[2])) // one of the two is empty
}

// plural returns a number with a noun: "1 stack", "2 stacks".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// short formats a duration in its two largest units that are not zero.
func short(d time.Duration) string {
	d = d.Round(time.Second)
	if d < 0 {
		return "0 s"
	}
	days, hours := int(d/(24*time.Hour)), int(d/time.Hour)%24
	minutes, seconds := int(d/time.Minute)%60, int(d/time.Second)%60
	switch {
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, hours)
	case hours > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%d min %d s", minutes, seconds)
	}
	return fmt.Sprintf("%d s", seconds)
}
