package console

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Bounds of signing in.
const (
	// An address, and a key, may be wrong maxTries times in tryTime; all together maxAllTries times.
	maxTries    = 5
	maxAllTries = 100
	tryTime     = time.Minute
)

// tries counts what was wrong in the last while, by address and by key.
type tries struct {
	mu    sync.Mutex
	since time.Time
	wrong map[string]int
	all   int
}

// allowed reports whether another try may be made.
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

// signInView is what the page shows.
type signInView struct {
	Problem string
	Keys    bool // that one can sign in with a key
	KeyID   string
}

// signInPage begins the session of a link, or shows the form.
func (c *Console) signInPage(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	if token == "" || r.Method == http.MethodHead || r.Header.Get("Sec-Purpose") != "" { // no one looks at it yet
		c.showSignIn(w, r, http.StatusOK, signInView{})
		return
	}
	// A link that is right works however many were wrong: no one guesses one, and no one may keep others out by trying.
	who, ok, err := c.useLink(r.Context(), token)
	if err != nil {
		c.broken(w, r, err)
		return
	}
	if !ok {
		address := "from " + addressOf(r)
		if !c.tries.allowed(c.Now(), address) {
			c.tooManyTries(w, r)
			return
		}
		c.tries.failed(address)
		c.record(w, r, nil, Action{Name: "sign-in", Status: http.StatusForbidden, Refused: "the link was used before or is too old"})
		c.showSignIn(w, r, http.StatusForbidden, signInView{Problem: "This link was used before, or is older than two minutes. " +
			"Get another one with: pintle console"})
		return
	}
	c.enter(w, r, who)
}

func (c *Console) enter(w http.ResponseWriter, r *http.Request, who Identity) {
	if err := c.begin(w, r, who); err != nil {
		c.broken(w, r, err)
		return
	}
	c.record(w, r, &who, Action{Name: "sign-in", Status: http.StatusSeeOther})
	http.Redirect(w, r, Prefix, http.StatusSeeOther)
}

// broken tells one who has not signed in that the server has failed.
func (c *Console) broken(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil { // someone waits
		c.Log.ErrorContext(r.Context(), "internal failure", "service", "console", "error", err)
	}
	http.Error(w, "internal failure: see the server's log", http.StatusInternalServerError)
}

// fromElsewhere reports whether a page of another site has led a browser here: a browser then sends no cookie that is SameSite=Strict,
// nor with what it is redirected to.
func fromElsewhere(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// goOn has a browser ask for the same once more, by a page of this server. The address then says so, lest it continues forever.
func (c *Console) goOn(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	q.Set("on", "1")
	path := r.URL.EscapedPath() + "?" + q.Encode()
	c.render(w, r, http.StatusOK, "on.html", &page{Title: "Pintle", Path: path, Onward: true})
}

// signIn begins the session of an access key. Neither the secret nor what was wrong with it is shown.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	if err := sameOrigin(r); err != nil {
		c.showSignIn(w, r, http.StatusForbidden, signInView{Problem: err.Message})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		c.showSignIn(w, r, http.StatusBadRequest, signInView{Problem: "The form could not be read."})
		return
	}
	id, secret := strings.TrimSpace(r.PostForm.Get("key")), strings.TrimSpace(r.PostForm.Get("secret"))
	names := []string{"from " + addressOf(r)}
	if who, ok := c.identityOf(id); ok { // what is not a key is not remembered
		names = append(names, "as "+who.KeyID)
	}
	if !c.tries.allowed(c.Now(), names...) {
		c.tooManyTries(w, r)
		return
	}
	who, ok := c.identityOf(id)
	var want string
	if ok {
		key, _ := c.Keys(id)
		want = string(key.Secret)
	}
	given, right := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(want))
	if same := subtle.ConstantTimeCompare(given[:], right[:]) == 1; !same || !ok {
		c.tries.failed(names...)
		c.record(w, r, nil, Action{
			Name: "sign-in", Status: http.StatusForbidden, Refused: "the access key or its secret is wrong",
		})
		c.showSignIn(w, r, http.StatusForbidden, signInView{Problem: "The access key or its secret is wrong.", KeyID: id})
		return
	}
	c.enter(w, r, who)
}

func (c *Console) tooManyTries(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "60")
	c.showSignIn(w, r, http.StatusTooManyRequests, signInView{Problem: "There were too many wrong tries. Wait a minute."})
}

func (c *Console) showSignIn(w http.ResponseWriter, r *http.Request, status int, view signInView) {
	view.Keys = c.Keys != nil
	c.render(w, r, status, "signin.html", &page{
		Title: "Sign in", Path: Prefix + "sign-in", Moved: r.Method == http.MethodPost || r.URL.RawQuery != "", Content: view,
	})
}

// signOut ends a session.
func (c *Console) signOut(v *visit) error {
	c.ended.add(v.session, c.Now())
	http.SetCookie(v.w, c.cookie(v.r, "", -1))
	c.record(v.w, v.r, &v.session.Identity, Action{Name: "sign-out", Status: http.StatusSeeOther})
	http.Redirect(v.w, v.r, Prefix+"sign-in", http.StatusSeeOther)
	return nil
}

// record reports an action to Record, if that is set. who is nil if the caller is unknown.
func (c *Console) record(w http.ResponseWriter, r *http.Request, who *Identity, a Action) {
	if c.Record == nil {
		return
	}
	a.Time, a.From, a.Request = c.Now(), addressOf(r), w.Header().Get("X-Amzn-Requestid")
	if who != nil {
		a.By, a.KeyID, a.Role = who.Name, who.KeyID, who.Role
		a.Account = cmp.Or(a.Account, who.Account)
	}
	c.Record(r.Context(), a)
}

// addressOf is where a request comes from, without the port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// sameOrigin refuses what a page of another server sends. Every browser of today says one of the two.
func sameOrigin(r *http.Request) *failure {
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "" && site != "same-origin" {
		return errForeign
	}
	// Forms of our own pages have null for it, as the pages ask that no address be told.
	if origin := r.Header.Get("Origin"); origin != "" && (origin != "null" || site == "") {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return errForeign
		}
	}
	return nil
}
