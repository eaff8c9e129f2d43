package console_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
)

// noted returns the response to a request without following redirects.
func (b *browser) noted(path string) (int, http.Header) {
	b.t.Helper()
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { b.client.CheckRedirect = nil }()
	code, header, _ := b.send(http.MethodGet, path, "", nil)
	return code, header
}

// TestLinks checks that a link begins one session, within its time limit, and that other links begin none.
func TestLinks(t *testing.T) {
	w := newWorld(t, nil)
	stranger := w.browser()
	if code, header := stranger.noted("/console/audit"); code != 303 || header.Get("Location") != "/console/sign-in" {
		t.Errorf("without a session: %d, to %s", code, header.Get("Location"))
	}
	path, err := w.console.Link(w.ctx, console.Identity{Name: "somebody", Role: console.Viewer})
	w.must(err)
	code, header := stranger.noted(path)
	cookie := header.Get("Set-Cookie")
	if code != 303 {
		t.Fatalf("the link: %d", code)
	}
	wants(t, "the cookie", cookie, "pintle_console_", "Path=/console/", "HttpOnly", "SameSite=Strict", "Max-Age=28800")
	lacks(t, "the cookie of a server without TLS", cookie, "Secure")
	wants(t, "the page", stranger.page("/console/"), "somebody (viewer)")
	if code, body := w.browser().get(path); code != 403 || !strings.Contains(body, "used before") {
		t.Errorf("the link a second time: %d", code)
	}
	path, err = w.console.Link(w.ctx, console.Identity{Name: "somebody", Role: console.Viewer})
	w.must(err)
	for _, looks := range []struct {
		method string
		header http.Header
	}{{http.MethodHead, nil}, {http.MethodGet, http.Header{"Sec-Purpose": {"prefetch"}}}} {
		code, header, _ := w.browser().send(looks.method, path, "", looks.header)
		if code != 200 || header.Get("Set-Cookie") != "" {
			t.Errorf("%s of a link that nobody looks at: %d", looks.method, code)
		}
	}
	wants(t, "a link that was looked at before", w.browser().page(path), "somebody (viewer)")
	path, err = w.console.Link(w.ctx, console.Identity{Name: "somebody", Role: console.Viewer})
	w.must(err)
	w.pass(2 * time.Minute)
	if code, _ := w.browser().get(path); code != 403 {
		t.Errorf("an old link: %d", code)
	}
	w.pass(8 * time.Hour)
	if code, _ := stranger.noted("/console/"); code != 303 {
		t.Errorf("an old session: %d", code)
	}
	one, other := console.Identity{Name: "one", KeyID: "ONE"}, console.Identity{Name: "other", KeyID: "OTHER"}
	for n := range 64 {
		if _, err := w.console.Link(w.ctx, one); err != nil {
			t.Fatalf("link %d: %v", n, err)
		}
	}
	if _, err := w.console.Link(w.ctx, one); !errors.Is(err, console.ErrManyLinks) {
		t.Errorf("link 65 of a key: %v", err)
	}
	if _, err := w.console.Link(w.ctx, other); err != nil {
		t.Errorf("another key pays for it: %v", err)
	}
	var last string
	for n := range 130 {
		if last, err = w.console.Link(w.ctx, console.Identity{Name: "the user of this machine", Role: console.Operator}); err != nil {
			t.Fatalf("link %d of the server's own user: %v", n, err)
		}
	}
	wants(t, "the newest of many links", w.browser().page(last), "the user of this machine")
}

