package statemachine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/awssign"
)

// service is an AWS service with a JSON protocol.
type service struct {
	name     string // in signatures and in the host name
	target   string // before the name of a call
	version  string // of the JSON protocol
	endpoint string // the environment variable for a custom URL
}

var (
	serviceStates  = service{"states", "AWSStepFunctions", "1.0", "AWS_ENDPOINT_URL_SFN"}
	serviceSecrets = service{"secretsmanager", "secretsmanager", "1.1", "AWS_ENDPOINT_URL_SECRETS_MANAGER"}
	serviceSSM     = service{"ssm", "AmazonSSM", "1.1", "AWS_ENDPOINT_URL_SSM"}
)

const (
	tries       = 4
	callTimeout = 10 * time.Second // per try
	maxReply    = 1 << 20
)

// caller calls one service.
type caller struct {
	service
	client      *http.Client
	credentials func(context.Context) (Credentials, error)
	region      string
	url         string
}

func newCaller(client *http.Client, credentials func(context.Context) (Credentials, error), s service, region, endpoint string) (caller, error) {
	for _, name := range []string{s.endpoint, "AWS_ENDPOINT_URL"} {
		if endpoint == "" {
			endpoint = os.Getenv(name)
		}
	}
	if endpoint == "" {
		suffix := ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			suffix += ".cn"
		}
		endpoint = "https://" + s.name + "." + region + suffix
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
		return caller{}, fmt.Errorf("the endpoint of %s must be http(s)://HOST[:PORT]", s.name)
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the signature is invalid for another address
	return caller{s, &own, credentials, region, u.Scheme + "://" + u.Host + "/"}, nil
}

// apiError is an error response of a service. Its message may quote the call, so it is shown only for calls without
// secrets.
type apiError struct {
	call   string
	status int
	kind   string
}

func (e *apiError) Error() string { return fmt.Sprintf("%s: %d %s", e.call, e.status, e.kind) }

// call makes a call and decodes the result into out, unless out is nil. It retries connection errors, throttling and 5xx.
func (c caller) call(ctx context.Context, name string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for try := 1; ; try++ {
		again, err := c.once(ctx, name, body, out)
		if err == nil || !again || try == tries {
			return err
		}
		timer := time.NewTimer(rand.N(100 * time.Millisecond << try))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func (c caller) once(ctx context.Context, name string, body []byte, out any) (again bool, err error) {
	credentials, err := c.credentials(ctx)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-"+c.version)
	r.Header.Set("X-Amz-Target", c.target+"."+name)
	awssign.Key{ID: credentials.ID, Secret: credentials.Secret, Session: credentials.Token}.Sign(r, body, c.region, c.name, time.Now())
	response, err := c.client.Do(r)
	if err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	if response.StatusCode != http.StatusOK {
		e := &apiError{name, response.StatusCode, errorKind(text)}
		return response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests || strings.Contains(e.kind, "Throttl"), e
	}
	if out != nil && json.Unmarshal(text, out) != nil {
		return false, fmt.Errorf("%s: the reply is not what it should be", name)
	}
	return false, nil
}

// errorKind returns the name of an error without the name of its model.
func errorKind(text []byte) string {
	var e struct {
		Type string `json:"__type"`
	}
	if json.Unmarshal(text, &e) != nil || e.Type == "" {
		return "without a name"
	}
	kind := e.Type[strings.LastIndex(e.Type, "#")+1:]
	if len(kind) > 100 || strings.ContainsFunc(kind, func(r rune) bool { return r < '.' || r > 'z' }) {
		return "without a proper name"
	}
	return kind
}

func environmentCredentials(context.Context) (Credentials, error) {
	c := Credentials{os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")}
	if c.ID == "" || c.Secret == "" {
		return Credentials{}, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
	}
	return c, nil
}
