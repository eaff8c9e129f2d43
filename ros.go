package pintle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// ROSConfig is how a [Server] deals with requests of Alibaba Cloud ROS. The zero value will do for a function of Function
// Compute.
type ROSConfig struct {
	// SignKeys are the SignKeys of HttpConfig in templates: requests over HTTP must be signed with one of them. Environment:
	// PINTLE_ROS_SIGN_KEY, which may hold several with spaces between.
	SignKeys []string
	// SignHeaders are the names of the Headers of HttpConfig, which the signature is over. Environment:
	// PINTLE_ROS_SIGN_HEADERS, with spaces between.
	SignHeaders []string
	// URL is the one in the service token, letter by letter, which the signature is over. Empty means the one that a
	// request came to, by its Host, with http or https; behind a proxy that changes host or path it must be set.
	// Environment: PINTLE_ROS_URL.
	URL string
	// Sync makes the answer the reply to every request over HTTP, as the option sync of a service token wants it. Without it
	// that is so for requests to a path that ends in /sync, and for those without a response URL. Environment:
	// PINTLE_ROS_SYNC=true.
	Sync bool
	// Intranet sends answers to the IntranetResponseURL, which is reachable inside Alibaba Cloud only. Where a request has
	// one of the two URLs only, that one counts. Environment: PINTLE_ROS_INTRANET=true.
	Intranet bool
	// PlainSecrets sends attributes that are secret. ROS has no NoEcho: it shows them to everybody who may read the stack.
	// Without it an answer with such attributes is a failure. Environment: PINTLE_ROS_PLAIN_SECRETS=true.
	PlainSecrets bool
	// Timeout is how long a request may take at most, where the process has no limit of its own. Give it the Timeout of the
	// templates, which is not in the request. Zero means an hour, [wire.MaxROSTimeout] is the most. Environment:
	// PINTLE_ROS_TIMEOUT, like 90s or a number of seconds.
	Timeout time.Duration
	// RuntimeAPI is host and port of the runtime API of Function Compute, for [Run]. Environment: FC_RUNTIME_API.
	RuntimeAPI string
	// Port is where [Run] serves Function Compute's custom runtime, on all addresses, as the platform wants it. Environment:
	// FC_SERVER_PORT or FC_CUSTOM_LISTEN_PORT, which the platform sets.
	Port string
	// Queue is the URL of a queue of SMQ, the former MNS, for [Run] to take requests from:
	// https://ACCOUNT.mns.REGION.aliyuncs.com/queues/NAME. Environment: PINTLE_PROVIDER_QUEUE.
	Queue string
	// Credentials returns what to sign requests to the queue with; it is asked for each. Nil means the environment
	// variables ALIBABA_CLOUD_ACCESS_KEY_ID, ALIBABA_CLOUD_ACCESS_KEY_SECRET and, if it is set,
	// ALIBABA_CLOUD_SECURITY_TOKEN.
	Credentials func(context.Context) (ROSCredentials, error)
}

// ROSCredentials are an access key of Alibaba Cloud.
type ROSCredentials struct {
	// KeyID and Secret are always set, SecurityToken only for a temporary key.
	KeyID         string
	Secret        Secret
	SecurityToken Secret
}

// defaultROSTimeout is how long a request of ROS may take at most.
const defaultROSTimeout = time.Hour

// rosFromEnvironment returns the configuration that the environment has.
func rosFromEnvironment() (ROSConfig, error) {
	c := ROSConfig{
		SignKeys:    strings.Fields(os.Getenv("PINTLE_ROS_SIGN_KEY")),
		SignHeaders: strings.Fields(os.Getenv("PINTLE_ROS_SIGN_HEADERS")),
		URL:         os.Getenv("PINTLE_ROS_URL"),
		RuntimeAPI:  os.Getenv("FC_RUNTIME_API"),
		Port:        cmp.Or(os.Getenv("FC_SERVER_PORT"), os.Getenv("FC_CUSTOM_LISTEN_PORT")),
		Queue:       os.Getenv("PINTLE_PROVIDER_QUEUE"),
	}
	for _, flag := range []struct {
		name string
		into *bool
	}{{"PINTLE_ROS_SYNC", &c.Sync}, {"PINTLE_ROS_INTRANET", &c.Intranet}, {"PINTLE_ROS_PLAIN_SECRETS", &c.PlainSecrets}} {
		text := os.Getenv(flag.name)
		if text == "" {
			continue
		}
		var err error
		if *flag.into, err = strconv.ParseBool(text); err != nil {
			return c, fmt.Errorf("%s is %.40q, want true or false", flag.name, text)
		}
	}
	if text := os.Getenv("PINTLE_ROS_TIMEOUT"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 16)
		c.Timeout = time.Duration(seconds) * time.Second
		if err != nil {
			c.Timeout, err = time.ParseDuration(text)
		}
		if err != nil || c.Timeout <= 0 {
			return c, fmt.Errorf("PINTLE_ROS_TIMEOUT is %.40q, want a time like 90s", text)
		}
	}
	return c, nil
}

