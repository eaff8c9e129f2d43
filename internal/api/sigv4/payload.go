package sigv4

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/intake"
)

// literalPayloads are the texts that S3 accepts instead of a hash. The signature then covers only the headers.
// Signatures of single chunks are not verified, because they add nothing on loopback or over TLS.
var literalPayloads = [...]string{
	"UNSIGNED-PAYLOAD",
	"STREAMING-UNSIGNED-PAYLOAD-TRAILER",
	"STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
	"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
}

// payload is the body's line of the canonical request.
type payload struct {
	hash   string       // hexadecimal, or a literal
	body   *intake.Body // the body that was read for its hash; nil if the client declared the hash
	verify bool         // the handler reads the body, which must have this hash
	unread string       // the service whose body is read after the signature was verified; "" for none
}

// payload returns the hash that the client must have signed. If the client does not declare it, payload reads the body.
// s3 requires a declared hash.
func (v *Verifier) payload(auth authorization, r *http.Request) (payload, error) {
	declared := r.Header.Get("X-Amz-Content-Sha256")
	switch {
	case auth.service == s3 && declared == "":
		return payload{}, refuse("InvalidRequest", http.StatusBadRequest,
			"Missing required header for this request: x-amz-content-sha256")
	case auth.service == s3:
		return payloadOf(declared)
	case declared != "":
		return payload{hash: declared, unread: auth.service}, nil
	}
	body, err := v.readBody(r, auth.service, v.config.Intake.Read)
	if err != nil {
		return payload{}, err
	}
	return payload{hash: hashOf(body), body: body}, nil
}

func hashOf(body *intake.Body) string {
	sum := body.Sum()
	return hex.EncodeToString(sum[:])
}

// payloadOf returns the payload of a request to s3.
func payloadOf(declared string) (payload, error) {
	if slices.Contains(literalPayloads[:], declared) {
		return payload{hash: declared}, nil
	}
	if sum, err := hex.DecodeString(declared); err != nil || len(sum) != sha256.Size {
		return payload{}, refuse("InvalidRequest", http.StatusBadRequest,
			"The x-amz-content-sha256 header must be UNSIGNED-PAYLOAD, a STREAMING- value or the SHA-256 of the body.")
	}
	return payload{hash: declared, verify: true}, nil
}

// readBody reads the complete body of a call with a method of [intake.Bodies], and replaces it.
func (v *Verifier) readBody(r *http.Request, service string, read func(*http.Request, int64) (*intake.Body, error)) (*intake.Body, error) {
	limit, ok := v.config.Bodies[service]
	if !ok {
		limit = v.config.MaxBody
	}
	body, err := read(r, limit)
	switch {
	case errors.Is(err, intake.ErrTooLong):
		return nil, refuse("RequestEntityTooLarge", http.StatusRequestEntityTooLarge,
			fmt.Sprintf("The request body is longer than %d bytes.", limit))
	case errors.Is(err, intake.ErrBusy):
		return nil, refuse("ServiceUnavailable", http.StatusServiceUnavailable,
			"The server is busy with other large requests. Please try again.")
	case err != nil:
		return nil, refuse("IncompleteBody", http.StatusBadRequest, "The request body ended before its end.")
	}
	return body, nil
}

// accept accepts the body of a request with a valid signature. If the handler reads the body, the last read fails if
// the hash does not match.
func (v *Verifier) accept(p payload, r *http.Request) (err error) {
	if p.unread != "" {
		if p.body, err = v.readBody(r, p.unread, v.config.Intake.ReadKnown); err != nil {
			return err
		}
		if hashOf(p.body) != p.hash {
			return mismatch("The x-amz-content-sha256 header is not the SHA-256 of the body.")
		}
	}
	if p.body != nil {
		p.body.Release()
	}
	p.guard(r)
	return nil
}

// guard checks the hash of a body that the handler reads.
func (p payload) guard(r *http.Request) {
	if !p.verify {
		return
	}
	body := r.Body
	if body == nil {
		body = http.NoBody
	}
	r.Body = &guarded{ReadCloser: body, sum: sha256.New(), want: strings.ToLower(p.hash)}
}

// guarded hashes the bytes that are read.
type guarded struct {
	io.ReadCloser
	sum  hash.Hash
	want string
}

func (g *guarded) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	g.sum.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(g.sum.Sum(nil)) != g.want {
		return n, refuse("XAmzContentSHA256Mismatch", http.StatusBadRequest,
			"The provided 'x-amz-content-sha256' header does not match what was computed.")
	}
	return n, err
}
