// Package awshttp is an HTTP client for the AWS SDK for Go that can call a server on the same machine.
//
// The SDK closes the body of a request as soon as the response begins. A fast local server may respond before the
// transport has checked for the end of the body. The transport then treats the closed body as a failed write and
// drops the connection, and with it the rest of the response. If the transport knows that the body is in memory, it
// writes the body at once and does not check for more. (smithy-go v1.28, net/http of Go 1.26.)
package awshttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Client returns an HTTP client for the SDK's HTTPClient option, with its own transport. It reads request bodies into
// memory, so use it only for APIs with small requests.
func Client() *http.Client {
	return &http.Client{Transport: transport{http.DefaultTransport.(*http.Transport).Clone()}}
}

type transport struct{ *http.Transport }

// RoundTrip sends the request with its body in memory.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return t.Transport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if closeErr := r.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return t.Transport.RoundTrip(r)
}
