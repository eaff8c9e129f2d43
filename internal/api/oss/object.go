package oss

import (
	"net"
	"net/http"
	"regexp"
	"strings"
)

// endpoint matches the hosts of OSS: with a bucket before it or not, public, internal or accelerated.
var endpoint = regexp.MustCompile(`^(?:([a-z0-9][a-z0-9-]{1,61}[a-z0-9])\.)?(oss(?:-[a-z0-9-]+)?|[a-z0-9-]+\.oss)\.aliyuncs\.com$`)

// region matches the region in the host of an endpoint.
var region = regexp.MustCompile(`^(?:oss-)?([a-z]{2}-[a-z0-9-]+?)(?:-internal)?(?:\.oss)?$`)

// Host reports whether a Host header names an endpoint of OSS in Alibaba Cloud. Clients that are given the address of this server
// for an endpoint may send that header.
func Host(host string) bool { return endpoint.MatchString(hostname(host)) }

// regionOf returns the region that a Host header names; empty if it names none.
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
	return strings.ToLower(strings.Trim(host, ".")) // ali-oss begins it with a dot for no bucket
}

// Object returns the bucket and the key that a request names: the bucket in its host, or in its path. Hosts are those of OSS's
// endpoints, BUCKET.localhost and BUCKET.oss.localhost; all others have the bucket in the path.
func Object(r *http.Request) (bucket, key string) {
	host, path := hostname(r.Host), strings.TrimPrefix(r.URL.Path, "/")
	if match := endpoint.FindStringSubmatch(host); match != nil {
		bucket = match[1]
		// ali-oss writes this for a call without a bucket if its endpoint is an IP address.
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

// Path returns the bucket and the key that a request names, as a path.
func Path(r *http.Request) string {
	bucket, key := Object(r)
	return strings.TrimSuffix("/"+bucket+"/"+key, "/")
}
