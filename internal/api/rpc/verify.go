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
	// DefaultMaxBody is the default limit of a body in bytes. It fits a template of 524,288 bytes, percent-encoded to
	// three bytes each, and the other parameters.
	DefaultMaxBody = 4 << 20
	// DefaultSkew is the maximum difference between the time of a call and the server's, in either direction.
	DefaultSkew = 15 * time.Minute
)

// Secret is the secret for verifying a call.
type Secret struct {
	Text string
	// Any means that the secret is unknown, and that every signature is valid.
	Any bool
}

// VerifierConfig configures a [Verifier]. Zero fields mean the defaults.
type VerifierConfig struct {
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
	// Skew is the maximum clock difference.
	Skew time.Duration
	// MaxBody is the maximum size of a body in bytes.
	MaxBody int64
	// Intake reads bodies. Nil means a new one with the defaults of package intake.
	Intake *intake.Bodies
}

// Verifier reads requests and verifies their signatures. It is safe for concurrent use.
//
// To prevent replays, it remembers the nonces of accepted calls until the calls expire, up to 131,072. Each process of
// a server has its own memory.
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

// Admit returns the call of a request, or nil if the request does not belong to this protocol. If Admit read the body,
// it replaces it with an [*intake.Body], which the caller closes after the request. find returns the secret of a call's
// key, or the reason to reject it. The error is an [*Error].
//
// A web page can send a call as a form without a CORS preflight. Where every signature is valid, requests that may come
// from a page are therefore rejected.
func (v *Verifier) Admit(r *http.Request, find func(*Call) (Secret, *Error)) (call *Call, refused *Error) {
	if !mayBe(r) {
		return nil, nil //nolint:nilnil // none of ours is not an error
	}
	body, err := v.config.Intake.Read(r, v.config.MaxBody)
	switch {
	case err != nil && Claimed(r):
		return nil, v.unread(err)
	case err != nil: // only the unread parameters could show that this is a call
		return nil, nil //nolint:nilnil // see above
	}
	v.config.Intake.Limit(func() { call, refused = v.admit(r, body, find) })
	if call != nil {
		body.Release()
	}
	return call, refused
}

// admit is like [Verifier.Admit], with the body that was read.
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

// verify verifies the signature of a call.
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

// mismatchV1 returns the error for a wrong V1 signature. Alibaba Cloud ends the message with a colon and its string to
// sign, and the first SDK for Python fails without the colon. That string contains every parameter of the call,
// including secrets, so this message contains its hash instead.
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

// checkTime returns the time of a call, or an error if the clock difference is too large.
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
