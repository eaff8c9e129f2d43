package responseurl

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// rosQuery lists the parameters of a response URL of ROS in order. The signature covers all of them and comes last.
var rosQuery = []string{"stackname", "stackid", "resource", "requestid", "expire"}

// maxROSStackName is the length of the longest stack name in a URL. Source: ROS, CreateStack, StackName.
const maxROSStackName = 255

// ROSSigner makes the response URLs of ROS requests and verifies the requests posted to them. The format of the real
// service's URLs is unpublished; these resemble the URLs of its ALIYUN::ROS::WaitConditionHandle:
//
//	BASE?stackname=…&stackid=…&resource=…&requestid=…&expire=…&signature=…
//
// The signature is a hexadecimal HMAC-SHA1 over the parameters. Neither the host nor the path is signed, so a proxy may
// change both. Each service has its own secret.
type ROSSigner struct{ secret []byte }

// NewROSSigner returns a signer with a secret of at least 16 bytes.
func NewROSSigner(secret []byte) (*ROSSigner, error) {
	if len(secret) < minSecret {
		return nil, fmt.Errorf("response signer: the secret must be at least %d bytes long", minSecret)
	}
	return &ROSSigner{secret: append([]byte(nil), secret...)}, nil
}

// Sign returns the URL for the answer to the request of key, of a stack with that name: base and a query. The URL is
// valid for life from now, 1 s to [MaxURLLife], in whole seconds. Sign fails if base is not an http URL or an ID in key
// is empty.
func (s *ROSSigner) Sign(base *url.URL, key ResponseKey, stackName string, now time.Time, life time.Duration) (string, error) {
	if _, err := newEndpoint(base); err != nil {
		return "", fmt.Errorf("sign response URL: %w", err)
	}
	switch {
	case key.StackID == "" || key.LogicalID == "" || key.RequestID == "":
		return "", errors.New("sign response URL: it lacks the ID of the stack, the resource or the request")
	case len(stackName) > maxROSStackName || len(key.String()) > maxKey:
		return "", errors.New("sign response URL: the names of the stack and the resource are too long")
	case life < time.Second || life > MaxURLLife:
		return "", fmt.Errorf("sign response URL: it cannot live for %v, only for 1s to %v", life, MaxURLLife)
	}
	query := url.Values{
		"stackname": {stackName}, "stackid": {string(key.StackID)}, "resource": {string(key.LogicalID)},
		"requestid": {string(key.RequestID)}, "expire": {strconv.FormatInt(now.Add(life).Unix(), 10)},
	}
	var b strings.Builder
	b.WriteString(base.Scheme + "://" + base.Host + escapePath(base.Path) + "?")
	for _, name := range rosQuery {
		b.WriteString(name + "=" + escape(query.Get(name), 0) + "&")
	}
	b.WriteString("signature=" + s.signature(query))
	return b.String(), nil
}

// Verify checks the signature and age of a request to a response URL, with any method, and returns the key in the URL.
// Parameters may be in any order and encoding. Each must occur once, and no others may occur. The error is an
// [AccessError].
func (s *ROSSigner) Verify(r *http.Request, now time.Time) (ResponseKey, error) {
	if len(r.URL.RawQuery) > maxQuery {
		return ResponseKey{}, &AccessError{Code: "InvalidQueryParameter", Message: "The query is too long."}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return ResponseKey{}, &AccessError{Code: "InvalidQueryParameter", Message: "The query cannot be decoded."}
	}
	for _, name := range append([]string{"signature"}, rosQuery...) {
		if len(query[name]) != 1 {
			return ResponseKey{}, &AccessError{Code: "InvalidQueryParameter", Message: "The URL must have the parameters " +
				"stackname, stackid, resource, requestid, expire and signature, each once. Send the response URL as it is."}
		}
	}
	given, err := hex.DecodeString(query.Get("signature"))
	query.Del("signature")
	if wanted := s.mac(query); err != nil || len(query) != len(rosQuery) || !hmac.Equal(given, wanted) {
		return ResponseKey{}, &AccessError{Code: errSignature.Code, Message: "The signature does not fit the URL. Send the response URL " +
			"as it is, and do not encode it again."}
	}
	seconds, err := strconv.ParseInt(query.Get("expire"), 10, 64)
	if err != nil { // signed with our key, but by other code
		return ResponseKey{}, errSignature
	}
	if expires := time.Unix(seconds, 0); now.After(expires) {
		return ResponseKey{}, &AccessError{
			Code: "AccessDenied", Message: "The response URL has expired.", Expires: expires.UTC(), ServerTime: now.UTC(),
		}
	}
	return ResponseKey{
		StackID: wire.StackID(query.Get("stackid")), LogicalID: wire.LogicalID(query.Get("resource")), RequestID: wire.RequestID(query.Get("requestid")),
	}, nil
}

// String describes the signer without its secret.
func (s *ROSSigner) String() string { return "response signer of ROS" }

// GoString is [ROSSigner.String].
func (s *ROSSigner) GoString() string { return s.String() }

func (s *ROSSigner) signature(query url.Values) string { return hex.EncodeToString(s.mac(query)) }

// mac returns the MAC of the sorted parameters with their names. Its prefix separates it from other uses of the secret.
func (s *ROSSigner) mac(query url.Values) []byte {
	mac := hmac.New(sha1.New, s.secret)
	mac.Write([]byte("POST\nros response\n" + escapeQuery(query)))
	return mac.Sum(nil)
}
