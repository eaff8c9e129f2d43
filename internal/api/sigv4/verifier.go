// Package sigv4 verifies AWS Signature Version 4 on incoming requests.
//
// A [Verifier] answers who is asking. It reads the header, looks up the access key, builds the canonical request from
// what arrived, and compares the signatures in constant time. The answer is an [Identity], whose Region and Service
// come from the credential scope and so also say where the request wants to go; a refusal is an [Error] with the code
// and the text that AWS sends, ready to be rendered by whichever protocol the service speaks.
//
// The keys live in a file of one's own, see [Keys].
//
// The header form is taken and, for S3, the query of a presigned URL. A browser can be made to send such a URL, but never the
// header, and that is what protects a development server on loopback, where every key is good: there, too, a presigned URL
// is verified, and needs a key that the server knows.
//
// Source: IAM User Guide, "Create a signed AWS API request" and "Troubleshoot Signature Version 4 signing"; S3 API Reference,
// "Authenticating Requests: Using Query Parameters".
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
	// DefaultMaxBody is how many bytes of a body are read to check its hash, unless Config says otherwise.
	DefaultMaxBody = 1 << 20

	// DefaultSkew is how far a request's time may be from the server's, either way, unless Config says otherwise.
	DefaultSkew = 5 * time.Minute

	// DefaultAccount is the account of a key that names none.
	DefaultAccount = "000000000000"
)

// Config is what a [Verifier] is made of.
type Config struct {
	// Lookup finds an access key by its id; false means that there is none. [Keys.Lookup] is one. It must be safe for
	// concurrent use. Required unless Dev.
	Lookup func(id string) (Key, bool)

	// Dev accepts every well-formed header of a key that Lookup does not know, without checking signature, time or
	// body, as one of Account. A key that Lookup knows is verified all the same: what it may do is not for those who
	// have seen its id.
	Dev bool

	// Account is the account of unknown keys in Dev; empty means [DefaultAccount].
	Account string

	// Sessions knows temporary keys, which are verified as those that Lookup knows are, also in Dev; nil knows none.
	Sessions *Sessions

	// Now is the clock; nil means [time.Now].
	Now func() time.Time

	// Skew is how far a request's time may be off, either way; zero means [DefaultSkew].
	Skew time.Duration

	// MaxBody bounds the bodies that are read to be hashed; zero means [DefaultMaxBody]. It does not bound uploads to
	// the service s3, which are hashed while the handler reads them.
	MaxBody int64

	// Bodies are such bounds of single services.
	Bodies map[string]int64

	// Intake reads the bodies whose hash a signature covers; nil means one of its own with the defaults of package intake.
	Intake *intake.Bodies
}

// Verifier verifies requests. It is safe for concurrent use.
type Verifier struct {
	config Config
}

// New returns a verifier. It returns an error if there is no way to find keys.
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

// Verify returns who signed r, or an [*Error].
//
// It reads the body to check its hash, and replaces it by an [*intake.Body], which the caller closes when the request is served. For the
// service s3 the body is left unread: where the client gave a hash, reading it to the end fails with an [*Error] if the hash is wrong.
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
	if !known { // then any key is good, and the body is read so that it is complete when the request takes a turn
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

// find returns the key of a request, and its session if it is a temporary one. One that is not known is good whatever its secret.
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

// KeyOwner is the identity that has an access key.
type KeyOwner struct {
	Identity
	// Secret is what the key signs with; nothing if it is not known, so that any signature is good.
	Secret Secret
	Known  bool
}

// Find returns who has an access key, for those who verify signatures of other forms than AWS's. token is that of a temporary key,
// "" for none. The region and the service are what the identity is to say. The error is an [*Error].
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

// checkTime returns the time the request was signed at, refusing one that is too far off.
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

// deriveKey returns the key that signs for one day, region and service.
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
