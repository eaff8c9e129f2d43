package bucketdeployment

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
)

type m = map[string]any

// bucket is an in-memory S3 with one bucket, and a CloudFront.
type bucket struct {
	mu      sync.Mutex
	objects map[string]string
	put     map[string]m // parameters of uploads, without the body
	tags    []any
	parts   map[int64]string
	calls   []string
	largest int // bytes of one body
	front   error
}

func (b *bucket) Call(_ context.Context, service, action string, p map[string]any) (map[string]any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, action)
	key := text(p["Key"])
	body, _ := p["Body"].([]byte)
	b.largest = max(b.largest, len(body))
	switch action {
	case "HeadObject":
		data, ok := b.objects[key]
		if !ok {
			return nil, &awscall.Error{Service: service, Action: action, Code: "NotFound", Status: 404}
		}
		return m{"ContentLength": int64(len(data)), "ETag": "e"}, nil
	case "GetObject":
		var first, last int
		if _, err := fmt.Sscanf(text(p["Range"]), "bytes=%d-%d", &first, &last); err != nil {
			return nil, err
		}
		return m{"Body": b.objects[key][first : last+1]}, nil
	case "PutObject", "CreateMultipartUpload":
		b.objects[key] = string(body)
		b.put[key] = maps.Clone(p)
		delete(b.put[key], "Body")
		return m{"UploadId": "u"}, nil
	case "UploadPart":
		b.objects[key] += string(body)
		return m{"ETag": "p"}, nil
	case "ListObjectsV2":
		var contents []any
		next := ""
		for _, k := range slices.Sorted(maps.Keys(b.objects)) {
			if !strings.HasPrefix(k, text(p["Prefix"])) || k <= text(p["ContinuationToken"]) {
				continue
			}
			if len(contents) == 2 {
				next = text(contents[1].(m)["Key"])
				break
			}
			contents = append(contents, m{"Key": k, "Size": int64(len(b.objects[k]))})
		}
		return m{"Contents": contents, "NextContinuationToken": next}, nil
	case "DeleteObjects":
		for _, o := range p["Delete"].(m)["Objects"].([]any) {
			delete(b.objects, text(o.(m)["Key"]))
		}
	case "GetBucketTagging":
		return m{"TagSet": b.tags}, nil
	case "CreateInvalidation":
		return m{"Invalidation": m{"Id": "I"}}, b.front
	case "GetInvalidation":
		return m{"Invalidation": m{"Status": "Completed"}}, nil
	}
	return m{}, nil
}

func zipped(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = io.WriteString(f, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func newBucket(objects map[string]string) *bucket {
	return &bucket{objects: objects, put: map[string]m{}, parts: map[int64]string{}}
}

func (b *bucket) handle(t *testing.T, kind pintle.RequestType, properties, old m) (pintle.Answer, error) {
	t.Helper()
	all := m{"SourceBucketNames": []any{"b"}, "SourceObjectKeys": []any{"_/a.zip"}, "DestinationBucketName": "b", "DestinationBucketKeyPrefix": "to"}
	maps.Copy(all, properties)
	r := &pintle.Request{Type: kind, StackID: "s", LogicalID: "l", RequestID: "r"}
	if kind != pintle.Create {
		r.ID = "kept"
	}
	var err error
	if r.RawProperties, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	if old != nil {
		if r.RawOldProperties, err = json.Marshal(old); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	answer, err := Handler{AWS: b, TempDir: dir}.Handle(t.Context(), r)
	if left, problem := os.ReadDir(dir); problem != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v %v", left, problem)
	}
	return answer, err
}

func (b *bucket) keys() string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(b.objects)) {
		if !strings.HasPrefix(k, "_/") {
			list = append(list, k)
		}
	}
	return strings.Join(list, " ")
}

