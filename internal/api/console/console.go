// Package console is the web console: pages that show stacks and their operations, and actions that let an operator
// step in.
//
//	/console/                                 the stacks, newest first
//	/console/stacks/{id}                      a stack: status, parameters, outputs, resources, what is left, actions
//	/console/stacks/{id}/events               its events, newest first
//	/console/stacks/{id}/operations/{number}  an operation, with a timeline that moves
//	/console/stacks/{id}/graph                what depends on what
//	/console/stacks/{id}/template             its template, secrets masked
//	/console/stacks/{id}/changesets[/{name}]  its change sets, one with its changes
//	/console/requests/{id}                    a request, its answer and its provider's log
//	/console/orphans                          what all stacks have left behind
//	/console/audit                            what is not an event and yet should be known
//
// The pages are HTML that works without JavaScript. The only script replaces the parts that have changed when the
// server sends an event. The style sheet and the script are embedded in the program, and the Content-Security-Policy
// of every page blocks all other sources.
//
// # Who may enter
//
// A session begins with a link that works once, see [Console.Link], or with an access key and its secret. It is a
// cookie that the server has signed. Its [Role] says whether the user may act. Every action is a POST from a page of
// this server with the session's token in it. The transaction that carries out the action also adds it to the stack's
// audit list.
//
// # What is shown
//
// Secrets are masked as everywhere else, by [value.Value.Masked]. The store paginates lists, so a stack of 10,000
// resources costs as much as one of 100. The console reads the events of an operation once and caches them while a
// user views it.
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
	// pageSize is how many rows a page of a list has.
	pageSize = 100
	// maxForm is how many bytes the body of a form may have: room for an answer by hand.
	maxForm = 64 << 10
)

// Engine is what the console needs of an [engine.Engine].
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

// Rows is what the console needs of a [store.Store].
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

// Action is something that a person has asked for, for a log of such.
type Action struct {
	Time time.Time
	// By is who asked, KeyID the access key that the session began with, empty if it was a link, and Role what they may do. All are
	// empty for one who did not get in. From is the address that the request came from, without a port.
	By, KeyID string
	Role      Role
	From      string
	// Name is what was asked for: sign-in, sign-out, respond, retry, cancel, continue, rollback, delete, execute or
	// delete-change-set.
	Name string
	// Account, Region and Stack say what it is about; empty for a session.
	Account, Region string
	Stack           wire.StackID
	// Object is the resource or the change set that is meant, empty for the stack itself.
	Object string
	// Refused says why nothing was done; empty if it was. It holds no secret. Status is the HTTP status, 500 and more if it was the
	// server's fault.
	Refused string
	Status  int
	// Request is the id of the HTTP request, as the server has put it into the reply; empty if it has not.
	Request string
}

// Config is what a [Console] is made of.
type Config struct {
	// Engine and Rows are required.
	Engine Engine
	Rows   Rows
	// Key signs sessions: 16 bytes at least, which all nodes share, so that a session of one is one of all. Required.
	Key []byte
	// Keys finds the access key of an id, for those who sign in with one. Nil takes links only.
	Keys func(id string) (sigv4.Key, bool)
	// Secure says that browsers reach the server by https alone, so that cookies are sent so only.
	Secure bool
	// Progress says what holds an unsettled request up, redacted; Logs returns the last lines that the provider of a request
	// printed, oldest first, redacted. Nil functions have nothing to tell.
	Progress func(wire.RequestID) string
	Logs     func(context.Context, wire.RequestID) ([]string, error)
	// Record gets each action that a user asked for, done or refused. Nil drops them.
	Record func(context.Context, Action)
	// Version is that of the program.
	Version string
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Look is how often an operation is looked at while someone watches it; zero means a second.
	Look time.Duration
	// Streams is how many pages may be kept up to date at a time; zero means 64.
	Streams int
	// Log gets internal errors; nil discards them.
	Log *slog.Logger
}

// Console serves the pages. Make one with [New]; it is safe for concurrent use.
type Console struct {
	Config
	mux     *http.ServeMux
	pages   map[string]*template.Template
	assets  map[string]asset
	tries   tries
	ended   ended
	watches watches
	ledgers ledgers
}

//go:embed pages/*.html static/*
var files embed.FS

// asset is a file that pages name.
type asset struct {
	body []byte
	kind string
	tag  string // of its content
}

// New returns a console. It returns an error if the config lacks something.
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
	c := &Console{Config: config, pages: map[string]*template.Template{}, assets: map[string]asset{}}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	c.route()
	return c, nil
}

// read parses the pages and reads what they name.
func (c *Console) read() error {
	for name, kind := range map[string]string{
		"console.css": "text/css; charset=utf-8", "console.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml", // without one, browsers ask for /favicon.ico
	} {
		body, err := files.ReadFile("static/" + name)
		if err != nil {
			return err
		}
		hash := sha256.Sum256(body)
		c.assets[name] = asset{body, kind, hex.EncodeToString(hash[:6])}
	}
	layout, err := template.New("layout.html").Funcs(c.functions()).ParseFS(files, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return err
	}
	list, err := files.ReadDir("pages")
	if err != nil {
		return err
	}
	for _, file := range list {
		name := file.Name()
		if name == "layout.html" || name == "parts.html" {
			continue
		}
		page, err := layout.Clone()
		if err != nil {
			return err
		}
		if c.pages[name], err = page.ParseFS(files, "pages/"+name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Console) route() {
	c.mux = http.NewServeMux()
	handle := func(pattern string, h http.HandlerFunc) { c.mux.HandleFunc(pattern, h) }
	handle("GET "+Prefix+"static/{name}", c.static)
	handle("GET "+Prefix+"sign-in", c.signInPage)
	handle("POST "+Prefix+"sign-in", c.signIn)
	handle("POST "+Prefix+"sign-out", c.acting(nil, c.signOut))

	show := func(path string, page func(*visit) error) { handle("GET "+Prefix+path, c.seen(page)) }
	show("{$}", c.stacksPage)
	show("stacks", c.stacksPage)
	show("stacks/live", c.liveStacks)
	show("stacks/{id}", c.stackPage)
	show("stacks/{id}/template", c.templatePage)
	show("stacks/{id}/events", c.eventsPage)
	show("stacks/{id}/graph", c.graphPage)
	show("stacks/{id}/operations/{number}", c.operationPage)
	show("stacks/{id}/operations/{number}/live", c.live)
	show("stacks/{id}/changesets", c.changeSetsPage)
	show("stacks/{id}/changesets/{name}", c.changeSetPage)
	show("requests/{id}", c.requestPage)
	show("requests/{id}/live", c.liveRequest)
	show("orphans", c.orphansPage)
	show("audit", c.auditPage)
	show("", func(*visit) error { return errNothing }) // whatever else there is below the prefix

	act := func(path string, do func(*visit) error) { handle("POST "+Prefix+path, c.acting(operators, do)) }
	act("stacks/{id}/actions/{action}", c.stackAction)
	act("stacks/{id}/changesets/{name}/{action}", c.changeSetAction)
	act("requests/{id}/respond", c.respond)
}

// ServeHTTP serves everything under [Prefix], and refuses everything else.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	// A page loads what is here and nothing else, runs no script but ours, and is shown in no other page.
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with none, browsers do not say of our own forms where they come from
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if c.Secure {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if r.URL.Path+"/" == Prefix && r.Method == http.MethodGet {
		http.Redirect(w, r, Prefix, http.StatusSeeOther)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// static serves a file that pages name. Its address changes with its content, so that a browser may keep it.
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
	_, _ = w.Write(file.body) // a browser that went away has no use for it
}
