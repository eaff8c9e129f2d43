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

// store is S3: the four calls that the resources are made of.
type store struct {
	client   *awscall.Client
	endpoint string // empty for AWS's own
}

// object is where one is, and what it is called by its physical ID.
type object struct{ bucket, key string }

// ownerKey names the metadata that says whose an object is.
const ownerKey = "pintle-resource"

// maxText bounds what is read of an object, and of every other response. No template has a text that is longer.
const maxText = 2 << 20

// errNone says that there is no such object.
var errNone = errors.New("there is no such object")

// newStore sets the options that are the same for every request.
func newStore(c awscall.Config) (*store, error) {
	c.PathStyle = c.Endpoint != "" // whose host has no name for each bucket
	c.MaxResponse = maxText
	client, err := awscall.New(c)
	return &store{client, strings.TrimRight(c.Endpoint, "/")}, err
}

// parse reads what String has written. It is false for the ID of a Create that never answered, which the service or the SDK
// thinks up.
func parse(id string) (object, bool) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(id, "s3://"), "/")
	return object{bucket, key}, strings.HasPrefix(id, "s3://") && bucket != "" && key != ""
}

// String is the object's URI, by which `aws s3` knows it too.
func (o object) String() string { return "s3://" + o.bucket + "/" + o.key }

// put writes an object and returns its ETag. It takes the place of what was there, its ACL included.
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

// read returns what is in an object; errNone if there is none.
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

// owner returns whose an object is, "" if that is not written on it; errNone if there is no such object, or no such bucket.
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

// remove deletes an object. That there is none is no error.
func (s *store) remove(ctx context.Context, o object) error {
	_, err := s.client.Call(ctx, "s3", "DeleteObject", map[string]any{"Bucket": o.bucket, "Key": o.key})
	if err != nil {
		return fmt.Errorf("%v: %w", o, err)
	}
	return nil
}

// url is where a browser finds an object that is public.
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
	case strings.Contains(o.bucket, "."): // for which AWS's certificate is not good
		host, path = "s3."+region+domain, "/"+o.bucket
	case china || government: // whose buckets the name without a region does not know
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

// undecided reports whether S3 may have done what it was asked for all the same: the request went out, and no refusal came back.
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

// mayPass reports whether another try may do better: S3 was not reached, or too busy.
func mayPass(err error) bool {
	var unsent *awscall.SendError
	var failed *awscall.Error
	if errors.As(err, &failed) {
		return failed.Status >= http.StatusInternalServerError || failed.Status == http.StatusTooManyRequests
	}
	return errors.As(err, &unsent)
}

// codeOf is what S3 calls an error; "" for none, and for one that is not S3's.
func codeOf(err error) string {
	if failed, ok := errors.AsType[*awscall.Error](err); ok {
		return failed.Code
	}
	return ""
}