func TestDeploy(t *testing.T) {
	archive := zipped(t, "index.html", "page", "dir/", "", "dir/a.json", `{"v":<<m>>}`, "note.tmp", "n", "../../up.txt", "up")
	for name, test := range map[string]struct {
		kind       pintle.RequestType
		properties m
		old        m
		tags       []any
		want       string // keys
		reason     string // of a failure
	}{
		"create":           {pintle.Create, nil, nil, nil, "other to/dir/a.json to/index.html to/note.tmp to/up.txt", ""},
		"without pruning":  {pintle.Create, m{"Prune": "false"}, nil, nil, "other to/dir/a.json to/index.html to/note.tmp to/old to/up.txt", ""},
		"excluded":         {pintle.Create, m{"Exclude": []any{"*"}, "Include": []any{"*.html"}}, nil, nil, "other to/index.html to/old", ""},
		"nested exclusion": {pintle.Create, m{"Exclude": []any{"*.json", "[a-n]ote.?mp"}}, nil, nil, "other to/index.html to/up.txt", ""},
		"not extracted":    {pintle.Create, m{"Extract": "false"}, nil, nil, "other to/a.zip", ""},
		"root": {pintle.Update, m{"DestinationBucketKeyPrefix": "/", "Exclude": []any{"_/*"}}, nil, nil,
			"dir/a.json index.html note.tmp up.txt", ""},
		"moved": {pintle.Update, m{"DestinationBucketKeyPrefix": "new/", "RetainOnDelete": "false"},
			m{"DestinationBucketName": "b", "DestinationBucketKeyPrefix": "to"}, nil,
			"new/dir/a.json new/index.html new/note.tmp new/up.txt other", ""},
		"moved and retained": {pintle.Update, m{"DestinationBucketKeyPrefix": "new"},
			m{"DestinationBucketName": "b", "DestinationBucketKeyPrefix": "to"}, nil,
			"new/dir/a.json new/index.html new/note.tmp new/up.txt other to/old", ""},
		"delete retained": {pintle.Delete, nil, nil, nil, "other to/old", ""},
		"delete":          {pintle.Delete, m{"RetainOnDelete": "false"}, nil, nil, "other", ""},
		"delete owned":    {pintle.Delete, m{"RetainOnDelete": "false"}, nil, []any{m{"Key": "aws-cdk:cr-owned:to:1234", "Value": "true"}}, "other to/old", ""},
		"delete with another's tag": {pintle.Delete, m{"RetainOnDelete": "false"}, nil,
			[]any{m{"Key": "aws-cdk:cr-owned:elsewhere:1", "Value": "true"}}, "other", ""},
		"missing source":   {pintle.Create, m{"SourceObjectKeys": []any{"_/no.zip"}}, nil, nil, "other to/old", "download of s3://b/_/no.zip"},
		"no zip file":      {pintle.Create, m{"SourceObjectKeys": []any{"other"}}, nil, nil, "other to/old", "s3://b/other: the source is not a zip file"},
		"too many markers": {pintle.Create, m{"SourceMarkers": []any{m{}, m{}}}, nil, nil, "other to/old", "Can never have more SourceMarkers (2) than SourceObjectKeys (1)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(map[string]string{"_/a.zip": archive, "other": "o", "to/old": "x"})
			b.tags = test.tags
			for range 2 { // a repeated request changes nothing
				answer, err := b.handle(t, test.kind, test.properties, test.old)
				if (err == nil) != (test.reason == "") || err != nil && !strings.Contains(err.Error(), test.reason) {
					t.Fatalf("error %v, want %q", err, test.reason)
				}
				if got := b.keys(); got != test.want {
					t.Errorf("the bucket has %s, want %s", got, test.want)
				}
				id := string(answer.ID)
				if test.kind == pintle.Create && !strings.HasPrefix(id, "aws.cdk.s3deployment.") || test.kind != pintle.Create && id != "kept" {
					t.Errorf("physical ID %s", id)
				}
			}
		})
	}
}

func TestMissingProperty(t *testing.T) {
	_, err := Handler{AWS: newBucket(nil)}.Handle(t.Context(), &pintle.Request{Type: pintle.Create, RawProperties: []byte(`{"SourceBucketNames":[]}`)})
	if err == nil || err.Error() != "missing request resource property 'SourceObjectKeys'" {
		t.Error(err)
	}
}

