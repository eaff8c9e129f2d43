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
	// told says that it is recorded what became of what was asked for.
	told bool
}

// page is what the layout shows.
type page struct {
	Title string
	// Here is the entry of the navigation that the page belongs to.
	Here string
	// Session is nil for someone who has not signed in.
	Session *session
	Token   string
	// Notice says what was just done, Problem why something was not.
	Notice, Problem string
	// Path is where the page is, without what is said once. Moved says that the browser has another address: that of a form, which
	// would be sent once more if the page were loaded again, or one with a notice, which would be given once more.
	Path  string
	Moved bool
	// Onward says that the browser is to ask for Path at once.
	Onward bool
	// Stream is the path that says when the page has changed; empty if it does not. Refresh then is how many seconds a browser
	// without scripts waits before it loads the page again, unless that would undo what its reader Fills in.
	Stream  string
	Refresh int
	Fills   bool
	Version string
	Now     time.Time
	Content any
}

// Acts reports whether the reader may act.
func (p *page) Acts() bool { return p.Session != nil && p.Session.acts() }

// failure is an error that is shown to the reader.
type failure struct {
	Status  int
	Message string
}

// Error returns the message.
func (f *failure) Error() string { return f.Message }

// These are the pages for requests that the console refuses.
var (
	errNothing = &failure{http.StatusNotFound, "There is nothing here: it may have been removed, or belong to another account."}
	errForeign = &failure{http.StatusForbidden, "This was sent from a page of another server, and nothing was changed."}
	errStale   = &failure{http.StatusForbidden, "The form belongs to another session, and nothing was changed. Reload its page."}
	errViewer  = &failure{http.StatusForbidden, "You may look, but not act: sign in as an operator to do this. Nothing was changed."}
)

// seen makes a handler of a page that only those see who have signed in.
func (c *Console) seen(show func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, ok := c.session(r)
		if !ok {
			if r.Header.Get("Accept") == streamType {
				http.Error(w, "sign in", http.StatusUnauthorized)
				return
			}
			if fromElsewhere(r) && !r.URL.Query().Has("on") { // there may be a session all the same
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

// acting makes a handler of what only some roles may do, all if there are none, and only from a page of this server.
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

// deny shows why nothing was done, and puts it on record if it is not yet.
func (c *Console) deny(v *visit, err error) {
	shown := c.explain(v, err)
	if !v.told && slices.Contains(actionNames, actionOf(v.r)) {
		a := Action{Name: actionOf(v.r), Status: shown.Status, Refused: shown.Message}
		if strings.HasPrefix(v.r.URL.Path, Prefix+"stacks/") {
			a.Stack = wire.StackID(v.r.PathValue("id")) // as it was named: there may be none
		}
		c.record(v.w, v.r, &v.session.Identity, a)
	}
	c.problem(v, shown)
}

// mayAct refuses what was not sent by a page of the session's own, or is not for its role.
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

// actionOf names what a request asks for.
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

// explain returns what is shown of an error.
func (c *Console) explain(v *visit, err error) *failure {
	shown, ok := errors.AsType[*failure](err)
	input, mends := engine.InputError(err)
	switch {
	case ok:
	case mends:
		shown = &failure{http.StatusBadRequest, input.Message}
	case errors.Is(err, store.ErrNotFound):
		shown = errNothing
	case v.r.Context().Err() != nil: // the reader has gone, the time is over, or the server stops
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

// back returns the page that a form was on, or one that leads there; empty for what is not a form.
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

// render writes a page, whole or not at all.
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
	_, _ = body.WriteTo(w) // a browser that went away has no use for the rest
}

// stack returns the stack that the path names, if the session may see it.
func (c *Console) stack(v *visit) (store.Stack, error) {
	stack, err := c.Rows.Stack(v.r.Context(), wire.StackID(v.r.PathValue("id")))
	if err == nil && !v.session.sees(stack.Account) {
		return store.Stack{}, store.ErrNotFound
	}
	return stack, err
}

// refOf names a stack as the engine's endpoints take it.
func refOf(stack *store.Stack) engine.Ref {
	return engine.Ref{
		Account: stack.Account, Region: stack.Region, Stack: string(stack.ID), ByID: stack.Dialect == engine.ROS.Name(),
	}
}

// stackURL is the path of a stack's page, or of one below it.
func stackURL(id wire.StackID, parts ...string) string {
	path := Prefix + "stacks/" + url.PathEscape(string(id))
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

func requestURL(id wire.RequestID) string { return Prefix + "requests/" + url.PathEscape(string(id)) }
