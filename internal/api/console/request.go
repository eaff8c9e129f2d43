package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// requestView is the content of a request's page.
type requestView struct {
	Stack    *store.Stack
	Request  *store.Request
	Status   status
	Progress string
	// Deadline is when the request fails. Zero means that it is not with its provider. Answer is described at
	// [requestRow].
	Deadline time.Time
	Answer   string
	Lines    []string // of the provider's log
	// NoLines is the reason for missing lines, or empty.
	NoLines string
	// Audit is the request's entries in the audit list, oldest first.
	Audit []store.Audit
	// Token is the service token, Properties and Old are the sent properties, and Config is the HTTP configuration of a
	// URL. All are JSON with masked secrets.
	Token, Properties, Old, Config string
	// Instance is the resource of the request, nil if it no longer exists.
	Instance *resourceRow
	// Answered means that Data contains the attributes of this request's answer, as JSON with masked secrets.
	Answered bool
	Data     string
	// Responds means that the request can be answered manually.
	Responds bool
	NoEcho   bool // the attributes can be secret
	// Nested is the nested stack of the request. It is nil if the request is for a provider, or if the stack is not
	// known yet.
	Nested *store.Stack
	// Reads describes, in words, the attributes that other resources and outputs read. It may be empty. Secret means
	// that the resource has secret attributes, which an empty Form.Data keeps.
	Reads  string
	Secret bool
	// Form contains the initial values of the answer form. Refused means that it contains a rejected answer, for
	// correction.
	Form    form
	Refused bool
}

// form is a manual answer.
type form struct {
	Status, PhysicalID, Reason, Data string
	NoEcho, Force                    bool
}

// requestPages shows requests, and answers them instead of their providers.
type requestPages struct {
	*site

	live *streams
}

// requestPage shows a request and its answer.
func (rp *requestPages) requestPage(v *visit) error {
	r, stack, err := rp.request(v)
	if err != nil {
		return err
	}
	return rp.showRequest(v, 200, &r, &stack, "")
}

// request returns the request in the path and its stack, if the session may see them.
func (rp *requestPages) request(v *visit) (store.Request, store.Stack, error) {
	r, err := rp.Rows.Request(v.r.Context(), wire.RequestID(v.r.PathValue("id")))
	if err != nil {
		return r, store.Stack{}, err
	}
	stack, err := rp.Rows.StackOf(v.r.Context(), r.Stack)
	if err == nil && (!v.session.sees(stack.Account) || !r.Asks()) {
		err = store.ErrNotFound
	}
	return r, stack, err
}

func (rp *requestPages) showRequest(v *visit, code int, r *store.Request, stack *store.Stack, problem string) error {
	view := requestView{
		Stack: stack, Request: r, Status: requestStatus(r, v.now), Progress: rp.progress(r), Answer: answer(stack, r),
		Responds: r.State == store.RequestWaiting && r.Body.Aim == "", NoEcho: stack.Dialect != engine.ROS.Name(),
	}
	if r.State == store.RequestWaiting {
		open, err := rp.Rows.OpenRequests(v.r.Context(), stack.Key, maxDeadlines)
		if err != nil {
			return err
		}
		view.Deadline = engine.Deadlines(append(open, *r))[r.ID] // it may be beyond the limit of open
	}
	revision, err := rp.Engine.Revision(v.r.Context(), *stack)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	config := r.Body.HTTPConfig
	if key, ok := config.Get("SignKey"); ok {
		config = config.With("SignKey", key.Tainted(value.OfAttribute)) // even if it is short
	}
	hidden := slices.Concat(secretsOf(&revision), r.Body.Properties.Secrets(), r.Body.OldProperties.Secrets(),
		store.TokenSecrets(r.Body.Token), store.ConfigSecrets(config))
	shown := func(v value.Value) string { return indented(v.TaintedWith(hidden)) }
	view.Properties, view.Old, view.Config = shown(r.Body.Properties), shown(r.Body.OldProperties), shown(config)
	if !r.Body.Native() {
		view.Token = store.ShownURL(plainText(r.Body.Token))
	}
	if err := rp.fillAnswer(v.r.Context(), &view, shown); err != nil {
		return err
	}
	if view.Responds && v.session.acts() {
		if err := rp.fillForm(v.r.Context(), &view, hidden); err != nil {
			return err
		}
	}
	if typed := v.r.PostForm; problem != "" {
		view.Refused = true
		view.Form = form{
			typed.Get("status"), typed.Get("physicalId"), typed.Get("reason"), typed.Get("data"), typed.Get("noEcho") != "", typed.Get("force") != "",
		}
		if view.Form.NoEcho {
			view.Form.Data = "" // they are never displayed
		}
	}
	if err := rp.fillNested(v, &view); err != nil {
		return err
	}
	if rp.Logs != nil {
		lines, err := rp.Logs(v.r.Context(), r.ID)
		if err != nil {
			return err
		}
		view.Lines = lines
	}
	if len(view.Lines) == 0 {
		view.NoLines = noLines(r)
	}
	audit, err := rp.Rows.Audit(v.r.Context(), stack.Key, maxAudit)
	if err != nil {
		return err
	}
	for _, entry := range slices.Backward(audit) {
		if entry.Request == r.ID {
			view.Audit = append(view.Audit, entry)
		}
	}
	p := page{Title: string(r.Type) + " of " + string(r.Logical), Here: "stacks", Problem: problem, Content: view}
	if v.r.Method == http.MethodPost {
		p.Path = requestURL(r.ID)
	}
	if r.State != store.RequestSettled {
		p.Stream, p.Refresh, p.Fills = requestStream(r), 10, view.Responds && v.session.acts()
	}
	rp.show(v, code, "request.html", p)
	return nil
}

