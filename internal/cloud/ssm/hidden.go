package ssm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// remembered is the number of requests whose secrets are kept.
const remembered = 4096

// mostSecrets is the maximum number of secrets kept per request. The newest are kept.
const mostSecrets = 4 * dynamic.Limit

// Hidden remembers the secrets that were sent in requests, so that they can be found in the responses. It keeps them
// in memory only. For a request from another node or an earlier process, it reads the secrets again, so it misses a
// secret that was changed meanwhile. It is safe for concurrent use.
type Hidden struct {
	*Reader
	requests Requests

	mu    sync.Mutex
	known map[wire.RequestID][]string
	order []wire.RequestID // by age
}

// Requests is the part of a [store.Store] that [Hidden] needs.
type Requests interface {
	Request(ctx context.Context, id wire.RequestID) (store.Request, error)
}

// NewHidden returns a Hidden for the secrets that a reader resolves.
func NewHidden(reader *Reader, requests Requests) *Hidden {
	return &Hidden{Reader: reader, requests: requests, known: make(map[wire.RequestID][]string)}
}

// Remember records the secrets in a request. It keeps those from earlier attempts of the request, up to the limit.
func (h *Hidden) Remember(id wire.RequestID, secrets []string) {
	if !h.config.ResolveSecrets {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	before, again := h.known[id]
	if !again {
		if len(h.order) == remembered {
			delete(h.known, h.order[0])
			h.order = h.order[1:]
		}
		h.order = append(h.order, id)
	}
	known := slices.Clip(before) // do not change the slice that Recall returned
	for _, secret := range secrets {
		if !slices.Contains(known, secret) { // a request may be sent repeatedly
			known = append(known, secret)
		}
	}
	h.known[id] = known[max(len(known)-mostSecrets, 0):]
}

// Recall returns the secrets in a request. An error means that they cannot be read now, so it is unknown which
// secrets a response contains.
func (h *Hidden) Recall(ctx context.Context, id wire.RequestID) ([]string, error) {
	if !h.config.ResolveSecrets {
		return nil, nil
	}
	h.mu.Lock()
	secrets, ok := h.known[id]
	h.mu.Unlock()
	if ok {
		return secrets, nil
	}
	request, err := h.requests.Request(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && (request.Body == nil || request.Body.Native()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	secrets, err = h.secretsOf(ctx, request)
	if err != nil {
		return nil, err
	}
	h.Remember(id, secrets)
	return secrets, nil
}

func (h *Hidden) secretsOf(ctx context.Context, r store.Request) (secrets []string, err error) {
	var list []dynamic.Reference
	for _, v := range []value.Value{r.Body.Properties, r.Body.OldProperties, r.Body.Token} {
		found, err := dynamic.In(v)
		if err != nil {
			continue // an invalid reference is never resolved
		}
		for _, reference := range found {
			if reference.Service.Secret() {
				list = append(list, reference)
			}
		}
	}
	if list == nil {
		return nil, nil
	}
	account := ""
	if arn, err := wire.ParseStackARN(r.Body.StackID); err == nil {
		account = arn.Account
	}
	found, missing, err := h.Resolve(ctx, account, r.Body.Region, list)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("of %d secrets %d are not there any more", len(list), len(missing))
	}
	for _, v := range found {
		secrets = append(secrets, v.Secrets()...)
	}
	for _, v := range []value.Value{r.Body.Properties, r.Body.OldProperties} {
		secrets = append(secrets, dynamic.Replace(v, found).Secrets()...)
	}
	return secrets, nil
}
