package main

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// The size of the window, in pixels.
const (
	browserWidth  = 1200
	browserHeight = 800
)

// browser is a Chromium without a screen that testdata/browser/browser.js drives: each method is a command there.
type browser struct {
	t       *testing.T
	home    string // where the server is
	in      *json.Encoder
	out     *json.Decoder
	version string
	// refused are the paths that the server is to refuse: the browser complains about those.
	refused map[string]bool
	// outside returns the requests to other machines. A proxy gets and refuses them.
	outside func() []string
}

// browserParts has the paths of a browser and its driver.
type browserParts struct{ folder, chromium, node string }

// requireBrowser skips the test without a browser or a driver for it.
func requireBrowser(t *testing.T) browserParts {
	t.Helper()
	return browserParts{require.Playwright(t), require.Tool(t, "chromium"), require.Tool(t, "node")}
}

// start starts a browser for the server whose URL home is. It ends with the test.
func (p browserParts) start(t *testing.T, home string) *browser {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.Host)
		mu.Unlock()
		http.Error(w, "nothing leaves this machine", http.StatusForbidden)
	}))
	t.Cleanup(proxy.Close)

	cmd := exec.Command(p.node, filepath.Join("testdata", "browser", "browser.js"), p.folder, p.chromium, proxy.URL)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // where browsers keep things
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it then ends, and the browser before it
		if err := cmd.Wait(); err != nil {
			t.Errorf("browser.js: %v\n%s", err, complaints.String())
		}
	})
	b := &browser{t: t, home: home, refused: map[string]bool{}, in: json.NewEncoder(stdin), out: json.NewDecoder(bufio.NewReader(stdout)), outside: func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), asked...)
	}}
	b.do("begin", command{"width": browserWidth, "height": browserHeight}, &b.version)
	return b
}

// command has the members of a command other than its name.
type command map[string]any

// do gives a command and reads its answer into value, unless that is nil. A command that fails ends the test.
func (b *browser) do(name string, c command, value any) {
	b.t.Helper()
	if c == nil {
		c = command{}
	}
	c["do"] = name
	if err := b.in.Encode(c); err != nil {
		b.t.Fatal(err)
	}
	var answer struct {
		Value json.RawMessage
		Error string
	}
	if err := b.out.Decode(&answer); err != nil {
		b.t.Fatalf("%s: %v", name, err)
	}
	if answer.Error != "" {
		b.t.Fatalf("%s %v: %s", name, c, answer.Error)
	}
	if value != nil && len(answer.Value) > 0 {
		if err := json.Unmarshal(answer.Value, value); err != nil {
			b.t.Fatalf("%s: %v in %s", name, err, answer.Value)
		}
	}
}

// open goes to a path of the server, and returns the status of the answer.
func (b *browser) open(path string) int {
	b.t.Helper()
	var response struct{ Status int }
	b.do("open", command{"url": b.home + path}, &response)
	if response.Status >= http.StatusBadRequest {
		b.refused[path] = true
	}
	return response.Status
}

// path is where the browser is.
func (b *browser) path() string {
	b.t.Helper()
	var url string
	b.do("url", nil, &url)
	return strings.TrimPrefix(url, b.home)
}

// text returns the visible text of the page.
func (b *browser) text() string {
	b.t.Helper()
	var text string
	b.do("text", nil, &text)
	return text
}

// says waits until the page has a text.
func (b *browser) says(want string) {
	b.t.Helper()
	b.do("says", command{"want": want}, nil)
}

// part waits until the selected element has a text.
func (b *browser) part(within, want string) {
	b.t.Helper()
	b.do("says", command{"want": want, "within": within}, nil)
}

// html is the page as the browser has it.
func (b *browser) html() string {
	b.t.Helper()
	var html string
	b.do("html", nil, &html)
	return html
}

// attribute is that of the first element that the selector finds.
func (b *browser) attribute(within, name string) string {
	b.t.Helper()
	var value string
	b.do("attribute", command{"within": within, "name": name}, &value)
	return value
}

// follow goes to a link or a button with the Tab key, and presses Enter: role is link or button.
func (b *browser) follow(role, name string) {
	b.t.Helper()
	b.do("follow", command{"role": role, "name": name}, nil)
}

// unfold opens the details of a summary by keyboard.
func (b *browser) unfold(name string) {
	b.t.Helper()
	b.do("unfold", command{"name": name}, nil)
}

// reach goes to an element with the Tab key.
func (b *browser) reach(role, name string) {
	b.t.Helper()
	b.do("reach", command{"role": role, "name": name}, nil)
}

// fill goes to a field with the Tab key, and types.
func (b *browser) fill(label, text string) {
	b.t.Helper()
	b.reach("textbox", label)
	b.do("type", command{"want": text}, nil)
}

func (b *browser) press(key string) {
	b.t.Helper()
	b.do("press", command{"key": key}, nil)
}

