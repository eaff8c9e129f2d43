package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Limits of sign-in attempts.
const (
	// In tryTime, an address or a key may fail maxTries times, and all together maxAllTries times.
	maxTries    = 5
	maxAllTries = 100
	tryTime     = time.Minute
)

// tries counts recent failures by address and by key.
type tries struct {
	mu    sync.Mutex
	since time.Time
	wrong map[string]int
	all   int
}

// allowed reports whether another attempt is allowed.
func (t *tries) allowed(now time.Time, names ...string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if age := now.Sub(t.since); age < 0 || age >= tryTime {
		t.since, t.wrong, t.all = now, map[string]int{}, 0
	}
	for _, name := range names {
		if t.wrong[name] >= maxTries {
			return false
		}
	}
	return t.all < maxAllTries
}

func (t *tries) failed(names ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all++
	for _, name := range names {
		t.wrong[name]++
	}
}

// signInView is the content of the sign-in page.
type signInView struct {
	Problem string
	Keys    bool // sign-in with a key is enabled
	KeyID   string
}

// access lets requests in: it signs users in and out, and admits sessions to pages and actions.
type access struct {
	*site

	links *links
	tries tries
}

// signInPage begins the session of a link, or shows the form.
func (ac *access) signInPage(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	if token == "" || r.Method == http.MethodHead || r.Header.Get("Sec-Purpose") != "" { // a prefetch or preview, which must not use up the link
		ac.showSignIn(w, r, http.StatusOK, signInView{})
		return
	}
	// A valid link works regardless of failed attempts. Links cannot be guessed, and failures must not lock out other
	// users.
	who, ok, err := ac.links.useLink(r.Context(), token)
	if err != nil {
		ac.broken(w, r, err)
		return
	}
	if !ok {
		address := "from " + addressOf(r)
		if !ac.tries.allowed(ac.Now(), address) {
			ac.tooManyTries(w, r)
			return
		}
		ac.tries.failed(address)
		ac.record(w, r, nil, Action{Name: "sign-in", Status: http.StatusForbidden, Refused: "the link was used before or is too old"})
		ac.showSignIn(w, r, http.StatusForbidden, signInView{Problem: "This link was used before, or is older than two minutes. " +
			"Get another one with: pintle console"})
		return
	}
	ac.enter(w, r, who)
}

func (ac *access) enter(w http.ResponseWriter, r *http.Request, who Identity) {
	if err := ac.sessions.begin(w, r, who); err != nil {
		ac.broken(w, r, err)
		return
	}
	ac.record(w, r, &who, Action{Name: "sign-in", Status: http.StatusSeeOther})
	http.Redirect(w, r, Prefix, http.StatusSeeOther)
}

// fromElsewhere reports whether a link on another site opened the page. Browsers then send no SameSite=Strict cookies,
// not even after a redirect.
func fromElsewhere(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// goOn sends a page that makes the browser repeat the request from this server. The new URL is marked, to prevent an
// infinite loop.
func (ac *access) goOn(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	q.Set("on", "1")
	path := r.URL.EscapedPath() + "?" + q.Encode()
	ac.render(w, r, http.StatusOK, "on.html", &page{Title: "Pintle", Path: path, Onward: true})
}

// signIn begins the session of an access key. It does not reveal whether the key or the secret was wrong.
func (ac *access) signIn(w http.ResponseWriter, r *http.Request) {
	if err := sameOrigin(r); err != nil {
		ac.showSignIn(w, r, http.StatusForbidden, signInView{Problem: err.Message})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		ac.showSignIn(w, r, http.StatusBadRequest, signInView{Problem: "The form could not be read."})
		return
	}
	id, secret := strings.TrimSpace(r.PostForm.Get("key")), strings.TrimSpace(r.PostForm.Get("secret"))
	names := []string{"from " + addressOf(r)}
	if who, ok := ac.sessions.identityOf(id); ok { // only existing keys are counted
		names = append(names, "as "+who.KeyID)
	}
	if !ac.tries.allowed(ac.Now(), names...) {
		ac.tooManyTries(w, r)
		return
	}
	who, ok := ac.sessions.identityOf(id)
	var want string
	if ok {
		key, _ := ac.Keys(id)
		want = string(key.Secret)
	}
	given, right := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(want))
	if same := subtle.ConstantTimeCompare(given[:], right[:]) == 1; !same || !ok {
		ac.tries.failed(names...)
		ac.record(w, r, nil, Action{
			Name: "sign-in", Status: http.StatusForbidden, Refused: "the access key or its secret is wrong",
		})
		ac.showSignIn(w, r, http.StatusForbidden, signInView{Problem: "The access key or its secret is wrong.", KeyID: id})
		return
	}
	ac.enter(w, r, who)
}

func (ac *access) tooManyTries(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "60")
	ac.showSignIn(w, r, http.StatusTooManyRequests, signInView{Problem: "There were too many wrong tries. Wait a minute."})
}

func (ac *access) showSignIn(w http.ResponseWriter, r *http.Request, status int, view signInView) {
	view.Keys = ac.Keys != nil
	ac.render(w, r, status, "signin.html", &page{
		Title: "Sign in", Path: Prefix + "sign-in", Moved: r.Method == http.MethodPost || r.URL.RawQuery != "", Content: view,
	})
}

// signOut ends a session.
func (ac *access) signOut(v *visit) error {
	ac.sessions.ended.add(v.session, ac.Now())
	http.SetCookie(v.w, ac.sessions.cookie(v.r, "", -1))
	ac.record(v.w, v.r, &v.session.Identity, Action{Name: "sign-out", Status: http.StatusSeeOther})
	http.Redirect(v.w, v.r, Prefix+"sign-in", http.StatusSeeOther)
	return nil
}

// addressOf returns the client's address without the port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// sameOrigin rejects requests from pages of other servers. Every current browser sends one of the two headers.
func sameOrigin(r *http.Request) *failure {
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "" && site != "same-origin" {
		return errForeign
	}
	// Forms of the console's own pages send null, because of the Referrer-Policy.
	if origin := r.Header.Get("Origin"); origin != "" && (origin != "null" || site == "") {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return errForeign
		}
	}
	return nil
}
