package oss

import (
	"net"
	"net/http"
	"regexp"
	"strings"
)

// endpoint matches the hosts of OSS: with or without a bucket, public, internal or accelerated.
var endpoint = regexp.MustCompile(`^(?:([a-z0-9][a-z0-9-]{1,61}[a-z0-9])\.)?(oss(?:-[a-z0-9-]+)?|[a-z0-9-]+\.oss)\.aliyuncs\.com$`)

// region matches the region in an endpoint's host.
var region = regexp.MustCompile(`^(?:oss-)?([a-z]{2}-[a-z0-9-]+?)(?:-internal)?(?:\.oss)?$`)

// Host reports whether a Host header names an OSS endpoint of Alibaba Cloud. Clients that use this server as an
// endpoint may still send that header.
func Host(host string) bool { return endpoint.MatchString(hostname(host)) }

// regionOf returns the region in a Host header, or "".
func regionOf(host string) string {
	if match := endpoint.FindStringSubmatch(hostname(host)); match != nil {
		if match := region.FindStringSubmatch(match[2]); match != nil {
			return match[1]
		}
	}
	return ""
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, ".")) // ali-oss sends a leading dot for calls without a bucket
}

// Object returns the bucket and the key of a request. The bucket is in the host for OSS endpoints, BUCKET.localhost and
// BUCKET.oss.localhost. For all other hosts it is in the path.
func Object(r *http.Request) (bucket, key string) {
	host, path := hostname(r.Host), strings.TrimPrefix(r.URL.Path, "/")
	if match := endpoint.FindStringSubmatch(host); match != nil {
		bucket = match[1]
		// ali-oss sends this for a call without a bucket if its endpoint is an IP address.
		if path == "" && (bucket == "undefined" || bucket == "null") {
			return "", ""
		}
	} else if name, ok := strings.CutSuffix(host, ".localhost"); ok && name != "oss" {
		bucket = strings.TrimSuffix(name, ".oss")
	}
	if bucket != "" {
		return bucket, path
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

// Path returns the bucket and the key of a request as a path.
func Path(r *http.Request) string {
	bucket, key := Object(r)
	return strings.TrimSuffix("/"+bucket+"/"+key, "/")
}
