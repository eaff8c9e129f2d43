package fetch

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObjectOf(t *testing.T) {
	const endpoint = "http://127.0.0.1:9000"
	tests := []struct {
		url, endpoint string
		want          object
		ok            bool
	}{
		{"https://bucket.s3.amazonaws.com/a/b.yaml", "", object{bucket: "bucket", key: "a/b.yaml"}, true},
		{"https://my.dotted.bucket.s3.eu-west-1.amazonaws.com/k", "", object{bucket: "my.dotted.bucket", key: "k", region: "eu-west-1"}, true},
		{"https://bucket.s3-eu-west-1.amazonaws.com/k", "", object{bucket: "bucket", key: "k", region: "eu-west-1"}, true},
		{"https://bucket.s3.dualstack.us-gov-west-1.amazonaws.com/k", "", object{bucket: "bucket", key: "k", region: "us-gov-west-1"}, true},
		{"https://bucket.s3.cn-north-1.amazonaws.com.cn/k", "", object{bucket: "bucket", key: "k", region: "cn-north-1"}, true},
		{"https://s3.amazonaws.com/bucket/a/b?versionId=v1", "", object{bucket: "bucket", key: "a/b", version: "v1"}, true},
		{"https://s3.ap-south-1.amazonaws.com/bucket/k%20l", "", object{bucket: "bucket", key: "k l", region: "ap-south-1"}, true},
		{"https://S3-AP-SOUTH-1.amazonaws.com/bucket/k", "", object{bucket: "bucket", key: "k", region: "ap-south-1"}, true},
		{"s3://bucket/a/b", "", object{bucket: "bucket", key: "a/b"}, true},
		{"s3://bucket", "", object{bucket: "bucket"}, true},
		{"https://s3.amazonaws.com/", "", object{}, false},
		{"https://s3.amazonaws.com.evil.example/bucket/k", "", object{}, false},
		{"https://nots3.amazonaws.com/bucket/k", "", object{}, false},
		{"https://bucket.s3-website-us-east-1.amazonaws.com/k", "", object{}, false},
		{"https://bucket.s3.amazonaws.com:8443/k", "", object{}, false},
		{"ftp://bucket.s3.amazonaws.com/k", "", object{}, false},
		{"http://127.0.0.1:9000/bucket/k", endpoint, object{bucket: "bucket", key: "k"}, true},
		{"http://127.0.0.1:9001/bucket/k", endpoint, object{}, false},
		{"https://127.0.0.1:9000/bucket/k", endpoint, object{}, false},
		{"http://127.0.0.1:9000/", endpoint, object{}, false},
		{"http://bucket.localhost:9000/k", "http://localhost:9000/", object{bucket: "bucket", key: "k"}, true},
		{"http://store/s3/bucket/k", "http://store/s3", object{bucket: "bucket", key: "k"}, true},
		{"http://store/s3more/bucket/k", "http://store/s3", object{}, false},
		{"http://example.com/t.yaml", "", object{}, false},
	}
	for _, test := range tests {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := objectOf(u, test.endpoint)
		if ok != test.ok {
			t.Errorf("%s: got %t", test.url, ok)
			continue
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(object{})); ok && diff != "" {
			t.Errorf("%s: %s", test.url, diff)
		}
	}
}