// maxAudit is how many of the newest entries of a stack's audit list are searched for a request.
const maxAudit = 1000

// noLines returns the reason why a request has no log lines.
func noLines(r *store.Request) string {
	switch token := plainText(r.Body.Token); {
	case r.Body.Aim != "":
		return "A nested stack has no log."
	case r.Body.Native():
		return "This server provides the resource type itself, without a log."
	case r.Delivered.IsZero() && r.State != store.RequestSettled:
		return "No log yet: the provider has not received the request."
	case strings.HasPrefix(token, "http://"), strings.HasPrefix(token, "https://"), strings.HasPrefix(token, "web:"),
		strings.Contains(token, ":sns:"):
		return "The provider runs elsewhere and keeps its own log."
	}
	return "No log: the provider printed nothing, runs elsewhere or on another node, or this server was restarted. " +
		"A server keeps the last lines of the newest requests that it ran itself, in memory."
}

// fillAnswer adds the attributes of the answer. They are stored with the resource if this was its last successful
// request.
func (rp *requestPages) fillAnswer(ctx context.Context, view *requestView, shown func(value.Value) string) error {
	if view.Request.Instance == 0 {
		return nil
	}
	rows, err := rp.Rows.InstancesAfter(ctx, view.Stack.Key, view.Request.Instance-1, 1)
	if err != nil || len(rows) == 0 || rows[0].Number != view.Request.Instance {
		return err
	}
	row := resourceOf(view.Stack, rows[0])
	view.Instance = &row
	if row.Body.AnsweredBy == view.Request.ID {
		view.Answered, view.Data, view.Status.Class = true, shown(row.Body.Data), picture.Done
	}
	return nil
}

// fillForm fills the answer form with the resource's physical ID, and with its attributes for an Update. Secret
// attributes are omitted.
func (rp *requestPages) fillForm(ctx context.Context, view *requestView, hidden []string) error {
	view.Form.PhysicalID = string(view.Request.Body.PhysicalID)
	if row := view.Instance; row != nil {
		view.Form.PhysicalID = cmp.Or(view.Form.PhysicalID, string(row.PhysicalID))
		if data := row.Body.Data; view.Request.Type == wire.Update && !data.IsNull() {
			var plain bytes.Buffer
			err := json.Indent(&plain, data.JSON(), "", "  ")
			if view.Secret = err != nil || plain.String() != indented(data.TaintedWith(hidden)); !view.Secret {
				view.Form.Data = plain.String()
			}
			view.Form.NoEcho = row.Body.NoEcho
		}
	}
	if view.Request.Type == wire.Delete {
		return nil
	}
	reads, err := rp.Engine.AttributeReads(ctx, *view.Stack, view.Request.Logical)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	view.Reads = engine.DescribeReads(reads)
	return err
}

// fillNested finds the nested stack of a request without a provider.
func (rp *requestPages) fillNested(v *visit, view *requestView) error {
	if view.Request.Body.Aim == "" || view.Instance == nil || view.Instance.PhysicalID == "" {
		return nil
	}
	stack, err := rp.Rows.Stack(v.r.Context(), wire.StackID(view.Instance.PhysicalID))
	if errors.Is(err, store.ErrNotFound) || err == nil && !v.session.sees(stack.Account) {
		return nil
	}
	view.Nested = &stack
	return err
}

// respond answers a request instead of its provider.
func (rp *requestPages) respond(v *visit) error {
	r, stack, err := rp.request(v)
	if err != nil {
		return err
	}
	form := v.r.PostForm
	in := engine.Respond{
		Stack: refOf(&stack), Logical: r.Logical, Request: r.ID, Status: wire.Status(form.Get("status")),
		PhysicalID: wire.PhysicalID(strings.TrimSpace(form.Get("physicalId"))), Reason: strings.TrimSpace(form.Get("reason")),
		NoEcho: form.Get("noEcho") != "", Force: form.Get("force") != "", By: v.by(),
	}
	if data := strings.TrimSpace(form.Get("data")); data != "" {
		in.Data = []byte(data)
	}
	action := Action{Name: "respond", Object: string(r.Logical)}
	if !in.Status.Valid() {
		return rp.refused(v, &stack, action, &failure{http.StatusBadRequest, "Say whether it succeeded or failed. Nothing was changed."},
			func(code int, problem string) error { return rp.showRequest(v, code, &r, &stack, problem) })
	}
	if _, err := rp.Engine.Respond(v.r.Context(), in); err != nil {
		return rp.refused(v, &stack, action, err, func(code int, problem string) error {
			return rp.showRequest(v, code, &r, &stack, problem)
		})
	}
	rp.done(v, &stack, action, requestURL(r.ID), "respond")
	return nil
}

// by returns the user's name and address for the audit list.
func (v *visit) by() string { return v.session.Name + " in the console, from " + addressOf(v.r) }
