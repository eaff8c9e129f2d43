package fetch

import (
	"net/url"
	"regexp"
	"strings"
)

// object names one in S3.
type object struct {
	bucket, key string
	// region is "" if the URL names none, version if it is the newest.
	region, version string
}

// bucketName is what a bucket can be called, those that were made under older rules included. No ARN is one.
var bucketName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{1,254}$`)

// sound reports whether the object can be asked for by its path: one that climbs out of its bucket would lead to whatever else a
// server has behind its S3, in our name.
func (o object) sound() bool {
	for segment := range strings.SplitSeq(o.key, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return bucketName.MatchString(o.bucket) && !strings.Contains(o.bucket, "..")
}

// s3Host is a host of S3: what stands before it is the bucket, and the groups hold the region in its two spellings.
// Source: Amazon S3, virtual hosting of buckets, and endpoints and quotas.
var s3Host = regexp.MustCompile(`^(?:(.+)\.)?s3(?:\.dualstack)?(?:[.-]([a-z]{2}(?:-[a-z]+)+-\d+))?\.amazonaws\.com(?:\.cn)?$`)

// objectOf returns the object that a URL names; false if it is none of S3. endpoint is an S3 other than AWS's own, "" for none.
func objectOf(u *url.URL, endpoint string) (object, bool) {
	version := u.Query().Get("versionId")
	if u.Scheme == "s3" {
		return object{bucket: u.Host, key: strings.TrimPrefix(u.Path, "/"), version: version}, true
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return object{}, false
	}
	if bucket, path, ok := atEndpoint(u, endpoint); ok {
		o := object{bucket: bucket, key: strings.TrimPrefix(path, "/"), version: version}
		if bucket == "" {
			o.bucket, o.key = split(path)
		}
		return o, o.bucket != ""
	}
	match := s3Host.FindStringSubmatch(strings.ToLower(u.Hostname()))
	if match == nil || u.Port() != "" {
		return object{}, false
	}
	o := object{bucket: match[1], region: match[2], key: strings.TrimPrefix(u.Path, "/"), version: version}
	if o.bucket == "" {
		o.bucket, o.key = split(u.Path)
	}
	return o, o.bucket != ""
}

// atEndpoint reports whether a URL is one of the S3 at an endpoint. It returns the bucket, if that is in the host, and the rest of
// the path.
func atEndpoint(u *url.URL, endpoint string) (bucket, path string, ok bool) {
	e, err := url.Parse(endpoint)
	if endpoint == "" || err != nil || u.Scheme != e.Scheme || u.Port() != e.Port() {
		return "", "", false
	}
	host, base := strings.ToLower(u.Hostname()), strings.ToLower(e.Hostname())
	if host != base {
		if bucket, ok = strings.CutSuffix(host, "."+base); !ok {
			return "", "", false
		}
	}
	path, ok = strings.CutPrefix(u.Path, strings.TrimSuffix(e.Path, "/"))
	return bucket, path, ok && strings.HasPrefix(path, "/")
}

// split returns the bucket at the beginning of a path, and the key behind it.
func split(path string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return bucket, key
}
