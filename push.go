package pintle

import (
	"context"
	"crypto"
	"crypto/md5"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// pushCertificates is the SMQ bucket with the certificates of its pushes. Anyone can own another bucket, so no
	// other is trusted. Source: SMQ, how to check whether the URL of a public key certificate is provided by Alibaba
	// Cloud.
	pushCertificates = "mnstest.oss-cn-hangzhou.aliyuncs.com"
	// pushAge is the largest difference between the Date of a push and now.
	pushAge = 15 * time.Minute
	// minPushKey is the size of the shortest trusted key in bits. Shorter keys can be broken, and SMQ has used one
	// with 512.
	minPushKey = 1024
)

// pushRegionCertificates are the newer buckets, one per region. Source: SMQ, verify HTTP push message signatures.
var pushRegionCertificates = regexp.MustCompile(`^mns-cert\.oss-cn-[a-z0-9-]+\.aliyuncs\.com$`)

// pushTopic returns the key of an SMQ topic among the allowed ones. Any account can have a topic with that name, so
// the key contains the owner.
func pushTopic(owner, name string) string { return "acs:mns:" + owner + ":" + name }

// servePush takes a message that a topic of SMQ pushes, in any of its formats.
func (s *Server) servePush(w http.ResponseWriter, r *http.Request, body []byte) {
	if !s.enter(w) { // before the verification, which may send a request itself
		return
	}
	taken := false
	defer func() {
		if !taken {
			<-s.web.room
		}
	}()
	ctx, cancel := context.WithTimeout(r.Context(), notificationHold)
	defer cancel()
	if err := s.verifyPush(ctx, r, body); err != nil {
		s.log.Warn("SMQ message refused", "error", err, "from", r.RemoteAddr)
		status := http.StatusForbidden
		var away *certificateError
		if errors.As(err, &away) {
			status = http.StatusServiceUnavailable
		}
		http.Error(w, err.Error(), status)
		return
	}
	taken = true
	s.serveNotification(w, r, unwrapMNS(body))
}

// verifyPush checks the signer, the topic and the time of a push. Source: SMQ, sign a request that is sent to an
// endpoint.
func (s *Server) verifyPush(ctx context.Context, r *http.Request, body []byte) error {
	owner, name := r.Header.Get("x-mns-topic-owner"), r.Header.Get("x-mns-topic-name")
	if n, ok := parseNotification(body); ok && owner == "" && name == "" && !simplified(r) {
		owner, name = n.TopicOwner, n.TopicName
	}
	if owner == "" || name == "" || !s.web.topics[pushTopic(owner, name)] {
		return fmt.Errorf("the topic %.200q of account %.40q is not allowed: add acs:mns:REGION:ACCOUNT:topics/NAME to PINTLE_PROVIDER_TOPICS", name, owner)
	}
	at, err := http.ParseTime(r.Header.Get("Date"))
	if age := s.clock.Now().Sub(at); err != nil || age > pushAge || age < -pushAge {
		return errors.New("the Date of the message is missing, too old, or ahead: is the clock right?")
	}
	if !fitsMD5(r.Header.Get("Content-MD5"), body) {
		return errors.New("the Content-MD5 of the message, which its signature covers, does not match")
	}
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(r.Header.Get("Authorization")))
	if err != nil {
		return errors.New("the Authorization of the message is not base64")
	}
	address, err := base64.StdEncoding.DecodeString(r.Header.Get("x-mns-signing-cert-url"))
	if err != nil {
		return errors.New("the x-mns-signing-cert-url of the message is not base64")
	}
	u, err := url.Parse(string(address))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host != pushCertificates && !pushRegionCertificates.MatchString(u.Host) || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the x-mns-signing-cert-url of the message is refused: it is not in the bucket of SMQ")
	}
	u.Scheme = "https" // TLS then proves that the certificate is from the bucket
	certificate, err := s.web.sns.at(ctx, u, "SMQ")
	if err != nil {
		return err
	}
	key, ok := certificate.PublicKey.(*rsa.PublicKey)
	if !ok || key.N.BitLen() < minPushKey {
		return fmt.Errorf("the certificate of SMQ has no RSA key of %d bits, so its signature proves nothing: let a queue subscribe to the topic instead", minPushKey)
	}
	sum := sha1.Sum([]byte(signedPush(r)))
	if rsa.VerifyPKCS1v15(key, crypto.SHA1, sum[:], signature) != nil {
		return errors.New("the Authorization of the message does not fit")
	}
	return nil
}

// simplified reports whether the body of a push is the message exactly as published. Then its publisher chose the
// text, and a topic named in it proves nothing. Both headers are signed. Source: SMQ, HttpEndpoint: only that format
// has the ID in a header.
func simplified(r *http.Request) bool {
	kind := strings.ToLower(r.Header.Get("Content-Type"))
	return r.Header.Get("x-mns-message-id") != "" || !strings.Contains(kind, "xml") && !strings.Contains(kind, "json")
}

// signedPush returns the text that the signature of a push covers.
func signedPush(r *http.Request) string {
	var headers []string
	for name, values := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-mns-") {
			headers = append(headers, name+":"+values[0])
		}
	}
	slices.Sort(headers)
	lines := []string{r.Method, r.Header.Get("Content-MD5"), strings.ToLower(r.Header.Get("Content-Type")), r.Header.Get("Date")}
	return strings.Join(append(append(lines, headers...), r.URL.RequestURI()), "\n")
}

// fitsMD5 reports whether text is the MD5 of a body in one of the formats in use: hexadecimal, base64, and the base64
// of hexadecimal.
func fitsMD5(text string, body []byte) bool {
	sum := md5.Sum(body)
	digits := hex.EncodeToString(sum[:])
	return strings.EqualFold(text, digits) || text == base64.StdEncoding.EncodeToString(sum[:]) ||
		text == base64.StdEncoding.EncodeToString([]byte(digits))
}
