package aliyun_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/wire"
)

// TestBucketIsNotEmpty checks that a bucket with objects is deleted only with DeletionForce, and then with all of
// them.
func TestBucketIsNotEmpty(t *testing.T) {
	w := newWorld(t)
	const bucket, plain = "ALIYUN::OSS::Bucket", `"BucketName": "full"`
	w.make("B", bucket, plain)
	for i := range 1001 {
		_, err := w.objects.Put(w.ctx, "full", fmt.Sprint("key", i), bytes.NewReader(nil), objects.Options{})
		w.must(err)
	}
	w.fails(w.request(wire.Delete, "B", bucket, plain, "", "full"), "BucketNotEmpty: The bucket you tried to delete is not empty.")
	w.serve(w.request(wire.Delete, "B", bucket, plain+`, "DeletionForce": true`, "", "full"))
	if _, err := w.objects.Bucket(w.ctx, "full"); err == nil {
		t.Error("the bucket is still there")
	}
	w.fails(w.request(wire.Create, "B", bucket, plain+`, "AccessControl": "everyone"`, "", ""), "be one of private, public-read, public-read-write")
}

// TestCodeInOSS checks that a function can have code from an object in a bucket of its account.
func TestCodeInOSS(t *testing.T) {
	w := newWorld(t)
	w.prepare()
	code, err := base64.StdEncoding.DecodeString(archive(t, "index.py", "def handler(event, context): pass"))
	w.must(err)
	w.put("assets", "code.zip", home, code)
	w.make("F", "ALIYUN::FC::Function", `"ServiceName": "s", "FunctionName": "f", "Handler": "index.handler", "Runtime": "python3",
		"Code": {"OssBucketName": "assets", "OssObjectName": "code.zip"}`)
	f, err := w.catalog.Functions.Get(w.ctx, home, "services/s/functions/f")
	w.must(err)
	if int(f.Of.CodeSize) != len(code) {
		t.Errorf("the code has %d bytes, want %d", f.Of.CodeSize, len(code))
	}
}