func TestMetadata(t *testing.T) {
	b := newBucket(map[string]string{"_/a.zip": zipped(t, "a.html", "<<m>>", "b", "")})
	answer, err := b.handle(t, pintle.Create, m{
		"SystemMetadata": m{"Cache-Control": "no-cache", "acl": "public-read"}, "UserMetadata": m{"A": "b"},
		"SourceMarkers": []any{m{"<<m>>": "v"}}, "DestinationBucketArn": "arn", "DistributionId": "D",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	common := m{"Bucket": "b", "ACL": "public-read", "CacheControl": "no-cache", "Metadata": m{"a": "b"}}
	page, plain := maps.Clone(common), maps.Clone(common)
	page["Key"], page["ContentType"], plain["Key"] = "to/a.html", "text/html", "to/b"
	if diff := cmp.Diff(map[string]m{"to/a.html": page, "to/b": plain}, b.put); diff != "" || b.objects["to/a.html"] != "v" {
		t.Errorf("%q (-want +got):\n%s", b.objects["to/a.html"], diff)
	}
	if diff := cmp.Diff(m{"DestinationBucketArn": "arn", "SourceObjectKeys": []any{"_/a.zip"}}, answer.Attributes); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(b.calls, "GetInvalidation") {
		t.Error("the invalidation was not waited for")
	}
}

func TestInvalidationRecorded(t *testing.T) {
	b := newBucket(map[string]string{"_/a.zip": zipped(t)})
	b.front = &awscall.Error{Code: "InvalidAction", Message: "Set AWS_ENDPOINT_URL_CLOUDFRONT to …", Status: 400}
	if _, err := b.handle(t, pintle.Create, m{"DistributionId": "D"}, nil); err != nil {
		t.Error(err)
	}
	b.front = &awscall.Error{Code: "NoSuchDistribution", Message: "none", Status: 404}
	if _, err := b.handle(t, pintle.Create, m{"DistributionId": "D"}, nil); err == nil {
		t.Error("an error of CloudFront is ignored")
	}
}

func TestLargeFileIsUploadedInParts(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 20<<16)
	b := newBucket(map[string]string{"_/a.zip": zipped(t, "big", big)})
	if _, err := b.handle(t, pintle.Create, nil, nil); err != nil {
		t.Fatal(err)
	}
	if b.objects["to/big"] != big || b.largest != partSize || !slices.Contains(b.calls, "CompleteMultipartUpload") {
		t.Errorf("%d bytes, at most %d at once, calls %v", len(b.objects["to/big"]), b.largest, b.calls)
	}
}

func TestMarkersAcrossReads(t *testing.T) {
	from := strings.Repeat("x", replacerBuffer-3) + "<<a>><<b>><<a>" + strings.Repeat("<<b>>", 20_000)
	want := strings.NewReplacer("<<a>>", "1", "<<b>>", "two").Replace(from)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "data with error": iotest.DataErrReader,
	} {
		got, err := io.ReadAll(replaced(wrap(strings.NewReader(from)), map[string]string{"<<a>>": "1", "<<b>>": "two"}))
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, want %d (%v)", name, len(got), len(want), err)
		}
	}
}

func TestEncodeMarker(t *testing.T) {
	for _, test := range []struct {
		value  any
		config m
		want   string
	}{
		{`a "b"`, nil, `a "b"`},
		{`a "b" é😀<`, m{"jsonEscape": "true"}, `a \"b\" \u00e9\ud83d\ude00<`},
		{m{"b": []any{"x", true}, "a": nil}, m{"markerEncodings": m{"k": "JSON_VALUE"}}, `{"a": null, "b": ["x", true]}`},
		{"x", m{"markerEncodings": m{"k": "JSON_VALUE"}}, `"x"`},
		{"yes", m{"markerEncodings": m{"k": "YAML_STRING"}}, `"yes"`},
		{"plain-1", m{"markerEncodings": m{"k": "YAML_STRING"}}, `plain-1`},
	} {
		if got, err := encodeMarker("k", test.value, test.config); err != nil || got != test.want {
			t.Errorf("%v: %s %v, want %s", test.value, got, err, test.want)
		}
	}
	for _, config := range []m{nil, {"markerEncodings": m{"k": "X"}}} {
		if _, err := encodeMarker("k", []any{"hidden"}, config); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Error(err)
		}
	}
}

func TestContentType(t *testing.T) {
	for name, want := range map[string]string{
		"a.html": "text/html", "d/a.JS": "text/javascript", "a.tar.gz": "application/x-tar", "a.svgz": "image/svg+xml", "a": "", ".html": "",
		"a.unknown": "", "a.tgz": "application/x-tar", "a.b/c": "", "a.webp": "image/webp",
	} {
		if got := contentType(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestArchiveNames(t *testing.T) {
	for name, want := range map[string]string{"/etc/x": "etc/x", "a/../b": "a/b", "./a//b": "a/b", "..": "", "\x82.txt": "é.txt"} {
		if got := entryName(&zip.File{FileHeader: zip.FileHeader{Name: name}}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
