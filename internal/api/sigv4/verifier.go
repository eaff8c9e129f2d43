// Package sigv4 verifies AWS Signature Version 4 on incoming requests.
//
// A [Verifier] authenticates the sender of a request. It reads the header, looks up the access key, builds the
// canonical request from the received one, and compares the signatures in constant time. The result is an [Identity].
// Its Region and Service come from the credential scope and so also say where the request is to go. If the request is
// rejected, the [Error] has the code and the text of AWS. Any protocol can render it.
//
// The keys are in a separate file, see [Keys].
//
// Signatures may be in the header. For S3, they may also be in the query of a presigned URL. A web page can make a
// browser send such a URL, but never the header. The header therefore protects a development server on loopback, where
// every key is valid. Even there, a presigned URL is verified and needs a key that the server knows.
//
// Source: IAM User Guide, "Create a signed AWS API request" and "Troubleshoot Signature Version 4 signing"; S3 API
// Reference, "Authenticating Requests: Using Query Parameters".
package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/api/intake"
)

const (
	// DefaultMaxBody is the default of Config.MaxBody.
	DefaultMaxBody = 1 << 20

	// DefaultSkew is the default of Config.Skew.
	DefaultSkew = 5 * time.Minute

	// DefaultAccount is the account of a key that does not name one.
	DefaultAccount = "000000000000"
)

// Config configures a [Verifier].
type Config struct {
	// Lookup finds an access key by ID, or returns false. [Keys.Lookup] is an implementation. It must be safe for
	// concurrent use. Required unless Dev is set.
	Lookup func(id string) (Key, bool)

	// Dev accepts every well-formed header with an unknown key, without checking signature, time or body. The caller is
	// then Account. A known key is still verified, so that its ID alone does not give access to its permissions.
	Dev bool

	// Account is the account of unknown keys in Dev. Empty means [DefaultAccount].
	Account string

	// Sessions recognizes temporary keys, which are verified like known keys, even in Dev. Nil recognizes none.
	Sessions *Sessions

	// Now is the clock. Nil means [time.Now].
	Now func() time.Time

	// Skew is the maximum difference between a request's time and the server's, in either direction. Zero means
	// [DefaultSkew].
	Skew time.Duration

	// MaxBody limits bodies that are read to be hashed. Zero means [DefaultMaxBody]. It does not limit uploads to the
	// service s3, which are hashed while the handler reads them.
	MaxBody int64

	// Bodies are limits for single services.
	Bodies map[string]int64

	// Intake reads the bodies whose hash a signature covers. Nil means a new one with the defaults of package intake.
	Intake *intake.Bodies
}

// Verifier verifies requests. It is safe for concurrent use.
type Verifier struct {
	config Config
}

