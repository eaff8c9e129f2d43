// Package notification creates and signs the messages that SNS posts to HTTP endpoints.
//
// A [Signer] signs with an RSA key and serves the certificate of that key. With a catalog, all nodes share the key.
// Without one, each Signer has its own temporary key.
//
// Sources: SNS developer guide, "HTTP/HTTPS notification JSON format" and "Verifying the signatures of Amazon SNS
// messages".
package notification

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

const (
	// keyName is the name of the key in the catalog.
	keyName = "sns"
	keyBits = 2048
	// lifetime is the validity period of a certificate. The key is replaced when less than renewal is left.
	lifetime = 10 * 365 * 24 * time.Hour
	renewal  = 30 * 24 * time.Hour
)

// CertificatePath is the prefix of a certificate's path below the public URL.
const CertificatePath = "/SimpleNotificationService-"

// Config configures a [Signer].
type Config struct {
	// Keys stores the key for all nodes. Nil means that the Signer has its own key.
	Keys *registry.Collection[registry.Key]
	// PublicURL is the URL of this server for receivers. The certificate and the links in messages are below it.
	// Required.
	PublicURL string
	// Log gets messages for operators. Nil discards them.
	Log *slog.Logger
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
}

// Signer signs messages. Create one with [NewSigner]. Its methods are safe for concurrent use.
type Signer struct {
	config Config

	mu    sync.Mutex
	known *signingKey
}

// NewSigner returns a signer. It reads or creates the key on first use.
func NewSigner(config Config) (*Signer, error) {
	if config.PublicURL == "" {
		return nil, errors.New("notification: the public URL is required")
	}
	config.PublicURL = strings.TrimSuffix(config.PublicURL, "/")
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Signer{config: config}, nil
}

type signingKey struct {
	private     *rsa.PrivateKey
	certificate []byte // PEM
	path        string
	until       time.Time
}

// key returns the key. It reads or creates the key on first use.
func (s *Signer) key(ctx context.Context) (*signingKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil && s.config.Now().Before(s.known.until.Add(-renewal)) {
		return s.known, nil
	}
	if s.config.Keys == nil {
		made, err := newKey(s.config.Now())
		if err == nil {
			s.known, err = parseKey(made.Secret)
		}
		if err != nil {
			return nil, fmt.Errorf("make the key of SNS: %w", err)
		}
		return s.known, nil
	}
	for {
		item, err := s.config.Keys.Get(ctx, registry.Global, keyName)
		switch {
		case errors.Is(err, registry.ErrNotFound):
			item = registry.Item[registry.Key]{Scope: registry.Global, Name: keyName}
		case err != nil:
			return nil, fmt.Errorf("read the key of SNS: %w", err)
		default:
			key, err := parseKey(item.Of.Secret)
			if err != nil {
				return nil, err
			}
			if s.config.Now().Before(key.until.Add(-renewal)) {
				s.known = key
				return key, nil
			}
		}
		if item.Of, err = newKey(s.config.Now()); err != nil {
			return nil, fmt.Errorf("make the key of SNS: %w", err)
		}
		// Another node may be faster. Read its key then.
		_, err = s.config.Keys.Put(ctx, item)
		if err != nil && !errors.Is(err, registry.ErrExists) && !errors.Is(err, registry.ErrChanged) && !errors.Is(err, registry.ErrNotFound) {
			return nil, fmt.Errorf("keep the key of SNS: %w", err)
		}
	}
}

// newKey creates a key and its certificate, both as PEM.
func newKey(now time.Time) (registry.Key, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return registry.Key{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return registry.Key{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "sns.amazonaws.com", Organization: []string{"Pintle: not of Amazon"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return registry.Key{}, err
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return registry.Key{}, err
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
	secret = append(secret, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})...)
	return registry.Key{Secret: secret, Made: now.UTC()}, nil
}

// parseKey parses the result of newKey. Its errors do not quote it.
func parseKey(secret []byte) (*signingKey, error) {
	damaged := errors.New("the key of SNS in the catalog is damaged")
	private, rest := pem.Decode(secret)
	certificate, _ := pem.Decode(rest)
	if private == nil || certificate == nil {
		return nil, damaged
	}
	opened, err := x509.ParsePKCS8PrivateKey(private.Bytes)
	if err != nil {
		return nil, damaged
	}
	key, ok := opened.(*rsa.PrivateKey)
	parsed, err := x509.ParseCertificate(certificate.Bytes)
	if err != nil || !ok {
		return nil, damaged
	}
	sum := sha256.Sum256(certificate.Bytes)
	return &signingKey{
		private: key, certificate: pem.EncodeToMemory(certificate), path: CertificatePath + hex.EncodeToString(sum[:16]) + ".pem",
		until: parsed.NotAfter,
	}, nil
}

// sign returns the signature of a text for a version of the format.
func (k *signingKey) sign(text, version string) (string, error) {
	hash, digest := crypto.SHA1, []byte(nil)
	if version == "2" {
		sum := sha256.Sum256([]byte(text))
		hash, digest = crypto.SHA256, sum[:]
	} else {
		sum := sha1.Sum([]byte(text)) // version 1 of the format uses SHA-1
		digest = sum[:]
	}
	signature, err := rsa.SignPKCS1v15(nil, k.private, hash, digest)
	if err != nil {
		return "", fmt.Errorf("sign a message: %w", err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

// Sign sets the timestamp, the signature and the certificate URL of a message. The version is "1" for SHA-1 or "2"
// for SHA-256.
func (s *Signer) Sign(ctx context.Context, m *Message, version string) error {
	key, err := s.key(ctx)
	if err != nil {
		return err
	}
	m.Timestamp = s.config.Now().UTC().Format(local.SNSTime)
	m.SignatureVersion = version
	m.SigningCertURL = s.config.PublicURL + key.path
	m.Signature, err = key.sign(m.signed(), version)
	return err
}

// Link returns the URL of an SNS call for the recipient of a message.
func (s *Signer) Link(query url.Values) string { return s.config.PublicURL + "/?" + query.Encode() }

// Post returns the body and the headers of a notification for an endpoint that replaces the subscribers of a topic.
// Such an endpoint has no subscription. Its subscription ARN is derived from the topic's, and the UnsubscribeURL has
// no effect. The ID must be the same each time the same message is sent.
func (s *Signer) Post(ctx context.Context, topicARN, id, subject, message string) (body []byte, header http.Header, err error) {
	subscription := topicARN + ":" + uuid.NewSHA1(uuid.NameSpaceURL, []byte(topicARN)).String()
	m := Message{
		Type: Notification, MessageID: id, TopicARN: topicARN, Subject: subject, Message: message,
		UnsubscribeURL: s.Link(url.Values{"Action": {"Unsubscribe"}, "SubscriptionArn": {subscription}}),
	}
	if err := s.Sign(ctx, &m, "1"); err != nil {
		return nil, nil, err
	}
	return m.Encode(), Header(m.Type, id, topicARN, subscription), nil
}

// Certificate returns a handler that serves the certificate at the path in messages, below any path of the public
// URL. It needs no authentication.
func (s *Signer) Certificate() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		key, err := s.key(r.Context())
		if err != nil {
			s.config.Log.ErrorContext(r.Context(), "the certificate of SNS cannot be served", "error", err)
			http.Error(w, "the certificate is not at hand, try again", http.StatusServiceUnavailable)
			return
		}
		if base := len(r.URL.Path) - len(key.path); base < 0 || r.URL.Path[base:] != key.path {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-pem-file")
		_, _ = w.Write(key.certificate) // fails only if the client has disconnected
	})
}
