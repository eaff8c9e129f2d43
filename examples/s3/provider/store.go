package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/awscall"
)

// store is a client of S3 with the four calls that the resources need.
type store struct {
	client   *awscall.Client
	endpoint string // empty: AWS's own
}

// object is the location of an object; its text form is the physical ID.
type object struct{ bucket, key string }

// ownerKey is the metadata key that records the owner of an object.
const ownerKey = "pintle-resource"

// maxText limits the bytes that are read from an object and from any other response. No text in a template is longer.
const maxText = 2 << 20

// errNone is the error for a missing object.
var errNone = errors.New("there is no such object")

// newStore sets the options for all requests.
func newStore(c awscall.Config) (*store, error) {
	c.PathStyle = c.Endpoint != "" // a custom endpoint has no host name for each bucket
	c.MaxResponse = maxText
	client, err := awscall.New(c)
	return &store{client, strings.TrimRight(c.Endpoint, "/")}, err
}

// parse parses the result of String. It returns false for an ID that the service or the SDK made because the Create was
// never answered.
func parse(id string) (object, bool) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(id, "s3://"), "/")
	return object{bucket, key}, strings.HasPrefix(id, "s3://") && bucket != "" && key != ""
}

// String returns the object's URI, which `aws s3` also accepts.
func (o object) String() string { return "s3://" + o.bucket + "/" + o.key }

// put writes an object and returns its ETag. It replaces an existing object, including its ACL.
func (s *store) put(ctx context.Context, o object, text, owner string, public bool) (string, error) {
	params := map[string]any{
		"Bucket": o.bucket, "Key": o.key, "Body": text,
		"ContentType": "text/plain; charset=utf-8",
		"Metadata":    map[string]any{ownerKey: owner},
	}
	if public {
		params["ACL"] = "public-read"
	}
	out, err := s.client.Call(ctx, "s3", "PutObject", params)
	switch code := codeOf(err); {
	case code == "AccessControlListNotSupported":
		return "", fmt.Errorf("%v: %w; with Public the bucket must allow ACLs: set its object ownership to BucketOwnerPreferred", o, err)
	case code == "AccessDenied" && public:
		return "", fmt.Errorf("%v: %w; Public needs the permission s3:PutObjectAcl, and a bucket that does not block public ACLs", o, err)
	case err != nil:
		return "", fmt.Errorf("%v: %w", o, err)
	}
	etag, _ := out["ETag"].(string)
	return etag, nil
}

// read returns the contents of an object, or errNone if it does not exist.
func (s *store) read(ctx context.Context, o object) (string, error) {
	out, err := s.client.Call(ctx, "s3", "GetObject", map[string]any{"Bucket": o.bucket, "Key": o.key})
	switch code := codeOf(err); {
	case code == "NoSuchKey":
		return "", errNone
	case code == "AccessDenied":
		return "", fmt.Errorf("%v: %w; S3 says so too when there is no such object and s3:ListBucket is not permitted", o, err)
	case err != nil:
		return "", fmt.Errorf("%v: %w", o, err)
	}
	text, _ := out["Body"].(string)
	return text, nil
}

// owner returns the owner of an object, or "" if none is recorded. It returns errNone if the object or the bucket does
// not exist.
func (s *store) owner(ctx context.Context, o object) (string, error) {
	out, err := s.client.Call(ctx, "s3", "HeadObject", map[string]any{"Bucket": o.bucket, "Key": o.key})
	if failed, ok := errors.AsType[*awscall.Error](err); ok && failed.Status == http.StatusNotFound {
		return "", errNone
	}
	if err != nil {
		return "", fmt.Errorf("%v: %w", o, err)
	}
	metadata, _ := out["Metadata"].(map[string]any)
	for name, value := range metadata {
		if owner, ok := value.(string); ok && strings.EqualFold(name, ownerKey) {
			return owner, nil
		}
	}
	return "", nil
}

// remove deletes an object. A missing object is not an error.
func (s *store) remove(ctx context.Context, o object) error {
	_, err := s.client.Call(ctx, "s3", "DeleteObject", map[string]any{"Bucket": o.bucket, "Key": o.key})
	if err != nil {
		return fmt.Errorf("%v: %w", o, err)
	}
	return nil
}

// url returns the URL of a public object for a browser.
func (s *store) url(o object) string {
	region := s.client.Region()
	china, government := strings.HasPrefix(region, "cn-"), strings.HasPrefix(region, "us-gov-")
	domain := ".amazonaws.com"
	if china {
		domain += ".cn"
	}
	host, path := o.bucket+".s3"+domain, ""
	switch {
	case s.endpoint != "":
		host, path = "", s.endpoint+"/"+o.bucket
	case strings.Contains(o.bucket, "."): // AWS's wildcard certificate does not cover it
		host, path = "s3."+region+domain, "/"+o.bucket
	case china || government: // the host without a region does not serve their buckets
		host = o.bucket + ".s3." + region + domain
	}
	if host != "" {
		path = "https://" + host + path
	}
	var parts []string
	for part := range strings.SplitSeq(o.key, "/") {
		parts = append(parts, strings.ReplaceAll(url.QueryEscape(part), "+", "%20"))
	}
	return path + "/" + strings.Join(parts, "/")
}

// undecided reports whether S3 may have performed a failed request: the request was sent, and S3 did not refuse it.
func undecided(err error) bool {
	var unsent *awscall.SendError
	var failed *awscall.Error
	var network *net.OpError
	switch {
	case errors.As(err, &failed):
		return failed.Status >= http.StatusInternalServerError
	case errors.As(err, &network) && network.Op == "dial":
		return false
	}
	return errors.As(err, &unsent)
}

// mayPass reports whether a retry may succeed: S3 was unreachable or too busy.
func mayPass(err error) bool {
	var unsent *awscall.SendError
	var failed *awscall.Error
	if errors.As(err, &failed) {
		return failed.Status >= http.StatusInternalServerError || failed.Status == http.StatusTooManyRequests
	}
	return errors.As(err, &unsent)
}

// codeOf returns the S3 error code of an error. It returns "" for nil and for other errors.
func codeOf(err error) string {
	if failed, ok := errors.AsType[*awscall.Error](err); ok {
		return failed.Code
	}
	return ""
}
