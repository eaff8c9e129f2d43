package rpc

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/acs"
)

// Defaults of [VerifierConfig].
const (
	// DefaultMaxBody is how many bytes a body may have: a template of 524,288 bytes, each three as a form has it, and the rest.
	DefaultMaxBody = 4 << 20
	// DefaultMaxUnverified is what of all bodies together is held beyond 1 MB each before it is known who has sent it.
	DefaultMaxUnverified = 256 << 20
	// DefaultSkew is how far a call's time may be from the server's, either way.
	DefaultSkew = 15 * time.Minute
)

// freeBody is what of a body does not count towards the limit of all.
const freeBody = 1 << 20

// Secret is what a call is verified with.
type Secret struct {
	Text string
	// Any says that it is not known, and any signature good.
	Any bool
}

// VerifierConfig is what a [Verifier] is made of. Zero fields mean the defaults.
type VerifierConfig struct {
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Skew is how far a call's time may be off.
	Skew time.Duration
	// MaxBody bounds a body, in bytes, and MaxUnverified what of all is held unverified.
	MaxBody, MaxUnverified int64
}

// Verifier reads requests and finds out who has signed them. It is safe for concurrent use.
//
// It remembers the nonces of the calls that it let in for as long as their times are good, the last 131,072 at most, so that a call
// that somebody has seen cannot be sent once more. Each process of a server remembers its own.
type Verifier struct {
	config     VerifierConfig
	nonces     nonces
	unverified atomic.Int64
}

// NewVerifier returns a verifier.
func NewVerifier(config VerifierConfig) *Verifier {
	if config.Now == nil {
		config.Now = time.Now
	}
	config.Skew = cmp.Or(config.Skew, DefaultSkew)
	config.MaxBody = cmp.Or(config.MaxBody, DefaultMaxBody)
	config.MaxUnverified = cmp.Or(config.MaxUnverified, DefaultMaxUnverified)
	return &Verifier{config: config}
}

// Admit returns the call that a request is, nil if it is none of the protocol: then its body is as it was. find returns what the
// key of a call signs with, or why it is not let in. The error is an [*Error].
//
// A call in a form needs no header that a browser would have to ask for, so one that a page may have sent is refused where any
// signature is good.
func (v *Verifier) Admit(r *http.Request, find func(*Call) (Secret, *Error)) (*Call, *Error) {
	is, can := mayBe(r)
	if !can {
		return nil, nil //nolint:nilnil // none of ours is no error
	}
	held := v.reserve(r)
	if held < 0 {
		return nil, &Error{
			Code: "ServiceUnavailable", Message: "The server is busy. Please try again.", Status: http.StatusServiceUnavailable,
		}
	}
	defer v.unverified.Add(-held)
	body, err := readBody(r, v.config.MaxBody)
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest{r.Body, err}), r.Body}
	if err != nil {
		if !is { // whoever it is for reads as far, and says so
			return nil, nil //nolint:nilnil // see above
		}
		return nil, v.unread(err)
	}
	call, err := read(r, body)
	if err == nil && call != nil {
		err = v.verify(r, call, find)
	}
	refused, ok := errors.AsType[*Error](err)
	switch {
	case ok:
		return nil, refused
	case err != nil:
		return nil, &Error{Code: "InternalError", Message: "Server error.", Status: http.StatusInternalServerError}
	}
	return call, nil
}

// rest is what was not read of a body, or why.
type rest struct {
	body io.Reader
	err  error
}

// Read implements [io.Reader].
func (r rest) Read(p []byte) (int, error) {
	if r.err != nil && !errors.Is(r.err, errTooLong) {
		return 0, r.err
	}
	return r.body.Read(p)
}

// reserve counts a body that may be long, and returns how much was counted, -1 if there are too many.
func (v *Verifier) reserve(r *http.Request) int64 {
	size := r.ContentLength
	if size < 0 || size > v.config.MaxBody {
		size = v.config.MaxBody
	}
	if size -= freeBody; size <= 0 {
		return 0
	}
	if v.unverified.Add(size) > v.config.MaxUnverified {
		v.unverified.Add(-size)
		return -1
	}
	return size
}

