package rpc

import (
	"cmp"
	"crypto/hmac"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/intake"
	"github.com/pintle-dev/pintle/internal/base/acs"
)

// Defaults of [VerifierConfig].
const (
	// DefaultMaxBody is how many bytes a body may have: a template of 524,288 bytes, each three as a form has it, and the rest.
	DefaultMaxBody = 4 << 20
	// DefaultSkew is how far a call's time may be from the server's, either way.
	DefaultSkew = 15 * time.Minute
)

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
	// MaxBody bounds a body, in bytes.
	MaxBody int64
	// Intake reads bodies; nil means one of its own with the defaults of package intake.
	Intake *intake.Bodies
}

// Verifier reads requests and finds out who has signed them. It is safe for concurrent use.
//
// It remembers the nonces of the calls that it let in for as long as their times are good, the last 131,072 at most, so that a call
// that someone has seen cannot be sent once more. Each process of a server remembers its own.
type Verifier struct {
	config VerifierConfig
	nonces nonces
}

// NewVerifier returns a verifier.
func NewVerifier(config VerifierConfig) *Verifier {
	if config.Now == nil {
		config.Now = time.Now
	}
	config.Skew = cmp.Or(config.Skew, DefaultSkew)
	config.MaxBody = cmp.Or(config.MaxBody, DefaultMaxBody)
	if config.Intake == nil {
		config.Intake = intake.New(intake.Config{})
	}
	return &Verifier{config: config}
}

// Admit returns the call that a request is, nil if it is none of the protocol. Where the body was read, an [*intake.Body] replaces it, which
// the caller closes when the request is served. find returns what the key of a call signs with, or why it is not let in. The error is an
// [*Error].
//
// A call in a form needs no header that a browser would have to ask for, so one that a page may have sent is refused where any
// signature is good.
func (v *Verifier) Admit(r *http.Request, find func(*Call) (Secret, *Error)) (call *Call, refused *Error) {
	if !mayBe(r) {
		return nil, nil //nolint:nilnil // none of ours is not an error
	}
	body, err := v.config.Intake.Read(r, v.config.MaxBody)
	switch {
	case err != nil && Claimed(r):
		return nil, v.unread(err)
	case err != nil: // without its parameters nothing says that it is a call
		return nil, nil //nolint:nilnil // see above
	}
	v.config.Intake.Limit(func() { call, refused = v.admit(r, body, find) })
	if call != nil {
		body.Release()
	}
	return call, refused
}

// admit is [Verifier.Admit] of a request whose body was read.
func (v *Verifier) admit(r *http.Request, body *intake.Body, find func(*Call) (Secret, *Error)) (*Call, *Error) {
	text, err := body.Bytes()
	var call *Call
	if err == nil {
		call, err = read(r, text)
	}
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

func (v *Verifier) unread(err error) *Error {
	switch {
	case errors.Is(err, intake.ErrTooLong):
		return &Error{
			Code: "RequestEntityTooLarge", Message: fmt.Sprintf("The request is longer than %d bytes.", v.config.MaxBody),
			Status: http.StatusRequestEntityTooLarge,
		}
	case errors.Is(err, intake.ErrBusy):
		return &Error{
			Code: "ServiceUnavailable", Message: "The server is busy. Please try again.", Status: http.StatusServiceUnavailable,
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