// New returns a verifier. It returns an error if it has no way to look up keys.
func New(config Config) (*Verifier, error) {
	if config.Lookup == nil {
		if !config.Dev {
			return nil, errors.New("sigv4: no credentials to verify signatures with")
		}
		config.Lookup = func(string) (Key, bool) { return Key{}, false }
	}
	if config.Account == "" {
		config.Account = DefaultAccount
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Skew == 0 {
		config.Skew = DefaultSkew
	}
	if config.MaxBody == 0 {
		config.MaxBody = DefaultMaxBody
	}
	if config.Intake == nil {
		config.Intake = intake.New(intake.Config{})
	}
	if config.Skew < 0 || config.MaxBody < 0 {
		return nil, errors.New("sigv4: the allowed skew and the longest body cannot be negative")
	}
	return &Verifier{config: config}, nil
}

// Verify returns the identity that signed r, or an [*Error].
//
// It reads the body to check its hash, and replaces it with an [*intake.Body], which the caller closes after the
// request. For the service s3, the body is not read. If the client declared a hash, reading the body to the end fails
// with an [*Error] if the hash is wrong.
func (v *Verifier) Verify(r *http.Request) (Identity, error) {
	if Presigned(r) {
		return v.verifyPresigned(r)
	}
	auth, err := parseAuthorization(r.Header.Values("Authorization"))
	if err != nil {
		return Identity{}, err
	}
	key, session, known, err := v.find(auth.keyID, r.Header.Values("X-Amz-Security-Token"))
	if err != nil {
		return Identity{}, err
	}
	id := identify(key, session, auth)
	if !known { // any key is valid; read the whole body before the request takes a turn
		if auth.service != s3 {
			body, err := v.readBody(r, auth.service, v.config.Intake.Read)
			if err != nil {
				return Identity{}, err
			}
			body.Release()
		}
		return id, nil
	}
	if err := checkSigned(auth, r.Header); err != nil {
		return Identity{}, err
	}
	signedAt, err := v.checkTime(auth, r.Header)
	if err != nil {
		return Identity{}, err
	}
	query, err := canonicalQuery(r.URL.RawQuery)
	if err != nil {
		return Identity{}, err
	}
	payload, err := v.payload(auth, r)
	if err != nil {
		return Identity{}, err
	}
	headers := canonicalHeaders(r, auth.signedHeaders)
	signingKey := deriveKey(string(key.Secret), auth)
	for _, path := range canonicalPaths(r.URL, auth.service) {
		canonical := r.Method + "\n" + path + "\n" + query + "\n" + headers + "\n" + auth.signedList + "\n" + payload.hash
		if hmac.Equal(auth.signature, sign(signingKey, auth, signedAt, canonical)) {
			if session.over(v.config.Now()) {
				return Identity{}, refuse("ExpiredToken", http.StatusForbidden, "The security token included in the request is expired")
			}
			if err := v.accept(payload, r); err != nil {
				return Identity{}, err
			}
			return id, nil
		}
	}
	return Identity{}, mismatch("The request signature we calculated does not match the signature you provided. " +
		"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
}

// find returns the key of a request, and the session of a temporary key. In Dev, an unknown key is valid with any
// secret.
func (v *Verifier) find(keyID string, tokens []string) (key Key, session *Session, known bool, err error) {
	const invalid = "The security token included in the request is invalid."
	key, known = v.config.Lookup(keyID)
	switch {
	case known && key.goesWith(tokens):
		return key, nil, true, nil
	case known && key.Token != "":
		return Key{}, nil, false, refuse("InvalidClientTokenId", http.StatusForbidden, invalid)
	case known:
		return Key{}, nil, false, refuse("InvalidClientTokenId", http.StatusForbidden,
			invalid+" The key of this id has no session token: unset AWS_SESSION_TOKEN.")
	case v.config.Sessions != nil && len(tokens) == 1:
		if key, session, ok := v.config.Sessions.open(keyID, tokens[0]); ok {
			return key, &session, true, nil
		}
	}
	if v.config.Dev {
		return Key{ID: keyID, Account: v.config.Account}, nil, false, nil
	}
	return Key{}, nil, false, refuse("InvalidClientTokenId", http.StatusForbidden, invalid)
}

// KeyOwner is the identity of an access key.
type KeyOwner struct {
	Identity
	// Secret is the key's secret. It is empty for an unknown key. Then any signature is valid.
	Secret Secret
	Known  bool
}

// Find returns the owner of an access key. It is for code that verifies other signatures than AWS's. token is that of a
// temporary key, or "". The identity gets the region and service. The error is an [*Error].
func (v *Verifier) Find(keyID, token, region, service string) (KeyOwner, error) {
	var tokens []string
	if token != "" {
		tokens = []string{token}
	}
	key, session, known, err := v.find(keyID, tokens)
	switch {
	case err != nil:
		return KeyOwner{}, err
	case session.over(v.config.Now()):
		return KeyOwner{}, refuse("ExpiredToken", http.StatusForbidden, "The security token included in the request is expired")
	}
	id := identify(key, session, authorization{keyID: keyID, region: region, service: service})
	return KeyOwner{Identity: id, Secret: key.Secret, Known: known}, nil
}

// checkTime returns the time of the signature, or an error if the clock difference is too large.
func (v *Verifier) checkTime(auth authorization, header http.Header) (time.Time, error) {
	signedAt, err := requestTime(header)
	if err != nil {
		return time.Time{}, err
	}
	if date := signedAt.Format("20060102"); date != auth.date {
		return time.Time{}, mismatch(fmt.Sprintf(
			"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '%s' != '%s', from '%s'.",
			auth.date, date, signedAt.Format(basicTime)))
	}
	now, skew := v.config.Now().UTC(), v.config.Skew
	if earliest := now.Add(-skew); signedAt.Before(earliest) {
		return time.Time{}, mismatch(fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - %g min.)",
			signedAt.Format(basicTime), earliest.Format(basicTime), now.Format(basicTime), skew.Minutes()))
	}
	if latest := now.Add(skew); signedAt.After(latest) {
		return time.Time{}, mismatch(fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + %g min.)",
			signedAt.Format(basicTime), latest.Format(basicTime), now.Format(basicTime), skew.Minutes()))
	}
	return signedAt, nil
}

// deriveKey returns the signing key for a day, region and service.
func deriveKey(secret string, auth authorization) []byte {
	key := []byte("AWS4" + secret)
	for _, part := range []string{auth.date, auth.region, auth.service, terminator} {
		key = mac(key, part)
	}
	return key
}

// sign returns the signature of a canonical request.
func sign(key []byte, auth authorization, at time.Time, canonical string) []byte {
	sum := sha256.Sum256([]byte(canonical))
	scope := auth.date + "/" + auth.region + "/" + auth.service + "/" + terminator
	return mac(key, algorithm+"\n"+at.Format(basicTime)+"\n"+scope+"\n"+hex.EncodeToString(sum[:]))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