// TestLinksOfNodes checks that a link works on any node of the store, but only once.
func TestLinksOfNodes(t *testing.T) {
	var config console.Config
	w := newWorld(t, func(c *console.Config, _ *server.Config) { config = *c })
	another, err := console.New(config)
	w.must(err)
	for range 2 {
		path, err := another.Link(w.ctx, console.Identity{Name: "somebody", Role: console.Operator})
		w.must(err)
		wants(t, "the page", w.browser().page(path), "somebody (operator)")
		r := httptest.NewRecorder()
		another.ServeHTTP(r, httptest.NewRequestWithContext(w.ctx, http.MethodGet, path, nil))
		if r.Code != 403 || r.Header().Get("Set-Cookie") != "" {
			t.Errorf("the link a second time, at the other node: %d", r.Code)
		}
	}
	left, err := w.store.Entries(w.ctx, store.EntryKey{Account: "-", Region: "-", Kind: "console-link"}, 10)
	w.must(err)
	if len(left) > 0 {
		t.Errorf("the store keeps %d links that were used", len(left))
	}
	_, err = another.Link(w.ctx, console.Identity{})
	w.must(err)
	w.pass(2 * time.Minute)
	_, err = w.console.Link(w.ctx, console.Identity{})
	w.must(err)
	if left, err = w.store.Entries(w.ctx, store.EntryKey{Account: "-", Region: "-", Kind: "console-link"}, 10); err != nil || len(left) != 1 {
		t.Errorf("the store keeps %d links, %v; one is not too old", len(left), err)
	}
}

// TestInvalidLinksDoNotLockOutUsers checks that attempts with invalid links do not lock out other users.
func TestInvalidLinksDoNotLockOutUsers(t *testing.T) {
	w := newWorld(t, nil)
	path, err := w.console.Link(w.ctx, console.Identity{Name: "somebody", Role: console.Viewer})
	w.must(err)
	for n := range 7 {
		want := 403
		if n >= 5 {
			want = 429
		}
		if code, _ := w.browser().get(path + "x"); code != want {
			t.Errorf("wrong link %d: %d, want %d", n+1, code, want)
		}
	}
	wants(t, "the page", w.browser().page(path), "somebody (viewer)")
}

// TestCrossSiteNavigation checks that a browser that comes from another site stays signed in. It sends no cookie then,
// not even after a redirect, so a page makes it repeat the request.
func TestCrossSiteNavigation(t *testing.T) {
	w := newWorld(t, nil)
	elsewhere := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Dest": {"document"}, "Sec-Fetch-Mode": {"navigate"}}
	code, header, page := w.browser().send(http.MethodGet, "/console/audit?before=1.2.3", "", elsewhere)
	if code != 200 || header.Get("Set-Cookie") != "" {
		t.Errorf("a page from elsewhere: %d", code)
	}
	wants(t, "the page", page, `<meta http-equiv="refresh" content="0; url=/console/audit?before=1.2.3&amp;on=1">`,
		`<a href="/console/audit?before=1.2.3&amp;on=1">Continue</a>`)
	wants(t, "the page that is asked for then", w.as(console.Viewer).page("/console/audit?before=1.2.3&on=1"),
		`<body data-page="/console/audit?before=1.2.3"`)
	stranger := w.browser()
	if _, _, page := stranger.send(http.MethodGet, "/console/audit?on=1", "", elsewhere); !strings.Contains(page, "Sign in") {
		t.Errorf("a browser that says the same again is led on for ever:\n%s", page)
	}
	if code, header := w.browser().noted("/console/audit"); code != 303 || header.Get("Location") != "/console/sign-in" {
		t.Errorf("a page from here: %d, to %s", code, header.Get("Location"))
	}
}

// TestCookies checks that cookies are invalid if this server did not sign them, or after sign-out.
func TestCookies(t *testing.T) {
	w := newWorld(t, nil)
	b := w.as(console.Viewer)
	at, err := url.Parse(w.url + "/console/")
	w.must(err)
	cookie := *b.client.Jar.Cookies(at)[0]
	body, seal, _ := strings.Cut(cookie.Value, ".")
	for what, value := range map[string]string{
		"another body": "e30." + seal, "another seal": body + "." + strings.Repeat("A", len(seal)), "no seal": body, "nothing": "",
	} {
		forged := w.browser()
		forged.client.Jar.SetCookies(at, []*http.Cookie{{Name: cookie.Name, Value: value, Path: "/console/"}})
		if code, _ := forged.noted("/console/"); code != 303 {
			t.Errorf("%s: %d", what, code)
		}
	}
	copied := w.browser()
	copied.client.Jar.SetCookies(at, []*http.Cookie{{Name: cookie.Name, Value: cookie.Value, Path: "/console/"}})
	copied.page("/console/")
	if code, _ := b.act("/console/sign-out"); code != 200 {
		t.Errorf("sign-out: %d", code)
	}
	for what, b := range map[string]*browser{"the browser": b, "a copy of the cookie": copied} {
		if code, _ := b.noted("/console/"); code != 303 {
			t.Errorf("%s after sign-out: %d", what, code)
		}
	}
}

