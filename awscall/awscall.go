// Package awscall calls any action of any AWS service by its name, without that service's SDK.
//
//	client, err := awscall.New(awscall.Config{Region: "eu-west-1", Credentials: credentials})
//	out, err := client.Call(ctx, "ssm", "getParameter", map[string]any{"Name": "/my/parameter"})
//	value := out["Parameter"].(map[string]any)["Value"]
//
// What services and actions there are, and how they are written on the wire, comes from models that are compiled in:
// those of botocore, trimmed, about two megabytes for more than 400 services. A directory of newer ones can be laid over them
// ([Config.Models]).
//
// # Names
//
// A service is named as in the AWS CLI ("stepfunctions"), in the AWS SDK for JavaScript v2 ("StepFunctions") or v3 ("sfn",
// "@aws-sdk/client-sfn"). An action is named as in the API ("GetParameter"), in whatever case, with or without "Command" after it.
//
// # Values
//
// Parameters have the names of the API's members. A structure is a map[string]any, a list []any, a map map[string]any. Other
// values are coerced to what the model says: numbers and booleans may be text, a time may be text in ISO 8601 or milliseconds since
// 1970, bytes may be text (taken as it is, not as base64), and text may be a number. Nulls are left out.
//
// A result has map[string]any, []any, string, bool, int64, float64, time.Time and []byte, and nil where a list or map of the response has
// null; a stream of bytes is a string. [Flatten] makes one level of it.
//
// # Not supported
//
// Actions with event streams, services that take only bearer tokens or the second version of AWS signatures, multi-region access points
// (version 4a), and S3 Express. They are refused with an [UnsupportedError] that says so.
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
	DefaultMaxAttempts = 3       // tries of one call
	DefaultMaxResponse = 8 << 20 // bytes
)

const defaultTimeout = 2 * time.Minute // of one try

// Config says how a [Client] calls.
type Config struct {
	// Region is where calls go, e.g. "eu-west-1". Empty is an error; services without regions take any of their partition.
	Region string
	// Credentials sign requests. Nil is an error; aws.AnonymousCredentials leaves requests unsigned.
	Credentials aws.CredentialsProvider
	// Endpoint is the URL that every call goes to, whatever the service and region, e.g. of a local stand-in. Empty
	// means AWS's own. The operator must set it; never take it from a template, because the client sends signed
	// requests there.
	Endpoint string
	// Endpoints are such URLs by the name of a service, in any form that [Client.Call] takes. They go before Endpoint.
	Endpoints map[string]string
	// PathStyle puts S3 buckets into the path instead of the host. It is so anyway where the endpoint is an address or localhost.
	PathStyle bool
	// FIPS and DualStack choose such endpoints where there are any.
	FIPS, DualStack bool
	// MaxAttempts is how often a call is tried, at least 1. Zero means [DefaultMaxAttempts].
	MaxAttempts int
	// MaxPause is the longest pause between two tries. Zero means that of the AWS SDK, 20 seconds.
	MaxPause time.Duration
	// MaxResponse is the most bytes of a response that are read, unpacked. Zero means [DefaultMaxResponse]. Longer ones are a
	// [ResponseTooLargeError].
	MaxResponse int64
	// HTTP sends requests. Nil means a client of the package's own, which gives each try two minutes. Redirects are never followed, whatever it says.
	HTTP *http.Client
	// Models is a directory of models laid over those compiled in, in the layout of ~/.aws/models:
	// <service>/<version>/service-2.json[.gz], and endpoint-rule-set-1.json[.gz] beside it. Empty means none. It is read once, by [New].
	Models string
	// Strict makes a parameter that the action does not have an error. By default it is left out and logged, as AWS's own SDKs do
	// without the log.
	Strict bool

	clock clock.Clock // nil: the system's
	// Log gets warnings: names, never values. Nil discards them.
	Log *slog.Logger
	// UserAgent is put before the package's own in the User-Agent header. It may be empty.
	UserAgent string
}

// Client calls AWS. It may be used by many goroutines at once.
type Client struct {
	config Config
	may    func(region string) error // whether a call may leave the region; nil if any may
	shared *shared
}

// shared is what all clients made from one have in common.
type shared struct {
	partitions *endpoint.Partitions
	services   map[string]*service // by every name
	names      []string            // one of each service, sorted
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

// WithRegion returns a client for another region, which shares what this one has read. Its calls fail if the region is none.
func (c *Client) WithRegion(region string) *Client {
	other := *c
	other.config.Region = region
	return &other
}

// WithCredentials returns a client with other credentials, which shares what this one has read.
func (c *Client) WithCredentials(credentials aws.CredentialsProvider) *Client {
	other := *c
	other.config.Credentials = credentials
	return &other
}

// WithLogger returns a client with another log, which shares what this one has read. Nil discards it.
func (c *Client) WithLogger(log *slog.Logger) *Client {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	other := *c
	other.config.Log = log
	return &other
}

// WithRegionCheck returns a client that calls may before a call leaves the client's region. The new client shares the
// models that c has loaded. If may is nil, calls go to the region in a queue URL or access point ARN, or to the one
// that S3 reports for a bucket. If may returns an error, the call returns it. The client calls may on the goroutine
// of the caller, so may must be safe for concurrent use.
func (c *Client) WithRegionCheck(may func(region string) error) *Client {
	other := *c
	other.may = may
	return &other
}

// Region returns the region that calls go to.
func (c *Client) Region() string { return c.config.Region }

// checkRegion refuses what would not be one label of a host name: requests signed with credentials go there.
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

// sender makes the client that sends from the one that was given: without redirects, as a signature is for one address, and
// without cookies.
func sender(given *http.Client) *http.Client {
	c := http.Client{Timeout: defaultTimeout}
	if given != nil {
		c = *given
	}
	c.Jar = nil
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}
