package console

import (
	"bytes"
	"cmp"
	"errors"
	"html/template"
	"net/http"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// site is what all pages and actions share: they render pages for sessions, show and record results, and find the stack in the path.
type site struct {
	Config

	sessions *sessions
	pages    map[string]*template.Template
}

// fail shows an error.
func (st *site) fail(v *visit, err error) {
	st.problem(v, st.explain(v, err))
}

// explain returns the error to show.
func (st *site) explain(v *visit, err error) *failure {
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
		st.Log.ErrorContext(v.r.Context(), "internal failure", "service", "console", "path", wire.Redact(v.r.URL.Path), "error", err)
		shown = &failure{http.StatusInternalServerError, "Internal failure: see the server's log."}
	}
	return shown
}

func (st *site) problem(v *visit, shown *failure) {
	st.show(v, shown.Status, "problem.html", page{
		Title: http.StatusText(shown.Status), Problem: shown.Message, Path: back(v.r), Content: back(v.r),
	})
}

// show renders a page for a session.
func (st *site) show(v *visit, status int, name string, p page) {
	p.Session, p.Token, p.Now = v.session, st.sessions.token(v.session), v.now
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
	st.render(v.w, v.r, status, name, &p)
}

// render writes a complete page or an error.
func (st *site) render(w http.ResponseWriter, r *http.Request, status int, name string, p *page) {
	p.Version = st.Version
	var body bytes.Buffer
	if err := st.pages[name].Execute(&body, p); err != nil {
		st.Log.ErrorContext(r.Context(), "internal failure", "service", "console", "page", name, "error", err)
		http.Error(w, "internal failure: see the server's log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // fails only if the browser has disconnected
}

// stack returns the stack in the path, if the session may see it.
func (st *site) stack(v *visit) (store.Stack, error) {
	stack, err := st.Rows.Stack(v.r.Context(), wire.StackID(v.r.PathValue("id")))
	if err == nil && !v.session.sees(stack.Account) {
		return store.Stack{}, store.ErrNotFound
	}
	return stack, err
}

// refused records a rejected action and shows the page again with the reason.
func (st *site) refused(v *visit, stack *store.Stack, a Action, err error, show func(code int, problem string) error) error {
	code, problem := 0, ""
	if input, ok := engine.InputError(err); ok {
		code, problem = http.StatusBadRequest, input.Message
	} else if f, ok := errors.AsType[*failure](err); ok {
		code, problem = f.Status, f.Message
	}
	a.Refused, a.Status = problem, code
	if problem == "" {
		a.Refused, a.Status = "internal failure", http.StatusInternalServerError
	}
	st.auditAction(v, stack, a)
	if problem == "" {
		return err
	}
	return show(code, problem)
}

// done records an executed action and redirects the browser to a page that confirms it.
func (st *site) done(v *visit, stack *store.Stack, a Action, path, notice string) {
	a.Status = http.StatusSeeOther
	st.auditAction(v, stack, a)
	http.Redirect(v.w, v.r, path+"?done="+notice, http.StatusSeeOther)
}

func (st *site) auditAction(v *visit, stack *store.Stack, a Action) {
	v.recorded = true
	a.Account, a.Region, a.Stack = stack.Account, stack.Region, stack.ID
	st.record(v.w, v.r, &v.session.Identity, a)
}

// record calls Record if it is set. A nil identity means that the caller is unknown.
func (st *site) record(w http.ResponseWriter, r *http.Request, who *Identity, a Action) {
	if st.Record == nil {
		return
	}
	a.Time, a.From, a.Request = st.Now(), addressOf(r), w.Header().Get("X-Amzn-Requestid")
	if who != nil {
		a.By, a.KeyID, a.Role = who.Name, who.KeyID, who.Role
		a.Account = cmp.Or(a.Account, who.Account)
	}
	st.Record(r.Context(), a)
}

// broken shows an internal error on a page without a session.
func (st *site) broken(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil { // the client is still connected
		st.Log.ErrorContext(r.Context(), "internal failure", "service", "console", "error", err)
	}
	http.Error(w, "internal failure: see the server's log", http.StatusInternalServerError)
}

// progress describes the cause of a request's delay, or returns "".
func (st *site) progress(r *store.Request) string {
	text := ""
	if st.Progress != nil {
		text = st.Progress(r.ID)
	}
	return cmp.Or(text, engine.Standing(r))
}
