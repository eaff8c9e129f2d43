// Package awscall calls any action of any AWS service by its name, without that service's SDK.
//
//	client, err := awscall.New(awscall.Config{Region: "eu-west-1", Credentials: credentials})
//	out, err := client.Call(ctx, "ssm", "getParameter", map[string]any{"Name": "/my/parameter"})
//	value := out["Parameter"].(map[string]any)["Value"]
//
// The services and actions, and their wire formats, come from compiled-in models. These are botocore's models, trimmed:
// about two megabytes for more than 400 services. A directory of newer models can override them ([Config.Models]).
//
// # Names
//
// A service has its name in the AWS CLI ("stepfunctions"), in the AWS SDK for JavaScript v2 ("StepFunctions") or in v3
// ("sfn", "@aws-sdk/client-sfn"). An action has its name in the API ("GetParameter"), in any case, with or without the
// suffix "Command".
//
// # Values
//
// Parameters have the names of the API's members. A structure is a map[string]any, a list []any, a map map[string]any.
// Other values are coerced to the types of the model. Numbers and booleans may be text. A time may be text in ISO 8601,
// or milliseconds since 1970. Bytes may be text, which is used as is, not as base64. Text may be a number. Nulls are left
// out.
//
// A result consists of map[string]any, []any, string, bool, int64, float64, time.Time and []byte, and nil where a list or
// map of the response contains null. A stream of bytes is a string. [Flatten] turns a result into one level.
//
// # Not supported
//
// Actions with event streams, services that accept only bearer tokens or version 2 of AWS signatures, multi-region access
// points (version 4a), and S3 Express. [Client.Call] returns an [UnsupportedError] for them.
package awscall

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/pintle-dev/pintle/awscall/internal/endpoint"
	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
	"github.com/pintle-dev/pintle/internal/base/clock"
)

// Defaults of [Config].
const (
	DefaultMaxAttempts = 3       // tries per call
	DefaultMaxResponse = 8 << 20 // bytes
)

const defaultTimeout = 2 * time.Minute // per try

// Config configures a [Client].
type Config struct {
	// Region is the region of calls, e.g. "eu-west-1". Empty is an error. For services without regions, any region of the
	// partition works.
	Region string
	// Credentials sign requests. Nil is an error; aws.AnonymousCredentials leaves requests unsigned.
	Credentials aws.CredentialsProvider
	// Endpoint is the URL for all calls, to any service and region, e.g. of a local stand-in. Empty means AWS's own. The
	// operator must set it; never take it from a template, because the client sends signed requests there.
	Endpoint string
	// Endpoints are URLs for single services, by any name that [Client.Call] accepts. They take precedence over Endpoint.
	Endpoints map[string]string
	// PathStyle puts S3 buckets into the path instead of the host. That is the default if the endpoint is an IP address
	// or localhost.
	PathStyle bool
	// FIPS and DualStack select such endpoints where they exist.
	FIPS, DualStack bool
	// MaxAttempts is the number of tries per call, at least 1. Zero means [DefaultMaxAttempts].
	MaxAttempts int
	// MaxPause is the longest pause between two tries. Zero means the default of the AWS SDK, 20 seconds.
	MaxPause time.Duration
	// MaxResponse is the largest number of uncompressed bytes of a response. Zero means [DefaultMaxResponse]. A longer
	// response is a [ResponseTooLargeError].
	MaxResponse int64
	// HTTP sends requests. Nil means a client that gives each try two minutes. Redirects are never followed, even if HTTP
	// would.
	HTTP *http.Client
	// Models is a directory of models that override the compiled-in ones, in the layout of ~/.aws/models:
	// <service>/<version>/service-2.json[.gz], next to endpoint-rule-set-1.json[.gz]. Empty means none. [New] reads it
	// once.
	Models string
	// Strict makes unknown parameters an error. By default they are left out and logged. AWS's own SDKs leave them out
	// silently.
	Strict bool

	clock clock.Clock // nil: the system clock
	// Log receives warnings, with names but never values. Nil discards them.
	Log *slog.Logger
	// UserAgent precedes the package's own text in the User-Agent header. It may be empty.
	UserAgent string
}

// Client calls AWS. It is safe for concurrent use.
type Client struct {
	config Config
	may    func(region string) error // whether a call may leave the region; nil if every call may
	shared *shared
}

// shared is the state that derived clients share.
type shared struct {
	partitions *endpoint.Partitions
	services   map[string]*service // by all names
	names      []string            // one per service, sorted
	http       *http.Client
	discovered sync.Map // endpoint by service, key and region
}

