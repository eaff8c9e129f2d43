package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// updateAgain starts an update that sends custom resources an Update even if nothing changed.
func (o *rollout) updateAgain(ctx context.Context, id string, kept []string) error {
	request := operator.UpdateRequest{PreviewRequest: o.want.previewRequest(kept), Capabilities: o.want.capabilities()}
	err := o.operator.update(ctx, id, request)
	apiErr, ok := errors.AsType[*operator.Error](err)
	if errors.Is(err, errNoOperator) || ok && apiErr.Status == http.StatusNotFound && strings.HasPrefix(apiErr.Message, operator.NoEndpoint) {
		return o.lacksAgain()
	}
	if !ok || apiErr.Status != http.StatusBadRequest {
		return err
	}
	return o.want.refusedAgain(o.shell, apiErr.Message, false)
}

// lacksAgain is the error for a server that cannot send an Update again.
func (s *session) lacksAgain() error {
	return failed(fmt.Errorf("the server at %s does not support --update-again: it is not Pintle, or an older version", s.url))
}

// refusedAgain explains what an engine finds wrong with an update or its preview.
func (w desired) refusedAgain(sh *shell, message string, isNew bool) error {
	if why, ok := strings.CutPrefix(message, engine.NoUpdateAgain); ok {
		return failed(fmt.Errorf("stack %s: cannot send an Update again: %s", w.stack, why))
	}
	return w.refused(sh, message, isNew)
}

// againFlags returns the flags of deploy that send custom resources an Update again.
func againFlags(ids []string) (flags string) {
	for _, id := range ids {
		flags += " --update-again " + quote(id)
	}
	return flags
}

// againIDs returns the custom resources that get an Update again as the operator API takes them.
func (w desired) againIDs() (ids []wire.LogicalID) {
	for _, id := range w.again {
		ids = append(ids, wire.LogicalID(id))
	}
	return ids
}

func (c *operatorClient) update(ctx context.Context, stack string, request operator.UpdateRequest) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, "stacks/"+url.PathEscape(stack)+"/update", body, nil)
}
