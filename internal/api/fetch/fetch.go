// Package fetch reads templates by URL and snippets by location, from S3 and from web servers. The APIs call it before
// they make a decision. The fetched text is stored with the decision.
//
// # URLs
//
//	https://BUCKET.s3.REGION.amazonaws.com/KEY    and the other forms of S3 hosts
//	https://s3.REGION.amazonaws.com/BUCKET/KEY
//	s3://BUCKET/KEY
//	ENDPOINT/BUCKET/KEY                           on the S3 endpoint of the AWS SDK's configuration
//	http(s)://HOST/PATH                           on any other server
//
// Local buckets ([Config.Objects]) take precedence over any URL. Otherwise the package calls S3 with the AWS SDK's own
// configuration: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, profiles. Without credentials, the call is not signed and reads
// only public objects. Requests to other servers use no proxy and follow no redirects. They reach private networks only
// if [Config.AllowPrivate] is set. AWS reads templates only from S3, and so does this package if it is configured to
// behave like AWS.
package fetch

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/guard"
)

// Limits of a fetch.
const (
	// MaxBytes is the maximum size of a text. Source: CloudFormation, quotas, template passed by URL.
	MaxBytes = 1_000_000
	// DefaultTimeout is the default of Config.Timeout.
	DefaultTimeout = 20 * time.Second
)

// Config configures a [Fetcher].
type Config struct {
	// Region is the S3 region for URLs without one. Empty means us-east-1.
	Region string
	// AllowPrivate allows URLs to point into private networks, including this machine.
	AllowPrivate bool
	// S3Only rejects URLs outside S3, as CloudFormation does.
	S3Only bool
	// Timeout limits the time to fetch one text. Zero means [DefaultTimeout].
	Timeout time.Duration
	// S3 reads objects. Nil means the S3 of the AWS SDK's configuration, which is loaded on the first use.
	S3 S3
	// Allowed returns an error if the caller in the context may not use S3 with the server's credentials. Nil allows
	// every caller.
	Allowed func(ctx context.Context) error
	// Objects opens objects in local buckets. It is called first. Nil means no local buckets.
	Objects Objects
}

// Objects opens the object that a URL names. known is false if the URL names no local bucket; the body is then nil. The
// error for a missing object in a local bucket is [fs.ErrNotExist].
type Objects func(ctx context.Context, rawURL string) (body io.ReadCloser, known bool, err error)

// S3 reads objects.
type S3 interface {
	// Object returns an object of up to [MaxBytes]. An empty version means the newest. Errors are of type [Error].
	Object(ctx context.Context, region, bucket, key, version string) (string, error)
	// Endpoint returns the URL of a custom S3 endpoint, or "" for AWS's own.
	Endpoint() string
}

// Error is the reason why a text could not be fetched. Its message is for the client.
type Error struct {
	// Problem is the kind of error.
	Problem Problem
	// Bucket and Key are the object's location in S3. They are empty for other URLs.
	Bucket, Key string
	// Text is the message of S3, the server or the connection in words.
	Text string
}

// Problem is the kind of an [Error]. The set is closed.
type Problem int

// The problems.
const (
	// Unsupported means that the URL is not supported.
	Unsupported Problem = iota + 1
	// NoBucket and NoKey mean that the bucket or the object does not exist.
	NoBucket
	NoKey
	// TooLong means that the text has more than [MaxBytes].
	TooLong
	// Failed means that S3 or the server returned an error, or could not be reached.
	Failed
)

// Error returns Text.
func (e *Error) Error() string { return e.Text }

// Fetcher fetches texts. Make one with [New]. It is safe for concurrent use.
type Fetcher struct {
	config Config
	s3     S3
	web    *http.Client
}

// New returns a fetcher. It makes no connections.
func New(config Config) *Fetcher {
	config.Region = cmp.Or(config.Region, "us-east-1")
	config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
	if config.Allowed == nil {
		config.Allowed = func(context.Context) error { return nil }
	}
	f := &Fetcher{config: config, s3: config.S3}
	if f.s3 == nil {
		f.s3 = &aws{region: config.Region}
	}
	transport := guard.Transport(config.AllowPrivate)
	transport.ForceAttemptHTTP2 = true
	transport.DisableKeepAlives = true // texts are fetched rarely
	f.web = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return f
}

// Template returns the template at a URL, or in a URL of [Seal]. The error is an [Error], with CloudFormation's message where one is
// known.
func (f *Fetcher) Template(ctx context.Context, address string) (string, error) {
	if Sealed(address) {
		text, err := Open(address)
		if err != nil {
			return "", &Error{Problem: Unsupported, Text: err.Error()}
		}
		return text, nil
	}
	text, err := f.get(ctx, address)
	problem, ok := errors.AsType[*Error](err)
	if !ok {
		return text, err
	}
	failure := *problem
	switch failure.Problem {
	case Unsupported:
	case NoBucket, NoKey, Failed:
		if failure.Bucket != "" {
			failure.Text = "S3 error: " + failure.Text + "\nFor more information check http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"
		} else {
			failure.Text = "TemplateURL: " + failure.Text
		}
	case TooLong:
		failure.Text = templateTooLong
	}
	return "", &failure
}

