package console

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Bounds of signing in.
const (
	linkTime = 2 * time.Minute
	maxLinks = 64
	// An address, and a key, may be wrong maxTries times in tryTime; all together maxAllTries times.
	maxTries    = 5
	maxAllTries = 100
	tryTime     = time.Minute
)

// links are the sign-in links that were not used yet, by the hash of their token.
type links struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]link
}

type link struct {
	who     Identity
	expires time.Time
}

// ErrManyLinks is the error of [Console.Link] while too many links wait to be used.
var ErrManyLinks = errors.New("too many sign-in links wait to be used: wait two minutes")

// Link returns the path of a page that begins a session, once and within two minutes.
func (c *Console) Link(who Identity) (string, error) {
	token := rand.Text() + rand.Text()
	c.links.mu.Lock()
	defer c.links.mu.Unlock()
	now := c.Now()
	for hash, l := range c.links.open {
		if !now.Before(l.expires) {
			delete(c.links.open, hash)
		}
	}
	if len(c.links.open) >= maxLinks {
		return "", ErrManyLinks
	}
	if c.links.open == nil {
		c.links.open = map[[sha256.Size]byte]link{}
	}
	c.links.open[sha256.Sum256([]byte(token))] = link{who, now.Add(linkTime)}
	return Prefix + "sign-in?token=" + token, nil
}

// LinkFor returns what [Console.Link] returns for an access key, false if there is no such key.
func (c *Console) LinkFor(id string) (path string, ok bool, err error) {
	who, ok := c.identityOf(id)
	if !ok {
		return "", false, nil
	}
	path, err = c.Link(who)
	return path, true, err
}

// use takes the link of a token; false if there is none, or it is too old.
func (l *links) use(token string, now time.Time) (Identity, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := sha256.Sum256([]byte(token))
	found, ok := l.open[hash]
	delete(l.open, hash)
	return found.who, ok && now.Before(found.expires)
}

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
	if token == "" || r.Method == http.MethodHead || r.Header.Get("Sec-Purpose") != "" { // nobody looks at it yet
		c.showSignIn(w, r, http.StatusOK, signInView{})
		return
	}
	address := "from " + addressOf(r)
	if !c.tries.allowed(c.Now(), address) {
		c.tooManyTries(w, r)
		return
	}
	who, ok := c.links.use(token, c.Now())
	if !ok {
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
		c.Log.ErrorContext(r.Context(), "internal failure", "service", "console", "error", err)
		http.Error(w, "internal failure", http.StatusInternalServerError)
		return
	}
	c.record(w, r, &who, Action{Name: "sign-in", Status: http.StatusSeeOther})
	http.Redirect(w, r, Prefix, http.StatusSeeOther)
}

// signIn begins the session of an access key. Neither the secret nor what was wrong with it is told to anybody.
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
	if who, ok := c.identityOf(id); ok { // what is no key is not remembered
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
	c.render(w, r, status, "signin.html", &page{Title: "Sign in", Content: view})
}

// signOut ends a session.
func (c *Console) signOut(v *visit) error {
	c.ended.add(v.session, c.Now())
	http.SetCookie(v.w, c.cookie(v.r, "", -1))
	c.record(v.w, v.r, &v.session.Identity, Action{Name: "sign-out", Status: http.StatusSeeOther})
	http.Redirect(v.w, v.r, Prefix+"sign-in", http.StatusSeeOther)
	return nil
}

// record tells of what somebody asked for; who is nil for one who is not known.
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