func (v *Verifier) unread(err error) *Error {
	if errors.Is(err, errTooLong) {
		return &Error{
			Code: "RequestEntityTooLarge", Message: fmt.Sprintf("The request is longer than %d bytes.", v.config.MaxBody),
			Status: http.StatusRequestEntityTooLarge,
		}
	}
	return &Error{Code: "IncompleteBody", Message: "The request body ended before its end."}
}

// verify finds out whether a call is signed with the secret of its key.
func (v *Verifier) verify(r *http.Request, call *Call, find func(*Call) (Secret, *Error)) error {
	secret, refused := find(call)
	switch {
	case refused != nil:
		return refused
	case secret.Any && call.signed == nil && fromPage(r.Header):
		return &Error{
			Code: "Forbidden", Message: "You are not authorized to complete this action.", Status: http.StatusForbidden,
			Recommend: "Nothing here is for pages of a browser. Use a key that the server knows, or a client that is none.",
		}
	case secret.Any:
		return nil
	}
	at, err := v.checkTime(call)
	if err != nil {
		return err
	}
	var want string
	if call.signed == nil {
		want = acs.SignatureV1(r.Method, call.all, secret.Text)
	} else {
		if !hmac.Equal([]byte(strings.ToLower(r.Header.Get(hashHeader))), []byte(call.bodyHash)) {
			return mismatch("The body is not the one whose hash is in " + strings.ToLower(hashHeader) + ".")
		}
		want = acs.SignatureV3(r, call.signed, call.bodyHash, secret.Text)
	}
	if !hmac.Equal([]byte(want), []byte(call.signature)) {
		if call.signed == nil {
			return mismatchV1(acs.StringToSignV1(r.Method, call.all))
		}
		return mismatch(checkSecret)
	}
	if !v.nonces.use(call.AccessKeyID+" "+call.nonce, v.config.Now(), at.Add(v.config.Skew)) {
		return &Error{Code: "SignatureNonceUsed", Message: "Specified signature nonce was used already."}
	}
	return nil
}

const checkSecret = "Check the AccessKey secret, and that nothing on the way changes the request."

// mismatchV1 refuses a call that is signed in its parameters. The service ends the message with a colon and its string to sign, and the
// first SDK for Python fails on a message without the colon. That string has every parameter of the call, secrets too, so the message
// has the hash of it.
func mismatchV1(stringToSign string) *Error {
	refused := mismatch(checkSecret)
	refused.Message += " The SHA-256 of the server's string to sign is:" + acs.Hash([]byte(stringToSign))
	return refused
}

func mismatch(remedy string) *Error {
	return &Error{
		Code: "SignatureDoesNotMatch", Message: "Specified signature is not matched with our calculation.", Recommend: remedy,
	}
}

// checkTime returns the time that a call says, and refuses one that is too far off.
func (v *Verifier) checkTime(call *Call) (time.Time, error) {
	if call.timestamp == "" {
		return time.Time{}, &Error{
			Code:    "IllegalTimestamp",
			Message: `The input parameter "Timestamp" that is mandatory for processing this request is not supplied.`,
		}
	}
	at, err := time.Parse(time.RFC3339, call.timestamp)
	if err != nil {
		return time.Time{}, &Error{
			Code: "IllegalTimestamp", Message: "Specified time stamp or date value is not well formatted.",
			Recommend: "Give it as 2026-11-21T10:38:42Z.",
		}
	}
	if now := v.config.Now(); at.Before(now.Add(-v.config.Skew)) || at.After(now.Add(v.config.Skew)) {
		return time.Time{}, &Error{
			Code: "IllegalTimestamp", Message: "Specified time stamp or date value is expired.",
			Recommend: fmt.Sprintf("It is %s here, and calls may be off by %v.", now.UTC().Format(time.RFC3339), v.config.Skew),
		}
	}
	return at, nil
}