// shot takes a picture of the window, in light or dark.
func (b *browser) shot(file, scheme string) {
	b.t.Helper()
	b.do("scheme", command{"want": scheme}, nil)
	b.do("shot", command{"file": file}, nil)
	b.do("scheme", command{"want": "light"}, nil)
}

// stop is an element that the Tab key reaches.
type stop struct {
	Name, Tag string
	Visible   bool // whether one sees that it has the focus
}

// accessible walks through the page with the Tab key, and has axe-core look at it in light and dark.
func (b *browser) accessible() {
	b.t.Helper()
	var tour struct {
		Found  []stop
		Missed []string
	}
	b.do("stops", command{"limit": 1000}, &tour)
	if len(tour.Found) < 3 {
		b.t.Errorf("%s: the Tab key comes to %+v", b.path(), tour.Found)
	}
	if len(tour.Found) > 0 && !strings.HasPrefix(strings.ToLower(tour.Found[0].Name), "skip") {
		b.t.Errorf("%s: the Tab key comes to %+v first, and not to a link that skips the navigation", b.path(), tour.Found[0])
	}
	for _, s := range tour.Found {
		if !s.Visible {
			b.t.Errorf("%s: one does not see the focus on %s %q", b.path(), s.Tag, s.Name)
		}
	}
	for _, m := range tour.Missed {
		b.t.Errorf("%s: the Tab key does not come to %s", b.path(), m)
	}
	b.check("light", 10, nil)
	b.do("scheme", command{"want": "dark"}, nil)
	b.check("dark", 1, []string{"color-contrast"}) // only this rule depends on the scheme
	b.do("scheme", command{"want": "light"}, nil)
}

// check has axe-core make all its checks, or those named. At least so many have to pass: of those that were made.
func (b *browser) check(scheme string, passes int, only []string) {
	b.t.Helper()
	var found struct {
		Checked    int
		Violations []string
	}
	b.do("axe", command{"only": only}, &found)
	if found.Checked < passes {
		b.t.Errorf("%s in %s: %d checks of axe-core passed", b.path(), scheme, found.Checked)
	}
	for _, v := range found.Violations {
		b.t.Errorf("%s in %s: %s", b.path(), scheme, v)
	}
}

// seen is a request or a complaint of the browser.
type seen struct{ Kind, Text, At string }

// clean checks that since the last time nothing was asked of another than the server, and nothing went wrong on a page.
func (b *browser) clean() {
	b.t.Helper()
	var all []seen
	b.do("seen", nil, &all)
	for _, s := range all {
		switch {
		case s.Kind == "request" && strings.HasPrefix(s.Text, b.home+"/"):
		case s.Kind == "failed" && strings.HasSuffix(s.Text, ": net::ERR_ABORTED"): // the page was left before
		case s.Kind == "console" && b.refused[strings.TrimPrefix(s.At, b.home)]:
		default:
			b.t.Errorf("%s: %s %s", s.Kind, s.Text, s.At)
		}
	}
}

// webAnswer is the response to a request made outside of a page.
type webAnswer struct {
	Status int
	Text   string
}

// post sends a form with the session's cookie as a page of the origin would.
func (b *browser) post(path, origin string, fields map[string]string) webAnswer {
	b.t.Helper()
	var a webAnswer
	b.do("post", command{"url": b.home + path, "fields": fields, "headers": map[string]string{"Origin": origin}}, &a)
	return a
}

// pageCost is the time and memory that the browser needed for a page.
type pageCost struct {
	Answer, Load float64 // milliseconds
	Bytes, Nodes int
}

func (b *browser) cost() pageCost {
	b.t.Helper()
	var c pageCost
	b.do("cost", nil, &c)
	return c
}

// hall is where providers wait until the test lets them continue; see attend.
type hall struct {
	t        *testing.T
	listener net.Listener

	mu     sync.Mutex
	guests map[string]net.Conn // by logical ID
}

func newHall(t *testing.T) *hall {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hall{t: t, listener: listener, guests: map[string]net.Conn{}}
	var waiting sync.WaitGroup
	waiting.Go(func() { // ends with the listener
		for {
			guest, err := listener.Accept()
			if err != nil {
				return
			}
			name, err := bufio.NewReader(guest).ReadString('\n')
			h.mu.Lock()
			if err == nil {
				h.guests[strings.TrimSpace(name)] = guest
			}
			h.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		waiting.Wait()
		for _, guest := range h.guests {
			_ = guest.Close()
		}
	})
	return h
}

// here reports whether the provider of a resource waits.
func (h *hall) here(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.guests[name] != nil
}

// part lets the provider of a resource continue.
func (h *hall) part(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	guest := h.guests[name]
	if guest == nil {
		h.t.Fatalf("nobody waits for %s", name)
	}
	delete(h.guests, name)
	_ = guest.Close()
}
