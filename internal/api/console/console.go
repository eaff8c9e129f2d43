// Package console is the web console: pages that show stacks and their operations, and actions that let an operator
// step in.
//
//	/console/                                 the stacks, newest first
//	/console/stacks/{id}                      a stack: status, parameters, outputs, resources, retained resources, actions
//	/console/stacks/{id}/events               its events, newest first
//	/console/stacks/{id}/operations/{number}  an operation, with a live timeline
//	/console/stacks/{id}/graph                its dependency graph
//	/console/stacks/{id}/template             its template, secrets masked
//	/console/stacks/{id}/changesets[/{name}]  its change sets, or one with its changes
//	/console/requests/{id}                    a request, its answer and its provider's log
//	/console/orphans                          retained resources of all stacks
//	/console/audit                            audit entries of all stacks
//
// The pages are HTML that works without JavaScript. The only script replaces changed parts of a page when the server
// sends an event. The style sheet and the script are embedded in the program, and the Content-Security-Policy of every
// page blocks all other sources.
//
// # Access
//
// A session begins with a one-time link, see [Console.Link], or with an access key and its secret. It is a cookie that
// the server has signed. Its [Role] decides whether the user may execute actions. Every action is a POST from a page of
// this server with the session's token in it. The transaction that executes the action also adds it to the stack's
// audit list.
//
// # Displayed data
//
// Secrets are masked by [value.Value.Masked]. The store paginates lists, so a stack of 10,000 resources costs as much
// as one of 100. The console reads the events of an operation once and caches them while a user views it.
package console

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Prefix is the path under which the console is served.
const Prefix = "/console/"

const (
	// pageSize is the number of rows on a page of a list.
	pageSize = 100
	// maxForm is the maximum size of a form's body in bytes. A manual answer fits.
	maxForm = 64 << 10
)

// Engine is the part of [engine.Engine] that the console needs.
type Engine interface {
	Revision(context.Context, store.Stack) (store.Revision, error)
	Dependencies(context.Context, store.Stack) ([]engine.Dependency, error)
	ChangeSets(context.Context, store.Stack) ([]engine.ChangeSet, error)
	ChangeSet(context.Context, engine.ChangeSetRef) (engine.ChangeSet, error)
	Respond(context.Context, engine.Respond) (engine.Responded, error)
	AttributeReads(context.Context, store.Stack, wire.LogicalID) ([]engine.AttributeRead, error)
	CancelUpdate(context.Context, engine.CancelUpdate) error
	ContinueRollback(context.Context, engine.ContinueRollback) (engine.Started, error)
	ContinueCreate(context.Context, engine.ContinueCreate) (engine.Started, error)
	Rollback(context.Context, engine.RollbackStack) (engine.Started, error)
	Update(context.Context, engine.UpdateStack) (engine.Started, error)
	Delete(context.Context, engine.DeleteStack) (engine.Started, error)
	ExecuteChangeSet(context.Context, engine.ExecuteChangeSet) (engine.Started, error)
	DeleteChangeSet(context.Context, engine.ChangeSetRef) error
}

// Rows is the part of [store.Store] that the console needs.
type Rows interface {
	store.Browser
	Stack(context.Context, wire.StackID) (store.Stack, error)
	Stacks(ctx context.Context, account, region string, deleted bool, after store.StackKey, limit int) ([]store.Stack, error)
	Operation(ctx context.Context, stack store.StackKey, number int) (store.Operation, error)
	Events(ctx context.Context, stack store.StackKey, before store.EventCursor, limit int) ([]store.EventRow, error)
	Request(context.Context, wire.RequestID) (store.Request, error)
	Audit(ctx context.Context, stack store.StackKey, limit int) ([]store.Audit, error)
	Entry(ctx context.Context, key store.EntryKey) (store.Entry, error)
	Entries(ctx context.Context, after store.EntryKey, limit int) ([]store.Entry, error)
	PutEntry(ctx context.Context, entry store.Entry) (version int64, err error)
	DropEntry(ctx context.Context, key store.EntryKey, version int64) error
}

// Action is a user's request for a change, as recorded in a log.
type Action struct {
	Time time.Time
	// By is the user's name, and KeyID the access key of the session, empty for a link. Role is the user's role. All
	// three are empty if the user is not signed in. From is the client's address without a port.
	By, KeyID string
	Role      Role
	From      string
	// Name is the requested action: sign-in, sign-out, respond, retry, cancel, continue, rollback, delete, execute or
	// delete-change-set.
	Name string
	// Account, Region and Stack identify the stack. They are empty for sessions.
	Account, Region string
	Stack           wire.StackID
	// Object is the resource or the change set, empty for the stack itself.
	Object string
	// Refused is the reason why nothing was changed, empty if the action was executed. It contains no secret. Status is
	// the HTTP status, 500 or higher for errors of the server.
	Refused string
	Status  int
	// Request is the ID of the HTTP request from the response header. It may be empty.
	Request string
}