// New makes a client.
func New(config Config) (*Client, error) {
	if config.Credentials == nil {
		return nil, errors.New("awscall: no credentials: set Config.Credentials, e.g. from config.LoadDefaultConfig of the AWS SDK")
	}
	if config.MaxAttempts < 0 || config.MaxResponse < 0 || config.MaxPause < 0 {
		return nil, errors.New("awscall: MaxAttempts, MaxPause and MaxResponse must not be negative")
	}
	if config.MaxAttempts == 0 {
		config.MaxAttempts = DefaultMaxAttempts
	}
	if config.MaxResponse == 0 {
		config.MaxResponse = DefaultMaxResponse
	}
	if config.clock == nil {
		config.clock = clock.System{}
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if err := checkRegion(config.Region); err != nil {
		return nil, err
	}
	bundle, err := model.Open()
	if err != nil {
		return nil, fmt.Errorf("awscall: %w", err)
	}
	s := &shared{}
	if s.partitions, err = endpoint.ParsePartitions(bundle.Partitions()); err != nil {
		return nil, fmt.Errorf("awscall: %w", err)
	}
	sources := []model.Source{bundle}
	if config.Models != "" {
		overlay, err := model.OpenOverlay(config.Models)
		if err != nil {
			return nil, fmt.Errorf("awscall: %w", err)
		}
		sources = append(sources, overlay)
	}
	s.services, s.names = index(sources)
	endpoints := make(map[string]string, len(config.Endpoints))
	for name, text := range config.Endpoints {
		service, err := s.service(name)
		if err != nil {
			return nil, fmt.Errorf("awscall: Endpoints: %w", err)
		}
		endpoints[service.entry.Name] = text
	}
	config.Endpoints = endpoints
	if err := checkEndpoint(config.Endpoint); err != nil {
		return nil, fmt.Errorf("awscall: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(endpoints)) {
		if err := checkEndpoint(endpoints[name]); err != nil {
			return nil, fmt.Errorf("awscall: %s: %w", name, err)
		}
	}
	s.http = sender(config.HTTP)
	return &Client{config: config, shared: s}, nil
}

// WithRegion returns a client for another region that shares the models that c has loaded. Its calls fail if the region
// is invalid.
func (c *Client) WithRegion(region string) *Client {
	other := *c
	other.config.Region = region
	return &other
}

// WithCredentials returns a client with other credentials that shares the models that c has loaded.
func (c *Client) WithCredentials(credentials aws.CredentialsProvider) *Client {
	other := *c
	other.config.Credentials = credentials
	return &other
}

// WithLogger returns a client with another log that shares the models that c has loaded. Nil discards the log.
func (c *Client) WithLogger(log *slog.Logger) *Client {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	other := *c
	other.config.Log = log
	return &other
}

// WithRegionCheck returns a client that calls may before a call leaves the client's region. The new client shares the
// models that c has loaded. If may is nil, calls go to the region in a queue URL or access point ARN, or to the one that
// S3 reports for a bucket. If may returns an error, the call returns it. The client calls may on the goroutine of the
// caller, so may must be safe for concurrent use.
func (c *Client) WithRegionCheck(may func(region string) error) *Client {
	other := *c
	other.may = may
	return &other
}

// Region returns the region of the client's calls.
func (c *Client) Region() string { return c.config.Region }

// checkRegion rejects a region that is not a single label of a host name, because signed requests go to that host.
func checkRegion(region string) error {
	if region == "" {
		return errors.New("awscall: no region: set one, e.g. us-east-1")
	}
	if !isRegion(region) {
		return errors.New("awscall: a region has letters, digits and hyphens only, like eu-west-1")
	}
	return nil
}

func isRegion(region string) bool {
	return region != "" && len(region) <= 63 && !strings.HasPrefix(region, "-") && !strings.HasSuffix(region, "-") &&
		!strings.ContainsFunc(region, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-')
		})
}

func checkEndpoint(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return errors.New("an endpoint is a URL such as http://127.0.0.1:4566, without a query or a user")
	}
	return nil
}

// sender derives the sending client from the given one. It follows no redirects, because a signature is valid for one
// address only, and stores no cookies.
func sender(given *http.Client) *http.Client {
	c := http.Client{Timeout: defaultTimeout}
	if given != nil {
		c = *given
	}
	c.Jar = nil
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}
