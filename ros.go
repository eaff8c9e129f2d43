package pintle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// ROSConfig configures how a [Server] answers requests of Alibaba Cloud ROS. The zero value suits a function of
// Function Compute.
//
// The server recognizes requests of ROS by their content. Handlers see these differences:
//
//   - ROS cannot replace a resource in an Update. A change of an immutable property is refused before anything is done,
//     with a reason that explains how to replace the resource. An Update that answers with another ID fails.
//   - ROS has no NoEcho: it shows attributes to everyone who can read the stack. An answer with secrets is refused unless
//     PlainSecrets allows it. If the attributes of a provider are always secret, it is refused before anything is done.
//   - A physical ID has at most 255 bytes. ROS records only the ID of a successful answer, so a Delete after a failed
//     Create can come without one. It gets the ID that the Create returned, if the [IdempotencyStore] still has it.
//     Otherwise it is answered with success and no handler is called.
//   - Properties keep their JSON types. A request does not contain the time that ROS waits: see Timeout.
type ROSConfig struct {
	// SignKeys are the SignKeys of HttpConfig in templates: requests over HTTP must be signed with one of them.
	SignKeys []string
	// SignHeaders are the names of the Headers of HttpConfig, which the signature covers.
	SignHeaders []string
	// URL is the exact URL in the service token, which the signature covers. Empty means the URL of the request, by
	// its Host, with http or https. Set it behind a proxy that changes host or path.
	URL string
	// Sync makes the answer the reply to every request over HTTP. Use it with the option sync of a service token. By
	// default, the reply is the answer only for a path that ends in /sync and for a request without a response URL.
	Sync bool
	// Intranet sends answers to the IntranetResponseURL, which is reachable only inside Alibaba Cloud. A request with
	// only one of the two URLs is answered there.
	Intranet bool
	// PlainSecrets allows secret attributes and IDs in answers, which ROS shows.
	PlainSecrets bool
	// Timeout is how long a request may take in a process without its own limit. Set it to the Timeout of the
	// templates, which requests do not contain. Zero means an hour; [wire.MaxROSTimeout] is the maximum.
	Timeout time.Duration
}

// ROSCredentials are an access key of Alibaba Cloud.
type ROSCredentials struct {
	// KeyID and Secret are always set, SecurityToken only for a temporary key.
	KeyID         string
	Secret        Secret
	SecurityToken Secret
}

// defaultROSTimeout is the default of ROSConfig.Timeout.
const defaultROSTimeout = time.Hour

// withDefaults checks a configuration and fills in its defaults.
func (c ROSConfig) withDefaults() (ROSConfig, error) {
	c.Timeout = cmp.Or(c.Timeout, defaultROSTimeout)
	switch {
	case c.Timeout < 0 || c.Timeout > wire.MaxROSTimeout:
		return c, fmt.Errorf("the timeout for requests of ROS is %v, want up to %v", c.Timeout, wire.MaxROSTimeout)
	case c.URL != "" && !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://"):
		return c, errors.New("the URL of this provider in service tokens of ROS must begin with http:// or https://")
	}
	for i, key := range c.SignKeys {
		if key == "" || len([]rune(key)) > wire.MaxROSSignKey {
			return c, fmt.Errorf("sign key %d of ROS must have 1 to %d characters", i+1, wire.MaxROSSignKey)
		}
	}
	return c, nil
}

// listens returns how long the service waits for the answer to a request, as far as that is known.
func (s *Server) listens(r wire.Request) time.Duration {
	if r.Dialect == wire.ROS {
		return s.ros.Timeout
	}
	return serviceTimeout(r.ResourceProperties)
}

// longest returns how long either service may wait for an answer.
func (s *Server) longest() time.Duration { return max(wire.MaxServiceTimeout, s.ros.Timeout) }

// responseURL returns the URL to send the answer to, or "" if the answer goes only into the reply.
func (s *Server) responseURL(r wire.Request) string {
	if s.ros.Intranet {
		return cmp.Or(r.IntranetResponseURL, r.ResponseURL)
	}
	return cmp.Or(r.ResponseURL, r.IntranetResponseURL)
}

// urlSecrets returns the secret parts of the response URLs of ROS. Their format is not published, so every long value
// in the query counts as a signature unless it is a known value of the request.
func urlSecrets(r wire.Request) []string {
	if r.Dialect != wire.ROS {
		return nil // wire.Redact knows the format
	}
	var secrets []string
	for _, text := range []string{r.ResponseURL, r.IntranetResponseURL, r.InnerResponseURL} {
		u, err := url.Parse(text)
		if err != nil {
			continue
		}
		for _, values := range u.Query() {
			for _, v := range values {
				switch v {
				case string(r.StackID), r.StackName, string(r.LogicalResourceID), string(r.RequestID), r.RegionID, r.ResourceOwnerID:
				default:
					if len(v) >= 16 {
						secrets = append(secrets, v)
					}
				}
			}
		}
	}
	return secrets
}

// errSecretAttributes is the reason of an answer to ROS that would show secrets.
var errSecretAttributes = errors.New("the attributes hold secrets, and ROS has no NoEcho: it would show them to everyone " +
	"with access to the stack; return the name of the place where they are stored instead, or set PINTLE_ROS_PLAIN_SECRETS=true for the " +
	"provider to have them shown")

// errSecretID is the reason of an answer to ROS whose ID would show secrets.
var errSecretID = errors.New("the physical ID holds a secret property, and ROS shows it to everyone who can read the stack; return another " +
	"ID, or set PINTLE_ROS_PLAIN_SECRETS=true for the provider to have it shown")

// holdsSecret reports whether a string in JSON contains a secret of the request, plain or encoded.
func holdsSecret(raw json.RawMessage, hide *redact.Secrets) bool {
	var decoded any
	if hide.Empty() || json.Unmarshal(raw, &decoded) != nil {
		return false
	}
	var in func(v any) bool
	in = func(v any) bool {
		switch v := v.(type) {
		case string:
			return hide.In(v)
		case []any:
			return slices.ContainsFunc(v, in)
		case map[string]any:
			for name, member := range v {
				if hide.In(name) || in(member) {
					return true
				}
			}
		}
		return false
	}
	return in(decoded)
}

// idHolds reports whether an answer has a new physical ID that contains a secret of the request, plain or encoded.
func idHolds(r wire.Request, id string, hide *redact.Secrets) bool {
	return r.RequestType != Delete && id != string(r.PhysicalResourceID) && hide.In(id)
}

// shown returns a response to ROS, or a failure if the response would show secrets. Responses to CloudFormation stay
// unchanged.
func (s *Server) shown(a answered, w wire.Response, answer Answer, hide *redact.Secrets) wire.Response {
	inID := idHolds(a.request, string(w.PhysicalResourceID), hide)
	switch {
	case a.request.Dialect != wire.ROS:
		if inID {
			a.log.Warn("the physical ID holds a secret property, and everyone who can read the stack sees physical IDs")
		}
		return w
	case w.Status != wire.Success || a.request.RequestType == Delete || len(answer.Attributes) == 0 && !inID:
		return w
	}
	secret := inID || answer.NoEcho
	if _, secrets, err := clearJSON(answer.Attributes); err == nil && len(secrets) > 0 { // encode reports an error
		secret = true
	}
	switch {
	case !secret:
	case s.ros.PlainSecrets:
		a.log.Warn("the answer holds secrets, and ROS shows them to everyone with access to the stack")
	case inID:
		return fail(w, errSecretID.Error())
	default:
		return fail(w, errSecretAttributes.Error())
	}
	return w
}
