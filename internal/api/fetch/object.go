package fetch

import (
	"net/url"
	"regexp"
	"strings"
)

// object names an S3 object.
type object struct {
	bucket, key string
	// region and version are "" if the URL does not contain them.
	region, version string
}

// bucketName matches bucket names, including those under older rules. It matches no ARN.
var bucketName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{1,254}$`)

// sound reports whether the object's path is safe to request. A path with ".." could reach other resources behind an S3
// server, with this server's credentials.
func (o object) sound() bool {
	for segment := range strings.SplitSeq(o.key, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return bucketName.MatchString(o.bucket) && !strings.Contains(o.bucket, "..")
}

// s3Host matches the hosts of S3. The first group is the bucket, and the others are the two forms of the region.
// Source: Amazon S3, virtual hosting of buckets, and endpoints and quotas.
var s3Host = regexp.MustCompile(`^(?:(.+)\.)?s3(?:\.dualstack)?(?:[.-]([a-z]{2}(?:-[a-z]+)+-\d+))?\.amazonaws\.com(?:\.cn)?$`)

// objectOf returns the S3 object that a URL names, or false. endpoint is a custom S3 endpoint, or "".
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

// atEndpoint reports whether a URL belongs to the S3 at an endpoint. It returns the bucket, if the host contains it,
// and the rest of the path.
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

// split returns the bucket at the beginning of a path, and the key after it.
func split(path string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return bucket, key
}
