package objects

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

// s3Host matches S3 hosts, with or without a bucket and a region.
var s3Host = regexp.MustCompile(`^(?:([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\.)?s3(?:[.-]dualstack)?(?:[.-][a-z]{2,4}(?:-[a-z]+)+-[0-9]{1,2})?\.amazonaws\.com(?:\.cn)?$`)

// ossHost matches Alibaba Cloud OSS hosts with a bucket.
var ossHost = regexp.MustCompile(`^([a-z0-9][a-z0-9-]{1,61}[a-z0-9])\.oss-[a-z0-9-]+\.aliyuncs\.com$`)

// Locate returns the bucket and the key that a URL names. The URL is s3://BUCKET/KEY, oss://BUCKET/KEY, a path-style
// or host-style S3 URL, an OSS URL, or a URL of this server. ok is false for any other URL. Locate does not check
// whether the bucket exists.
func (s *Store) Locate(rawURL string) (bucket, key string, ok bool) {
	if name, found := strings.CutPrefix(rawURL, "s3://"); found { // the key is not encoded
		bucket, key, _ = strings.Cut(name, "/")
		return bucket, key, checkBucketName(bucket) == nil && CheckKey(key) == nil
	}
	if name, found := strings.CutPrefix(rawURL, "oss://"); found { // likewise, except ?RegionId=REGION
		name, _, _ = strings.Cut(name, "?")
		bucket, key, _ = strings.Cut(name, "/")
		return bucket, key, checkBucketName(bucket) == nil && CheckKey(key) == nil
	}
	u, err := url.Parse(rawURL)
	if err != nil || u.Opaque != "" || u.User != nil {
		return "", "", false
	}
	path := strings.TrimPrefix(u.Path, "/")
	host := strings.ToLower(u.Hostname())
	switch match := s3Host.FindStringSubmatch(host); {
	case u.Scheme != "http" && u.Scheme != "https":
		return "", "", false
	case ossHost.MatchString(host) && u.Port() == "":
		bucket, key = ossHost.FindStringSubmatch(host)[1], path
	case match != nil && match[1] != "" && u.Port() == "":
		bucket, key = match[1], path
	case match != nil && u.Port() == "":
		bucket, key, _ = strings.Cut(path, "/")
	case s.config.URL != nil && portOf(u) == portOf(s.config.URL):
		if bucket, ok = s.HostBucket(host); ok {
			key = path
			break
		}
		if own := strings.ToLower(s.config.URL.Hostname()); host != own && !(isLocal(host) && isLocal(own)) {
			return "", "", false
		}
		path, under := strings.CutPrefix(u.Path, strings.TrimSuffix(s.config.URL.Path, "/")+"/")
		if !under {
			return "", "", false
		}
		bucket, key, _ = strings.Cut(path, "/")
	default:
		return "", "", false
	}
	if checkBucketName(bucket) != nil || CheckKey(key) != nil {
		return "", "", false
	}
	return bucket, key, true
}

// HostBucket returns the bucket in a host without a port, such as BUCKET.s3.localhost, BUCKET.s3.REGION.localhost or
// BUCKET.localhost. ok is false for a host without a bucket and for the server's own.
func (s *Store) HostBucket(host string) (bucket string, ok bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	name, ok := strings.CutSuffix(host, ".localhost")
	if !ok || name == "s3" || s.config.URL != nil && strings.EqualFold(host, s.config.URL.Hostname()) {
		return "", false
	}
	if before, region, found := strings.Cut(name, ".s3."); found && !strings.Contains(region, ".") {
		name = before
	} else if before, found := strings.CutSuffix(name, ".s3"); found {
		name = before
	} else if strings.HasPrefix(name, "s3.") { // s3.REGION.localhost has no bucket
		return "", false
	}
	return name, checkBucketName(name) == nil
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