// TestKeys checks that keys of the credentials file begin sessions with their role and account. No page and no log
// shows a secret.
func TestKeys(t *testing.T) {
	w := newWorld(t, nil)
	mine := w.create("mine", resources("A", resource("")), engine.Options{})
	for id, key := range map[string]struct{ secret, role string }{
		"AKIAOPERATOR": {"operators-own-secret", "operator"}, "AKIAVIEWER": {"viewers-own-secret", "viewer"},
		"AKIAPLAIN": {"plain-keys-own-secret", "viewer"},
	} {
		b := w.with(id, key.secret)
		wants(t, id, b.page("/console/"), "access key "+id+" of account "+account+" ("+key.role+")", ">mine</a>")
		b.page(pathOf(mine))
	}
	other := w.with("AKIAOTHER", "others-own-secret")
	lacks(t, "the list of another account", other.page("/console/"), "mine")
	r := w.take("A")
	for _, path := range []string{
		pathOf(mine), pathOf(mine, "events"), pathOf(mine, "graph"), pathOf(mine, "operations", "1"),
		pathOf(mine, "operations", "1", "live"), pathOf(mine, "changesets"), "/console/requests/" + string(r.ID), "/console/nothing",
	} {
		if code, body := other.get(path); code != 404 || strings.Contains(body, "mine") {
			t.Errorf("%s for another account: %d", path, code)
		}
	}
	if code, _ := other.act(pathOf(mine, "actions", "delete"), "confirm", "mine"); code != 404 {
		t.Errorf("a delete by another account: %d", code)
	}
	wrong := w.browser()
	for n := range 6 {
		code, body := wrong.post("/console/sign-in", url.Values{"key": {"AKIAVIEWER"}, "secret": {"guessed-secret"}})
		want := 403
		if n == 5 {
			want = 429
		}
		if code != want {
			t.Errorf("wrong try %d: %d, want %d", n+1, code, want)
		}
		lacks(t, "the page", body, "guessed-secret")
	}
	if code, _ := wrong.post("/console/sign-in", url.Values{"key": {"AKIAVIEWER"}, "secret": {"viewers-own-secret"}}); code != 429 {
		t.Errorf("the right secret after too many wrong ones: %d", code)
	}
	w.pass(time.Minute)
	w.with("AKIAVIEWER", "viewers-own-secret")
	lacks(t, "the log", w.log.String(), "own-secret", "guessed-secret")
	wants(t, "what was recorded", w.recorded(), "sign-in !sign-in")
}

// TestSecure checks the attributes for a console behind https.
func TestSecure(t *testing.T) {
	w := newWorld(t, func(c *console.Config, _ *server.Config) { c.Secure = true })
	path, err := w.console.Link(w.ctx, console.Identity{Name: "somebody", Role: console.Viewer})
	w.must(err)
	_, header := w.browser().noted(path)
	wants(t, "the cookie", header.Get("Set-Cookie"), "Secure")
	wants(t, "the header", header.Get("Strict-Transport-Security"), "max-age")
}

// TestHeaders checks that every page blocks unneeded content, and that a development server rejects foreign host names.
func TestHeaders(t *testing.T) {
	w := newWorld(t, nil)
	b := w.as(console.Viewer)
	for _, path := range []string{"/console/", "/console/sign-in", "/console/nothing", "/console/static/console.css"} {
		_, header, body := b.send(http.MethodGet, path, "", nil)
		wants(t, path, header.Get("Content-Security-Policy"), "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'")
		for name, want := range map[string]string{
			"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		lacks(t, path, body, "style=", "onclick", "<style")
	}
	if code, _, _ := b.send(http.MethodGet, "/console/sign-in", "", http.Header{"Host": {"evil.example"}}); code != 403 {
		t.Errorf("a foreign name: %d", code)
	}
	if code, _ := b.noted("/console"); code != 303 {
		t.Errorf("without its slash: %d", code)
	}
	if code, _, _ := b.send(http.MethodDelete, "/console/audit", "", nil); code != 405 {
		t.Errorf("DELETE: %d", code)
	}
}
