package pintle

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// runtimeAPI is a client of a service that sends events to this program and takes their results: Lambda's Runtime API or
// that of Function Compute.
type runtimeAPI struct {
	base   string // ends with a slash
	client *http.Client
}

func newRuntimeAPI(base string) runtimeAPI {
	// No timeout: the next event may take any time to arrive. No proxy: the API is local.
	return runtimeAPI{base, &http.Client{Transport: &http.Transport{}}}
}

// next waits for an event and returns its header and body. It cuts the body one byte above the limit for events, so that
// the caller detects a body that is too long.
func (a runtimeAPI) next(ctx context.Context, path string) (http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("runtime API: %w", err)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("runtime API: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("runtime API: next event: %s", response.Status)
	}
	event, err := io.ReadAll(io.LimitReader(response.Body, maxEvent+1))
	if err != nil {
		return nil, nil, fmt.Errorf("runtime API: next event: %w", err)
	}
	return response.Header, event, nil
}

// post sends the result of an event. errorKind is for Lambda, or empty.
func (a runtimeAPI) post(ctx context.Context, path, errorKind string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("runtime API: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if errorKind != "" {
		request.Header.Set("Lambda-Runtime-Function-Error-Type", errorKind)
	}
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("runtime API: %w", err)
	}
	defer response.Body.Close()
	// The body is read so that the connection can be reused.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("runtime API: %s: %s", path, response.Status)
	}
	return nil
}
