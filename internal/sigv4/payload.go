package sigv4

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"
	"strings"
)

// literalPayloads are the texts that S3 takes in place of a hash. The signature then covers the headers only, and the
// signatures of single chunks are left unchecked: on loopback or over TLS they add nothing.
var literalPayloads = [...]string{
	"UNSIGNED-PAYLOAD",
	"STREAMING-UNSIGNED-PAYLOAD-TRAILER",
	"STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
	"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
}

// payload is what the last line of the canonical request says about the body.
type payload struct {
	hash   string // hexadecimal, or a literal
	verify bool   // the body is still unread and must hash to it
	held   int64  // what it counts towards Config.MaxUnverified, also beside an error
}

// payload returns the hash that the client must have signed. For every service but s3 it reads the body and puts it
// back, and a declared hash must be the body's.
func (v *Verifier) payload(auth authorization, r *http.Request) (payload, error) {
	declared := r.Header.Get("X-Amz-Content-Sha256")
	if auth.service == s3 {
		if declared == "" {
			return payload{}, refuse("InvalidRequest", http.StatusBadRequest,
				"Missing required header for this request: x-amz-content-sha256")
		}
		return payloadOf(declared)
	}
	bound, ok := v.config.Bodies[auth.service]
	if !ok {
		bound = v.config.MaxBody
	}
	body, held, err := v.readBody(r, bound)
	if err != nil {
		return payload{held: held}, err
	}
	sum := sha256.Sum256(body)
	actual := hex.EncodeToString(sum[:])
	if declared != "" && declared != actual {
		return payload{held: held}, mismatch("The x-amz-content-sha256 header is not the SHA-256 of the body.")
	}
	return payload{hash: actual, held: held}, nil
}

// payloadOf returns what a request to s3 says of its body.
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

// readBody reads the whole body, bounded, and replaces it by one that gives the same bytes. held is what it counts towards
// Config.MaxUnverified, also beside an error.
func (v *Verifier) readBody(r *http.Request, bound int64) (body []byte, held int64, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, 0, nil
	}
	tooLong := refuse("RequestEntityTooLarge", http.StatusRequestEntityTooLarge,
		fmt.Sprintf("The request body is longer than %d bytes.", bound))
	if r.ContentLength > bound {
		return nil, 0, tooLong
	}
	counted := &counted{from: io.LimitReader(r.Body, bound+1), free: v.config.MaxBody, verifier: v}
	body, err = io.ReadAll(counted)
	held = counted.held
	if errors.Is(err, errBusy) {
		return nil, held, errBusy
	}
	if err != nil {
		return nil, held, refuse("IncompleteBody", http.StatusBadRequest, "The request body ended before its end.")
	}
	if int64(len(body)) > bound {
		return nil, held, tooLong
	}
	r.Body = &restored{Reader: bytes.NewReader(body), Closer: r.Body}
	return body, held, nil
}

var errBusy = refuse("ServiceUnavailable", http.StatusServiceUnavailable, "The server is busy with other large requests. Please try again.")

// counted counts what is read beyond what is free towards what a verifier holds unverified.
type counted struct {
	from       io.Reader
	free, held int64
	verifier   *Verifier
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	more := int64(n) - c.free
	c.free = max(0, -more)
	if more > 0 {
		c.held += more
		if c.verifier.unverified.Add(more) > c.verifier.config.MaxUnverified {
			return n, errBusy
		}
	}
	return n, err
}

// restored gives the bytes that were read, and closes the body they were read from.
type restored struct {
	io.Reader
	io.Closer
}

// guard makes the body of r fail at its end if its hash is not the signed one.
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

// guarded hashes what is read through it.
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
