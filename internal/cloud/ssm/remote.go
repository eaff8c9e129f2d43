package ssm

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/store"
)

// Remote reads parameters and secrets from AWS, or from a stand-in. It uses the credentials of its client, so a stack
// whose account is allowed to use them has the same access.
type Remote struct {
	allowed func(account, call string) error
	connect func(ctx context.Context, region string) (*awscall.Client, error)

	mu      sync.Mutex
	clients map[string]*awscall.Client
}

// NewRemote returns a source that uses the clients from connect, one per region. It calls connect on first use and
// again after an error. allowed returns an error if stacks of an account may not make a call through these clients,
// such as ssm:GetParameter. Nil allows all calls.
func NewRemote(
	allowed func(account, call string) error, connect func(ctx context.Context, region string) (*awscall.Client, error),
) *Remote {
	if allowed == nil {
		allowed = func(string, string) error { return nil }
	}
	return &Remote{allowed: allowed, connect: connect, clients: make(map[string]*awscall.Client)}
}

// maxRegions is the maximum number of cached clients, because clients of the server choose region names freely.
const maxRegions = 64

func (r *Remote) client(ctx context.Context, place registry.Scope, call string) (*awscall.Client, error) {
	if err := r.allowed(place.Account, call); err != nil {
		return nil, &Final{err.Error()}
	}
	region := place.Region
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.clients[region]; known != nil {
		return known, nil
	}
	client, err := r.connect(ctx, region)
	if err == nil {
		if len(r.clients) >= maxRegions {
			clear(r.clients)
		}
		r.clients[region] = client
	}
	return client, err
}

// Parameter implements [Source].
func (r *Remote) Parameter(ctx context.Context, place registry.Scope, name string, version int64) (store.Parameter, error) {
	client, err := r.client(ctx, place, "ssm:GetParameter")
	if err != nil {
		return store.Parameter{}, err
	}
	selected := name
	if version > 0 {
		selected += ":" + strconv.FormatInt(version, 10)
	}
	out, err := client.Call(ctx, "ssm", "GetParameter", map[string]any{"Name": selected, "WithDecryption": true})
	if err != nil {
		return store.Parameter{}, absence(err, "ParameterNotFound", "ParameterVersionNotFound")
	}
	found, _ := out["Parameter"].(map[string]any)
	p := store.Parameter{ParameterKey: store.ParameterKey{Account: place.Account, Region: place.Region, Name: name}}
	p.Version, _ = found["Version"].(int64)
	kind, _ := found["Type"].(string)
	p.Type = store.ParameterType(kind)
	text, ok := found["Value"].(string)
	if p.Value = text; !ok {
		return store.Parameter{}, errors.New("the Parameter Store answered without a value")
	}
	return p, nil
}

// Secret implements [Secrets].
func (r *Remote) Secret(ctx context.Context, place registry.Scope, reference dynamic.Reference) (string, error) {
	client, err := r.client(ctx, place, "secretsmanager:GetSecretValue")
	if err != nil {
		return "", err
	}
	input := map[string]any{"SecretId": reference.Name}
	if reference.Stage != "" {
		input["VersionStage"] = reference.Stage
	}
	if reference.VersionID != "" {
		input["VersionId"] = reference.VersionID
	}
	out, err := client.Call(ctx, "secretsmanager", "GetSecretValue", input)
	if err != nil {
		return "", absence(err, "ResourceNotFoundException")
	}
	text, ok := out["SecretString"].(string)
	if !ok {
		return "", &Final{"secret " + reference.Name + " has no SecretString"}
	}
	return text, nil
}

// Final is a permanent error.
type Final struct{ Text string }

// Error implements error.
func (f *Final) Error() string { return f.Text }

// absence separates missing values and other permanent errors from temporary errors.
func absence(err error, codes ...string) error {
	var answered *awscall.Error
	if !errors.As(err, &answered) {
		return err
	}
	for _, code := range codes {
		if answered.Code == code {
			return store.ErrNotFound
		}
	}
	if answered.Status >= 400 && answered.Status < 500 && answered.Status != 429 && !strings.Contains(answered.Code, "Throttl") &&
		!strings.Contains(answered.Code, "TooManyRequests") {
		return &Final{answered.Error()}
	}
	return err
}
