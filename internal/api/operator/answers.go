package operator

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Request is an unsettled request.
type Request struct {
	ID       wire.RequestID `json:"id"`
	Logical  wire.LogicalID `json:"logicalId"`
	Type     string         `json:"type"`  // Create, Update or Delete
	State    string         `json:"state"` // delayed, ready or waiting
	Resource string         `json:"resourceType"`
	// Provider is the provider of the request, such as "function Certificates". It is empty for a native type, or if it
	// is secret.
	Provider   string          `json:"provider,omitempty"`
	PhysicalID wire.PhysicalID `json:"physicalId,omitempty"`
	// Cancelled means that the stack has moved on. The answer only reports which physical resource exists.
	Cancelled bool `json:"cancelled,omitempty"`
	// Since is when the request was created or, if it was, delivered.
	Since time.Time `json:"since"`
	// Due is when a pending request fails without an answer, or when a delayed one is sent. It is absent for a ready
	// one. A request fails at the earliest of several deadlines: see [engine.Deadlines].
	Due *time.Time `json:"due,omitempty"`
	// RemainingSeconds is the time until Due, 0 if it has passed.
	RemainingSeconds *int64 `json:"remainingSeconds,omitempty"`
	// Silent is set if the provider's handler is known to have returned without an answer.
	Silent *Silent `json:"silent,omitempty"`
	// Progress describes the cause of a delay, or the last progress that a polled provider reported.
	Progress string `json:"progress,omitempty"`
	// Tries is how often the provider was polled and was not done or did not respond.
	Tries int `json:"tries,omitempty"`
}

// Silent is a handler's return without an answer.
type Silent struct {
	// Since is when the return became known.
	Since time.Time `json:"since"`
	// Awaits describes the possible source of the answer in words. If it is absent, no source is known, and the request
	// fails soon.
	Awaits string `json:"awaits,omitempty"`
}

// Requests is the answer of stacks/{name}/requests, oldest first.
type Requests struct {
	Requests []Request `json:"requests"`
}

// Audit is one entry of stacks/{name}/audit.
type Audit struct {
	Time    time.Time      `json:"time"`
	Request wire.RequestID `json:"request,omitempty"`
	Logical wire.LogicalID `json:"logicalId,omitempty"`
	Text    string         `json:"text"`
}

// Audits is the answer of stacks/{name}/audit, newest first.
type Audits struct {
	Audit []Audit `json:"audit"`
}

// Provider is a provider that is registered by name.
type Provider struct {
	Name string `json:"name"`
	// Target is the program or URL, without secrets: no environment, and no user or query of a URL.
	Target string `json:"target,omitempty"`
	// State describes the state in words, e.g. "2 running".
	State string `json:"state,omitempty"`
}

// Providers is the answer of providers.
type Providers struct {
	Providers []Provider `json:"providers"`
}

// Version is the answer of version.
type Version struct {
	Version string `json:"version"`
	// Forward are the rules by which other endpoints provide resource types, in the form TYPE[,TYPE…]=ENDPOINT.
	Forward []string `json:"forward,omitempty"`
}

func (f *handler) requests(r *http.Request) (any, error) {
	stack, err := f.stack(r)
	if err != nil {
		return nil, err
	}
	rows, err := f.Rows.Requests(r.Context(), stack.Key)
	if err != nil {
		return nil, err
	}
	now := f.Now()
	out := Requests{Requests: make([]Request, 0, len(rows))}
	waits, deadlines := map[wire.RequestID]*store.Request{}, engine.Deadlines(rows)
	for i, row := range rows {
		if row.Wait != nil {
			waits[row.Wait.For] = &rows[i]
		}
	}
	for _, row := range rows {
		if !row.Asks() {
			continue
		}
		view := f.request(row, deadlines[row.ID], now)
		if try := waits[row.ID]; try != nil {
			view.Tries = try.Wait.Try - 1
			view.Silent = silentOf(try)
			view.Progress = cmp.Or(view.Progress, engine.Standing(try), try.Wait.Reason, "its provider is not done, and is asked again")
		}
		out.Requests = append(out.Requests, view)
	}
	return out, nil
}

