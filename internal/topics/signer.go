package topics

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
	"math/big"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/catalog"
)

const (
	// keyName is the name of the key in the catalog.
	keyName = "sns"
	keyBits = 2048
	// lifetime is how long a certificate is valid. A key is made anew when less than renewal of that is left.
	lifetime = 10 * 365 * 24 * time.Hour
	renewal  = 30 * 24 * time.Hour
)

// CertificatePath is what the path of a certificate begins with, below the public URL.
const CertificatePath = "/SimpleNotificationService-"

// signer signs messages with the key of the catalog.
type signer struct {
	keys *catalog.Shelf[catalog.Key]
	now  func() time.Time

	mu    sync.Mutex
	known *signingKey
}

type signingKey struct {
	private     *rsa.PrivateKey
	certificate []byte // PEM
	path        string
	until       time.Time
}

// key returns the key, which is read, or made, once.
func (s *signer) key(ctx context.Context) (*signingKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil && s.now().Before(s.known.until.Add(-renewal)) {
		return s.known, nil
	}
	for {
		item, err := s.keys.Get(ctx, catalog.Everywhere, keyName)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			item = catalog.Item[catalog.Key]{Place: catalog.Everywhere, Name: keyName}
		case err != nil:
			return nil, fmt.Errorf("read the key of SNS: %w", err)
		default:
			key, err := parseKey(item.Of.Secret)
			if err != nil {
				return nil, err
			}
			if s.now().Before(key.until.Add(-renewal)) {
				s.known = key
				return key, nil
			}
		}
		if item.Of, err = newKey(s.now()); err != nil {
			return nil, fmt.Errorf("make the key of SNS: %w", err)
		}
		// Another node may be faster; then its key is the one to read.
		_, err = s.keys.Put(ctx, item)
		if err != nil && !errors.Is(err, catalog.ErrExists) && !errors.Is(err, catalog.ErrChanged) && !errors.Is(err, catalog.ErrNotFound) {
			return nil, fmt.Errorf("keep the key of SNS: %w", err)
		}
	}
}

// newKey makes a key and its certificate, both as PEM.
func newKey(now time.Time) (catalog.Key, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return catalog.Key{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return catalog.Key{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "sns.amazonaws.com", Organization: []string{"Pintle: not of Amazon"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return catalog.Key{}, err
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return catalog.Key{}, err
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
	secret = append(secret, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})...)
	return catalog.Key{Secret: secret, Made: now.UTC()}, nil
}

// parseKey reads what newKey made. Its errors show nothing of it.
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

// sign returns the signature of a text in a version.
func (k *signingKey) sign(text, version string) (string, error) {
	hash, digest := crypto.SHA1, []byte(nil)
	if version == "2" {
		sum := sha256.Sum256([]byte(text))
		hash, digest = crypto.SHA256, sum[:]
	} else {
		sum := sha1.Sum([]byte(text)) // what version 1 of the format is
		digest = sum[:]
	}
	signature, err := rsa.SignPKCS1v15(nil, k.private, hash, digest)
	if err != nil {
		return "", fmt.Errorf("sign a message: %w", err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

// Certificate serves the certificate of the key that messages are signed with, at the path that they name, below any path of the
// public URL's own. It needs no authentication.
func (t *Topics) Certificate() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		key, err := t.signer.key(r.Context())
		if err != nil {
			t.config.Log.ErrorContext(r.Context(), "the certificate of SNS cannot be served", "error", err)
			http.Error(w, "the certificate is not at hand, try again", http.StatusServiceUnavailable)
			return
		}
		if base := len(r.URL.Path) - len(key.path); base < 0 || r.URL.Path[base:] != key.path {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-pem-file")
		_, _ = w.Write(key.certificate) // a client that is gone needs none
	})
}