// Snippet returns the snippet at the Location of an AWS::Include transform. The error is an [Error], with
// CloudFormation's message where one is known, but without the prefix of transform errors.
func (f *Fetcher) Snippet(ctx context.Context, location string) (string, error) {
	const noLocation = "The location parameter is not a valid S3 uri."
	if encoded, ok := strings.CutPrefix(location, inline); ok {
		text, err := base64.StdEncoding.DecodeString(encoded)
		switch {
		case err != nil:
			return "", &Error{Problem: Unsupported, Text: noLocation}
		case len(text) > MaxBytes:
			return "", &Error{Problem: TooLong, Text: snippetTooLong}
		}
		return string(text), nil
	}
	text, err := f.get(ctx, location)
	problem, ok := errors.AsType[*Error](err)
	if !ok {
		return text, err
	}
	failure := *problem
	switch failure.Problem {
	case Unsupported:
		failure.Text = noLocation
	case NoBucket:
		failure.Text = "S3 bucket [" + failure.Bucket + "] does not exist."
	case NoKey:
		failure.Text = "S3 object [" + failure.Key + "] in bucket [" + failure.Bucket + "] does not exist."
	case TooLong:
		failure.Text = snippetTooLong
	case Failed:
	}
	return "", &failure
}

// inline is the prefix of a location that contains the snippet itself.
const inline = "data:application/octet-stream;base64,"

// Inline returns a location that contains a snippet. It is for callers whose snippets are not in S3.
func Inline(snippet []byte) string { return inline + base64.StdEncoding.EncodeToString(snippet) }

var snippetTooLong = fmt.Sprintf("the snippet is longer than %d bytes.", MaxBytes)

// get returns the text at an address. The error is an [Error].
func (f *Fetcher) get(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, f.config.Timeout)
	defer cancel()
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return "", unsupported()
	}
	if u.Scheme == "oss" {
		return f.fromOSS(ctx, address, u.Host)
	}
	object, ok := objectOf(u, f.s3.Endpoint())
	if ok && !object.sound() {
		return "", unsupported()
	}
	if text, known, err := f.here(ctx, u, object); known {
		return text, err
	}
	switch {
	case ok && object.key == "":
		return "", &Error{Problem: NoKey, Bucket: object.bucket, Text: "The specified key does not exist."}
	case ok:
		if err := f.config.Allowed(ctx); err != nil {
			return "", &Error{Problem: Failed, Bucket: object.bucket, Key: object.key, Text: err.Error()}
		}
		return f.s3.Object(ctx, cmp.Or(object.region, f.config.Region), object.bucket, object.key, object.version)
	case u.Scheme != "http" && u.Scheme != "https":
		return "", unsupported()
	case f.config.S3Only:
		bucket, _ := split(u.Path)
		return "", &Error{
			Problem: Unsupported, Text: "S3 error: Domain name specified in " + cmp.Or(bucket, u.Hostname()) + " is not a valid S3 domain",
		}
	}
	return f.page(ctx, u)
}

// fromOSS returns an object of Alibaba Cloud's OSS, named oss://BUCKET/KEY. It reads only local buckets.
func (f *Fetcher) fromOSS(ctx context.Context, address, bucket string) (string, error) {
	missing := &Error{Problem: NoBucket, Text: "there is no OSS bucket " + bucket + " of the caller on this server, and no other OSS is read"}
	if f.config.Objects == nil {
		return "", missing
	}
	body, known, err := f.config.Objects(ctx, address)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &Error{Problem: NoKey, Text: "there is no object " + address}
	case err != nil:
		return "", &Error{Problem: Failed, Text: err.Error()}
	case !known:
		return "", missing
	}
	defer func() { _ = body.Close() }() // it was only read
	text, bad := textOf(body)
	if bad != nil {
		return "", bad
	}
	return text, nil
}

// textOf reads the whole text. The error is nil or an [Error] without a location.
func textOf(body io.Reader) (string, *Error) {
	all, err := io.ReadAll(io.LimitReader(body, MaxBytes+1))
	switch {
	case err != nil:
		return "", &Error{Problem: Failed, Text: err.Error()}
	case len(all) > MaxBytes:
		return "", &Error{Problem: TooLong, Text: "too long"}
	}
	return string(all), nil
}

// here returns the text of a local object. known is false if the object is not local. The error is an [Error].
func (f *Fetcher) here(ctx context.Context, u *url.URL, named object) (text string, known bool, err error) {
	if f.config.Objects == nil {
		return "", false, nil
	}
	if named == (object{}) { // the URL points to this server
		named.bucket, named.key = split(u.Path)
	}
	problem := func(p Problem, text string) error {
		return &Error{Problem: p, Bucket: named.bucket, Key: named.key, Text: text}
	}
	body, known, err := f.config.Objects(ctx, u.String())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", true, problem(NoKey, "The specified key does not exist.")
	case err != nil:
		return "", true, problem(Failed, err.Error())
	case !known:
		return "", false, nil
	}
	defer func() { _ = body.Close() }() // it was only read
	text, bad := textOf(body)
	if bad != nil {
		return "", true, problem(bad.Problem, bad.Text)
	}
	return text, true, nil
}

func unsupported() *Error {
	return &Error{Problem: Unsupported, Text: "TemplateURL must be a supported URL."}
}

// page returns the content of a web server's URL.
func (f *Fetcher) page(ctx context.Context, u *url.URL) (string, error) {
	failed := func(why string) error {
		return &Error{Problem: Failed, Text: "GET " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String() + ": " + why}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", unsupported()
	}
	request.Header.Set("User-Agent", "pintle")
	response, err := f.web.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL, whose query may contain a key
		}
		return "", failed(err.Error())
	}
	defer response.Body.Close()
	switch status := response.StatusCode; {
	case status >= 300 && status <= 399:
		return "", failed(fmt.Sprintf("%d %s, and redirects are not followed: use the target URL", status, http.StatusText(status)))
	case status != http.StatusOK:
		return "", failed(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	}
	text, bad := textOf(response.Body)
	switch {
	case bad == nil:
		return text, nil
	case bad.Problem == Failed:
		return "", failed(bad.Text)
	}
	return "", bad
}