// silentOf returns the silent return of a request's handler, or nil.
func silentOf(row *store.Request) *Silent {
	if row.State != store.RequestWaiting || row.Silence == nil {
		return nil
	}
	return &Silent{Since: row.Silence.Since, Awaits: row.Silence.Awaits}
}

// providerOf returns the name of a request's provider, without secrets.
func providerOf(b *store.RequestBody) string {
	if b.Native() || len(b.Token.Secrets()) > 0 {
		return ""
	}
	token, err := wire.ParseToken(b.ServiceToken())
	if err != nil {
		return ""
	}
	switch token.Service {
	case wire.Lambda, wire.FC:
		return "function " + token.Name
	case wire.SNS, wire.Topic:
		return "topic " + token.Name
	case wire.Queue:
		return "queue " + token.Name
	case wire.HTTP, wire.Web:
		if u, err := url.Parse(strings.TrimPrefix(string(b.ServiceToken()), "web:")); err == nil {
			return u.Hostname()
		}
	case wire.Other:
	}
	return ""
}

// request converts a request. A zero deadline means none.
func (f *handler) request(row store.Request, deadline, now time.Time) Request {
	view := Request{
		ID: row.ID, Logical: row.Logical, Type: string(row.Type), State: string(row.State), Cancelled: row.Cancelled,
		Since: row.Created, Silent: silentOf(&row), Progress: engine.Standing(&row),
	}
	if row.Body != nil {
		view.Resource, view.PhysicalID, view.Provider = row.Body.ResourceType, row.Body.PhysicalID, providerOf(row.Body)
	}
	if !row.Delivered.IsZero() {
		view.Since = row.Delivered
	}
	if row.Body != nil && row.Body.Aim != "" {
		view.Progress = "waits for the nested stack, as long as that takes"
	} else if due := cmp.Or(deadline, row.Due); !due.IsZero() {
		remaining := int64(max(due.Sub(now), 0).Round(time.Second) / time.Second)
		view.Due, view.RemainingSeconds = &due, &remaining
	}
	if f.Hooks.Progress != nil {
		view.Progress = cmp.Or(f.Hooks.Progress(row.ID), view.Progress)
	}
	return view
}

func (f *handler) audit(r *http.Request) (any, error) {
	stack, err := f.stack(r)
	if err != nil {
		return nil, err
	}
	rows, err := f.Rows.Audit(r.Context(), stack.Key, maxAudit)
	if err != nil {
		return nil, err
	}
	out := Audits{Audit: make([]Audit, len(rows))}
	for i, row := range rows {
		out.Audit[i] = Audit(row)
	}
	return out, nil
}

func (f *handler) providers(r *http.Request) (any, error) {
	out := Providers{Providers: []Provider{}}
	if f.Hooks.Providers != nil {
		list, err := f.Hooks.Providers(r.Context())
		if err != nil {
			return nil, err
		}
		out.Providers = append(out.Providers, list...)
	}
	return out, nil
}

func (f *handler) putProvider(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if len(name) > maxProviderName {
		return nil, &Error{http.StatusBadRequest, "the provider's name is too long"}
	}
	definition, err := readDefinition(r.Body)
	if err != nil {
		return nil, err
	}
	if f.Hooks.PutProvider == nil {
		return nil, &Error{http.StatusForbidden, "this server takes no providers: name them in its project file"}
	}
	return struct{}{}, f.Hooks.PutProvider(r.Context(), name, definition)
}

func (f *handler) schema(r *http.Request) (any, error) {
	if f.Hooks.Schema == nil {
		return nil, &Error{http.StatusNotFound, "this server runs no providers"}
	}
	return f.Hooks.Schema(r.Context(), r.PathValue("name"))
}

func (f *handler) version(*http.Request) (any, error) { return Version{f.Version, f.Forward}, nil }