// newROS checks a configuration and fills in its defaults; nil means that of the environment.
func newROS(given *ROSConfig) (ROSConfig, error) {
	var c ROSConfig
	if given != nil {
		c = *given
	} else {
		var err error
		if c, err = rosFromEnvironment(); err != nil {
			return c, err
		}
	}
	c.Timeout = cmp.Or(c.Timeout, defaultROSTimeout)
	switch {
	case c.Timeout < 0 || c.Timeout > wire.MaxROSTimeout:
		return c, fmt.Errorf("the timeout for requests of ROS is %v, want up to %v", c.Timeout, wire.MaxROSTimeout)
	case c.URL != "" && !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://"):
		return c, errors.New("the URL of this provider in service tokens of ROS must begin with http:// or https://")
	}
	if c.Queue != "" {
		if _, err := parseQueueURL(c.Queue); err != nil {
			return c, err
		}
	}
	for i, key := range c.SignKeys {
		if key == "" || len([]rune(key)) > wire.MaxROSSignKey {
			return c, fmt.Errorf("sign key %d of ROS must have 1 to %d characters", i+1, wire.MaxROSSignKey)
		}
	}
	if c.Credentials == nil {
		c.Credentials = rosCredentialsFromEnvironment
	}
	return c, nil
}

// runs reports whether there is a transport of ROS for [Run].
func (c *ROSConfig) runs() bool { return c.RuntimeAPI != "" || c.Port != "" || c.Queue != "" }

// runROS serves that transport.
func (s *Server) runROS(ctx context.Context) error {
	switch {
	case s.ros.RuntimeAPI != "":
		return s.pollFC(ctx, s.ros.RuntimeAPI)
	case s.ros.Port != "":
		return s.listenFC(ctx, s.ros.Port)
	}
	q, err := newMNSQueue(s.ros.Queue, s.ros.Credentials, s.clock)
	if err != nil {
		return err
	}
	return s.pollQueue(ctx, q)
}

func rosCredentialsFromEnvironment(context.Context) (ROSCredentials, error) {
	c := ROSCredentials{
		KeyID:         os.Getenv("ALIBABA_CLOUD_ACCESS_KEY_ID"),
		Secret:        NewSecret(os.Getenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET")),
		SecurityToken: NewSecret(os.Getenv("ALIBABA_CLOUD_SECURITY_TOKEN")),
	}
	if c.KeyID == "" || c.Secret.IsZero() {
		return c, errors.New("ALIBABA_CLOUD_ACCESS_KEY_ID or ALIBABA_CLOUD_ACCESS_KEY_SECRET is not set")
	}
	return c, nil
}

// listens is how long the service waits for the answer to a request, as far as that is known.
func (s *Server) listens(r wire.Request) time.Duration {
	if r.Dialect == wire.ROS {
		return s.ros.Timeout
	}
	return serviceTimeout(r.ResourceProperties)
}

// longest is how long a service of either kind may wait for an answer.
func (s *Server) longest() time.Duration { return max(wire.MaxServiceTimeout, s.ros.Timeout) }

// responseURL is where a request is answered, "" for nowhere but in the reply.
func (s *Server) responseURL(r wire.Request) string {
	if s.ros.Intranet {
		return cmp.Or(r.IntranetResponseURL, r.ResponseURL)
	}
	return cmp.Or(r.ResponseURL, r.IntranetResponseURL)
}

// urlSecrets returns what nobody may see of the response URLs of ROS. Their form is not published, so every value in the
// query that is long and not known otherwise counts for a signature.
func urlSecrets(r wire.Request) []string {
	if r.Dialect != wire.ROS {
		return nil // wire.Redact knows that form
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
var errSecretAttributes = errors.New("the attributes hold secrets, and ROS has no NoEcho: it would show them to everybody " +
	"who may read the stack; return the name of a place where they are kept instead, or set PINTLE_ROS_PLAIN_SECRETS=true for the " +
	"provider to have them shown")

// errSecretID is the reason of an answer to ROS whose ID would show secrets.
var errSecretID = errors.New("the physical ID holds a secret property, and ROS shows it to everyone who can read the stack; return another " +
	"ID, or set PINTLE_ROS_PLAIN_SECRETS=true for the provider to have it shown")

// holdsSecret reports whether a string in JSON holds a secret of the request, as it is or encoded.
func holdsSecret(raw json.RawMessage, hide *scrubber) bool {
	var decoded any
	if hide.empty() || json.Unmarshal(raw, &decoded) != nil {
		return false
	}
	var in func(v any) bool
	in = func(v any) bool {
		switch v := v.(type) {
		case string:
			return hide.finds(v)
		case []any:
			return slices.ContainsFunc(v, in)
		case map[string]any:
			for name, member := range v {
				if hide.finds(name) || in(member) {
					return true
				}
			}
		}
		return false
	}
	return in(decoded)
}

// idHolds reports whether an answer has a new physical ID that holds a secret of the request, as it is or encoded.
func idHolds(r wire.Request, id string, hide *scrubber) bool {
	return r.RequestType != Delete && id != string(r.PhysicalResourceID) && hide.finds(id)
}

// shown returns an answer to ROS as it may be sent.
func (s *Server) shown(a answered, w wire.Response, answer Answer, hide *scrubber) wire.Response {
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
	if _, secrets, err := clearJSON(answer.Attributes); err == nil && len(secrets) > 0 { // an error is told of when it is encoded
		secret = true
	}
	switch {
	case !secret:
	case s.ros.PlainSecrets:
		a.log.Warn("the answer holds secrets, and ROS shows them to everybody who may read the stack")
	case inID:
		return fail(w, errSecretID.Error())
	default:
		return fail(w, errSecretAttributes.Error())
	}
	return w
}
