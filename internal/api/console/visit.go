package console

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// visit is one request of a session.
type visit struct {
	w       http.ResponseWriter
	r       *http.Request
	session *session
	now     time.Time
	// recorded means that the result of the action has been recorded.
	recorded bool
}

// page is the input of the layout.
type page struct {
	Title string
	// Here is the navigation entry of the page.
	Here string
	// Session is nil before sign-in.
	Session *session
	Token   string
	// Notice confirms the last action. Problem is the reason of a failure.
	Notice, Problem string
	// Path is the URL of the page without one-time parameters. Moved means that the browser shows a different URL: that
	// of a form, which a reload would send again, or one with a notice, which a reload would repeat.
	Path  string
	Moved bool
	// Onward means that the browser must request Path immediately.
	Onward bool
	// Stream is the path of the page's live updates, or empty. Refresh is the reload interval in seconds for browsers
	// without scripts. It is ignored if the page Fills in a form, because a reload would lose the input.
	Stream  string
	Refresh int
	Fills   bool
	Version string
	Now     time.Time
	Content any
}

// Acts reports whether the user may execute actions.
func (p *page) Acts() bool { return p.Session != nil && p.Session.acts() }

// failure is an error that is shown to the user.
type failure struct {
	Status  int
	Message string
}

// Error returns the message.
func (f *failure) Error() string { return f.Message }

// Errors of requests that the console rejects.
var (
	errNothing = &failure{http.StatusNotFound, "There is nothing here: it may have been removed, or belong to another account."}
	errForeign = &failure{http.StatusForbidden, "This was sent from a page of another server, and nothing was changed."}
	errStale   = &failure{http.StatusForbidden, "The form belongs to another session, and nothing was changed. Reload its page."}
	errViewer  = &failure{http.StatusForbidden, "You may look, but not act: sign in as an operator to do this. Nothing was changed."}
)

// seen returns a handler of a page for signed-in users.
func (ac *access) seen(show func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, ok := ac.sessions.session(r)
		if !ok {
			if r.Header.Get("Accept") == streamType {
				http.Error(w, "sign in", http.StatusUnauthorized)
				return
			}
			if fromElsewhere(r) && !r.URL.Query().Has("on") { // a session may exist anyway
				ac.goOn(w, r)
				return
			}
			http.Redirect(w, r, Prefix+"sign-in", http.StatusSeeOther)
			return
		}
		v := &visit{w: w, r: r, session: s, now: ac.Now().UTC()}
		if err := show(v); err != nil {
			ac.fail(v, err)
		}
	}
}

// acting returns a handler of an action. Only the given roles may use it, or all if roles is nil, and only from a page
// of this server.
func (ac *access) acting(roles []Role, do func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, ok := ac.sessions.session(r)
		if !ok {
			ac.showSignIn(w, r, http.StatusForbidden, signInView{Problem: "Your session has expired, and nothing was changed. Sign in again."})
			return
		}
		v := &visit{w: w, r: r, session: s, now: ac.Now().UTC()}
		if err := ac.mayAct(v, roles); err != nil {
			ac.deny(v, err)
			return
		}
		if err := do(v); err != nil {
			ac.deny(v, err)
		}
	}
}

// deny shows the error of an action, and records it if that has not been done yet.
func (ac *access) deny(v *visit, err error) {
	shown := ac.explain(v, err)
	if !v.recorded && slices.Contains(actionNames, actionOf(v.r)) {
		a := Action{Name: actionOf(v.r), Status: shown.Status, Refused: shown.Message}
		if strings.HasPrefix(v.r.URL.Path, Prefix+"stacks/") {
			a.Stack = wire.StackID(v.r.PathValue("id")) // from the path: the stack may not exist
		}
		ac.record(v.w, v.r, &v.session.Identity, a)
	}
	ac.problem(v, shown)
}

// mayAct rejects actions that do not come from a page of the session, or that the session's role does not allow.
func (ac *access) mayAct(v *visit, roles []Role) *failure {
	if err := sameOrigin(v.r); err != nil {
		return err
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			return &failure{http.StatusRequestEntityTooLarge, "The form is too long, and nothing was changed."}
		}
		return &failure{http.StatusBadRequest, "The form could not be read, and nothing was changed."}
	}
	given, want := []byte(v.r.PostForm.Get("token")), []byte(ac.sessions.token(v.session))
	switch {
	case subtle.ConstantTimeCompare(given, want) != 1:
		return errStale
	case roles != nil && !slices.Contains(roles, v.session.Role):
		return errViewer
	}
	return nil
}

// actionOf returns the name of the requested action.
func actionOf(r *http.Request) string {
	if action := r.PathValue("action"); action != "" {
		if r.PathValue("name") != "" && action == "delete" {
			return "delete-change-set"
		}
		return action
	}
	return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
}

// back returns the page of a form, or a page with a link to it. It returns "" if the request was not a form.
func back(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	path := r.URL.EscapedPath()
	for _, part := range []string{"/actions/", "/respond", "/changesets/"} {
		if at := strings.Index(path, part); at > 0 {
			return path[:at]
		}
	}
	return Prefix
}

// refOf returns the engine's reference to a stack.
func refOf(stack *store.Stack) engine.Ref {
	return engine.Ref{
		Account: stack.Account, Region: stack.Region, Stack: string(stack.ID), ByID: stack.Dialect == engine.ROS.Name(),
	}
}

// stackURL returns the path of a stack's page, or of a page below it.
func stackURL(id wire.StackID, parts ...string) string {
	path := Prefix + "stacks/" + url.PathEscape(string(id))
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

func requestURL(id wire.RequestID) string { return Prefix + "requests/" + url.PathEscape(string(id)) }