// Config configures a [Console].
type Config struct {
	// Engine and Rows are required.
	Engine Engine
	Rows   Rows
	// Key signs sessions. It has at least 16 bytes. All nodes share it, so that a session is valid on all of them.
	// Required.
	Key []byte
	// Keys looks up the access key of a sign-in by ID. Nil allows only links.
	Keys func(id string) (sigv4.Key, bool)
	// Secure means that browsers reach the server only by https, so that cookies get the attribute Secure.
	Secure bool
	// Progress describes the cause of a request's delay, redacted. Logs returns the last redacted log lines of a
	// request's provider, oldest first. Both may be nil.
	Progress func(wire.RequestID) string
	Logs     func(context.Context, wire.RequestID) ([]string, error)
	// Record is called for each action, executed or refused. Nil does nothing.
	Record func(context.Context, Action)
	// Version is the program's version.
	Version string
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
	// Look is the interval between checks of an operation that a user is viewing. Zero means a second.
	Look time.Duration
	// Streams is the maximum number of live pages. Zero means 64.
	Streams int
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

// Console serves the pages. Make one with [New]. It is safe for concurrent use.
type Console struct {
	*links

	mux *http.ServeMux
	// assets are the style sheet, the script and the icon, by name.
	assets map[string]asset
	secure bool
}

//go:embed pages/*.html static/*
var files embed.FS

// asset is a file that pages include.
type asset struct {
	body []byte
	kind string
	tag  string // hash of the content
}

// New returns a console. It returns an error if a required field is missing.
func New(config Config) (*Console, error) {
	if config.Engine == nil || config.Rows == nil || len(config.Key) < 16 {
		return nil, errors.New("console: the engine, the rows and a key of 16 bytes are required")
	}
	if config.Streams < 0 || config.Look < 0 {
		return nil, errors.New("console: Streams and Look must not be negative")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Look == 0 {
		config.Look = time.Second
	}
	if config.Streams == 0 {
		config.Streams = 64
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	sessions := &sessions{key: config.Key, keys: config.Keys, secure: config.Secure, now: config.Now}
	assets, err := readAssets()
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	pages, err := readPages(assets)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	c := &Console{links: &links{sessions: sessions, rows: config.Rows}, assets: assets, secure: config.Secure}
	c.route(&site{Config: config, sessions: sessions, pages: pages})
	return c, nil
}

// readAssets reads the files that pages include.
func readAssets() (map[string]asset, error) {
	assets := map[string]asset{}
	for name, kind := range map[string]string{
		"console.css": "text/css; charset=utf-8", "console.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml", // without one, browsers ask for /favicon.ico
	} {
		body, err := files.ReadFile("static/" + name)
		if err != nil {
			return nil, err
		}
		hash := sha256.Sum256(body)
		assets[name] = asset{body, kind, hex.EncodeToString(hash[:6])}
	}
	return assets, nil
}

// readPages parses the pages, which refer to the assets.
func readPages(assets map[string]asset) (map[string]*template.Template, error) {
	layout, err := template.New("layout.html").Funcs(functions(assets)).ParseFS(files, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, err
	}
	list, err := files.ReadDir("pages")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{}
	for _, file := range list {
		name := file.Name()
		if name == "layout.html" || name == "parts.html" {
			continue
		}
		page, err := layout.Clone()
		if err != nil {
			return nil, err
		}
		if pages[name], err = page.ParseFS(files, "pages/"+name); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// route connects paths to the pages and actions of a site.
func (c *Console) route(st *site) {
	ac := &access{site: st, links: c.links}
	live := &streams{pause: st.Look, most: st.Streams, log: st.Log}
	history := &tracker{engine: st.Engine, rows: st.Rows}
	lists, stacks := &listPages{st, live}, &stackPages{st, history}
	operations, requests, changeSets := &operationPages{st, history, live}, &requestPages{st, live}, &changeSetPages{st}

	c.mux = http.NewServeMux()
	handle := func(pattern string, h http.HandlerFunc) { c.mux.HandleFunc(pattern, h) }
	handle("GET "+Prefix+"static/{name}", c.static)
	handle("GET "+Prefix+"sign-in", ac.signInPage)
	handle("POST "+Prefix+"sign-in", ac.signIn)
	handle("POST "+Prefix+"sign-out", ac.acting(nil, ac.signOut))

	show := func(path string, page func(*visit) error) { handle("GET "+Prefix+path, ac.seen(page)) }
	show("{$}", lists.stacksPage)
	show("stacks", lists.stacksPage)
	show("stacks/live", lists.liveStacks)
	show("stacks/{id}", stacks.stackPage)
	show("stacks/{id}/template", stacks.templatePage)
	show("stacks/{id}/events", stacks.eventsPage)
	show("stacks/{id}/graph", stacks.graphPage)
	show("stacks/{id}/operations/{number}", operations.operationPage)
	show("stacks/{id}/operations/{number}/live", operations.live)
	show("stacks/{id}/changesets", changeSets.changeSetsPage)
	show("stacks/{id}/changesets/{name}", changeSets.changeSetPage)
	show("requests/{id}", requests.requestPage)
	show("requests/{id}/live", requests.liveRequest)
	show("orphans", lists.orphansPage)
	show("audit", lists.auditPage)
	show("", func(*visit) error { return errNothing }) // any other path below the prefix

	act := func(path string, do func(*visit) error) { handle("POST "+Prefix+path, ac.acting(operators, do)) }
	act("stacks/{id}/actions/{action}", stacks.stackAction)
	act("stacks/{id}/changesets/{name}/{action}", changeSets.changeSetAction)
	act("requests/{id}/respond", requests.respond)
}

// ServeHTTP serves all paths under [Prefix] and rejects others.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	// A page loads only this server's files, runs only its own script, and cannot be embedded in another page.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers hide the origin of the console's own forms
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if c.secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if r.URL.Path+"/" == Prefix && r.Method == http.MethodGet {
		http.Redirect(w, r, Prefix, http.StatusSeeOther)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// static serves an asset. Its URL changes with its content, so that browsers can cache it.
func (c *Console) static(w http.ResponseWriter, r *http.Request) {
	file, ok := c.assets[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", file.kind)
	if r.URL.Query().Get("v") == file.tag {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(file.body) // fails only if the browser has disconnected
}
