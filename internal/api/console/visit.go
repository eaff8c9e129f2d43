package console

import (
	"bytes"
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
	// told means that the result of the action has been recorded.
	told bool
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
func (c *Console) seen(show func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, ok := c.session(r)
		if !ok {
			if r.Header.Get("Accept") == streamType {
				http.Error(w, "sign in", http.StatusUnauthorized)
				return
			}
			if fromElsewhere(r) && !r.URL.Query().Has("on") { // a session may exist anyway
				c.goOn(w, r)
				return
			}
			http.Redirect(w, r, Prefix+"sign-in", http.StatusSeeOther)
			return
		}
		v := &visit{w: w, r: r, session: s, now: c.Now().UTC()}
		if err := show(v); err != nil {
			c.fail(v, err)
		}
	}
}

// acting returns a handler of an action. Only the given roles may use it, or all if roles is nil, and only from a page
// of this server.
func (c *Console) acting(roles []Role, do func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, ok := c.session(r)
		if !ok {
			c.showSignIn(w, r, http.StatusForbidden, signInView{Problem: "Your session has expired, and nothing was changed. Sign in again."})
			return
		}
		v := &visit{w: w, r: r, session: s, now: c.Now().UTC()}
		if err := c.mayAct(v, roles); err != nil {
			c.deny(v, err)
			return
		}
		if err := do(v); err != nil {
			c.deny(v, err)
		}
	}
}

// deny shows the error of an action, and records it if that has not been done yet.
func (c *Console) deny(v *visit, err error) {
	shown := c.explain(v, err)
	if !v.told && slices.Contains(actionNames, actionOf(v.r)) {
		a := Action{Name: actionOf(v.r), Status: shown.Status, Refused: shown.Message}
		if strings.HasPrefix(v.r.URL.Path, Prefix+"stacks/") {
			a.Stack = wire.StackID(v.r.PathValue("id")) // from the path: the stack may not exist
		}
		c.record(v.w, v.r, &v.session.Identity, a)
	}
	c.problem(v, shown)
}

// mayAct rejects actions that do not come from a page of the session, or that the session's role does not allow.
func (c *Console) mayAct(v *visit, roles []Role) *failure {
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
	given, want := []byte(v.r.PostForm.Get("token")), []byte(c.token(v.session))
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

// fail shows an error.
func (c *Console) fail(v *visit, err error) {
	c.problem(v, c.explain(v, err))
}

// explain returns the error to show.
func (c *Console) explain(v *visit, err error) *failure {
	shown, ok := errors.AsType[*failure](err)
	input, mends := engine.InputError(err)
	switch {
	case ok:
	case mends:
		shown = &failure{http.StatusBadRequest, input.Message}
	case errors.Is(err, store.ErrNotFound):
		shown = errNothing
	case v.r.Context().Err() != nil: // the client disconnected, the time limit expired, or the server is stopping
		shown = &failure{http.StatusServiceUnavailable, "The server did not finish in time, or is stopping. Check the result before you try again."}
	default:
		c.Log.ErrorContext(v.r.Context(), "internal failure", "service", "console", "path", wire.Redact(v.r.URL.Path), "error", err)
		shown = &failure{http.StatusInternalServerError, "Internal failure: see the server's log."}
	}
	return shown
}

func (c *Console) problem(v *visit, shown *failure) {
	c.show(v, shown.Status, "problem.html", page{
		Title: http.StatusText(shown.Status), Problem: shown.Message, Path: back(v.r), Content: back(v.r),
	})
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

// show renders a page for a session.
func (c *Console) show(v *visit, status int, name string, p page) {
	p.Session, p.Token, p.Now = v.session, c.token(v.session), v.now
	q := v.r.URL.Query()
	p.Notice, p.Moved = notices[q.Get("done")], v.r.Method == http.MethodPost || q.Has("done") || q.Has("on")
	q.Del("done")
	q.Del("on")
	if p.Path == "" {
		p.Path = v.r.URL.EscapedPath()
		if len(q) > 0 {
			p.Path += "?" + q.Encode()
		}
	}
	c.render(v.w, v.r, status, name, &p)
}

// render writes a complete page or an error.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name string, p *page) {
	p.Version = c.Version
	var body bytes.Buffer
	if err := c.pages[name].Execute(&body, p); err != nil {
		c.Log.ErrorContext(r.Context(), "internal failure", "service", "console", "page", name, "error", err)
		http.Error(w, "internal failure: see the server's log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // fails only if the browser has disconnected
}

// stack returns the stack in the path, if the session may see it.
func (c *Console) stack(v *visit) (store.Stack, error) {
	stack, err := c.Rows.Stack(v.r.Context(), wire.StackID(v.r.PathValue("id")))
	if err == nil && !v.session.sees(stack.Account) {
		return store.Stack{}, store.ErrNotFound
	}
	return stack, err
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
