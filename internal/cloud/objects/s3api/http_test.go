package s3api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/s3api"
)

// asked is a request.
type asked struct {
	method, path string
	host         string // empty: the endpoint's
	headers      map[string]string
	body         string
	hash         string // empty: that of the body
	id           string // of the key; empty: keyID
}

// answered is a response.
type answered struct {
	status  int
	header  http.Header
	body    string
	code    string // of an error
	message string
}

// do signs and sends a request.
func (d *door) do(t testing.TB, a asked) answered {
	t.Helper()
	r, err := http.NewRequest(a.method, d.url+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if a.host != "" {
		r.Host = a.host
	}
	for name, value := range a.headers {
		r.Header.Set(name, value)
	}
	sum := sha256.Sum256([]byte(a.body))
	hash := hex.EncodeToString(sum[:])
	if a.hash != "" {
		hash = a.hash
	}
	r.Header.Set("X-Amz-Content-Sha256", hash)
	id := keyID
	if a.id != "" {
		id = a.id
	}
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	if err := signer.SignHTTP(context.Background(), aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, r, hash, "s3", region, time.Now()); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	got := answered{status: response.StatusCode, header: response.Header, body: string(text)}
	if response.StatusCode >= 400 && a.method != http.MethodHead {
		var document struct {
			XMLName       xml.Name `xml:"Error"`
			Code, Message string
			RequestID     string `xml:"RequestId"`
		}
		if err := xml.Unmarshal(text, &document); err != nil || document.RequestID == "" || document.RequestID != response.Header.Get("X-Amz-Request-Id") {
			t.Errorf("%s %s: %v: %s", a.method, a.path, err, text)
		}
		got.code, got.message = document.Code, document.Message
	}
	for name := range response.Header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Server" {
			t.Errorf("%s %s is answered with the header %s", a.method, a.path, name)
		}
	}
	return got
}

func crc(text string) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text))))
}

// TestChunks tests chunked bodies with a trailing checksum, as SDKs send streams.
func TestChunks(t *testing.T) {
	const (
		plain  = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
		signed = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	)
	good := "x-amz-checksum-crc32:" + crc("hello world")
	trailer := map[string]string{"X-Amz-Trailer": "x-amz-checksum-crc32"}
	tests := []struct {
		name, hash, body string
		length           string // empty means 11
		headers          map[string]string
		code             string
	}{
		{name: "trailer", hash: plain, body: "6\r\nhello \r\n5\r\nworld\r\n0\r\n" + good + "\r\n\r\n", headers: trailer},
		{name: "trailer, other line endings", hash: plain, body: "b\nhello world\n0\n" + good + "\n", headers: trailer},
		{name: "no empty line at the end", hash: plain, body: "B\r\nhello world\r\n0\r\n" + good + "\r\n", headers: trailer},
		{name: "signed", hash: signed, body: "b;chunk-signature=" + strings.Repeat("a", 64) + "\r\nhello world\r\n0;chunk-signature=" + strings.Repeat("b", 64) + "\r\n\r\n"},
		{name: "signed, with a trailer", hash: signed + "-TRAILER", headers: trailer,
			body: "b;chunk-signature=" + strings.Repeat("a", 64) + "\r\nhello world\r\n0;chunk-signature=" + strings.Repeat("b", 64) + "\r\n" + good + "\r\nx-amz-trailer-signature:" + strings.Repeat("c", 64) + "\r\n\r\n"},
		{name: "a checksum ahead", hash: signed, body: "b\r\nhello world\r\n0\r\n\r\n", headers: map[string]string{"X-Amz-Checksum-Crc32": crc("hello world")}},
		{name: "another checksum", hash: plain, body: "b\r\nhello world\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n", headers: trailer, code: "BadDigest"},
		{name: "another checksum ahead", hash: signed, body: "b\r\nhello world\r\n0\r\n\r\n", headers: map[string]string{"X-Amz-Checksum-Crc32": "AAAAAA=="}, code: "BadDigest"},
		{name: "no trailer", hash: plain, body: "b\r\nhello world\r\n0\r\n\r\n", headers: trailer, code: "MalformedTrailerError"},
		{name: "an unknown trailer", hash: plain, body: "b\r\nhello world\r\n0\r\n\r\n", headers: map[string]string{"X-Amz-Trailer": "x-amz-checksum-xxhash64"}, code: "InvalidRequest"},
		{name: "body too short", hash: plain, body: "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:" + crc("hello") + "\r\n\r\n", headers: trailer, code: "IncompleteBody"},
		{name: "body too long", hash: plain, body: "c\r\nhello world!\r\n0\r\nx-amz-checksum-crc32:" + crc("hello world!") + "\r\n\r\n", headers: trailer, code: "IncompleteBody"},
		{name: "no end", hash: plain, body: "b\r\nhello world\r\n", headers: trailer, code: "IncompleteBody"},
		{name: "ends in a chunk", hash: plain, body: "b\r\nhello", headers: trailer, code: "IncompleteBody"},
		{name: "no chunks", hash: plain, body: "hello world", headers: trailer, code: "IncompleteBody"},
		{name: "invalid length", hash: plain, body: "-1\r\nhello world\r\n0\r\n\r\n", headers: trailer, code: "InvalidRequest"},
		{name: "a long length", hash: plain, body: "ffffffffffffffffff\r\nhello world\r\n0\r\n\r\n", headers: trailer, code: "InvalidRequest"},
		{name: "a chunk too long", hash: plain, body: "5\r\nhello world\r\n0\r\n\r\n", headers: trailer, code: "InvalidRequest"},
		{name: "a long line", hash: plain, body: "b;" + strings.Repeat("x", 5000) + "\r\nhello world\r\n0\r\n\r\n", headers: trailer, code: "InvalidRequest"},
		{name: "many trailers", hash: plain, body: "b\r\nhello world\r\n0\r\n" + strings.Repeat("a:b\r\n", 17) + good + "\r\n\r\n", headers: trailer, code: "InvalidRequest"},
		{name: "more behind the end", hash: plain, body: "b\r\nhello world\r\n0\r\n" + good + "\r\n\r\nmore\r\n", headers: trailer, code: "InvalidRequest"},
		{name: "invalid decoded length", hash: plain, body: "0\r\n\r\n", length: "x", code: "MissingContentLength"},
		{name: "too long", hash: plain, body: "0\r\n\r\n", length: "101", code: "EntityTooLarge"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newDoor(t, 100)
			d.make(t, "things", account)
			headers := map[string]string{"X-Amz-Decoded-Content-Length": "11", "Content-Encoding": "aws-chunked"}
			if test.length != "" {
				headers["X-Amz-Decoded-Content-Length"] = test.length
			}
			for name, value := range test.headers {
				headers[name] = value
			}
			got := d.do(t, asked{method: "PUT", path: "/things/key", headers: headers, body: test.body, hash: test.hash})
			if got.code != test.code {
				t.Errorf("got %d %s (%s), want %q", got.status, got.code, got.message, test.code)
			}
			is := d.do(t, asked{method: "GET", path: "/things/key"})
			if test.code != "" {
				if is.code != "NoSuchKey" {
					t.Errorf("there is %+v", is)
				}
				d.nothingAside(t)
				return
			}
			if is.body != "hello world" || is.header.Get("Content-Encoding") != "" {
				t.Errorf("there is %+v", is)
			}
		})
	}
}

// nothingAside checks that a refused write left no temporary file.
func (d *door) nothingAside(t testing.TB) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(d.dir, "incoming"))
	if err != nil || len(left) != 0 {
		t.Errorf("%d files are left aside, %v", len(left), err)
	}
}

// TestRefused tests errors, beyond those that the clients in other tests can cause.
func TestRefused(t *testing.T) {
	d := newDoor(t, 1000)
	d.make(t, "things", account)
	d.make(t, "strange", stranger)
	if got := d.do(t, asked{method: "PUT", path: "/things/key", body: "text"}); got.status != 200 {
		t.Fatalf("%+v", got)
	}
	tests := []struct {
		asked
		status int
		code   string
	}{
		{asked{method: "PUT", path: "/things/a", body: strings.Repeat("x", 1001)}, 400, "EntityTooLarge"},
		{asked{method: "PUT", path: "/things/a", body: "x", hash: strings.Repeat("0", 64)}, 400, "XAmzContentSHA256Mismatch"},
		{asked{method: "PUT", path: "/things/a", body: "x", headers: map[string]string{"Content-MD5": "x"}}, 400, "InvalidDigest"},
		{asked{method: "PUT", path: "/things/a", body: "x", headers: map[string]string{"X-Amz-Checksum-Crc32": crc("x"), "X-Amz-Checksum-Sha1": "x"}}, 400, "InvalidRequest"},
		{asked{method: "PUT", path: "/things/a", body: "x", headers: map[string]string{"X-Amz-Checksum-Xxhash64": "x"}}, 400, "InvalidRequest"},
		{asked{method: "PUT", path: "/things/a", body: "x", headers: map[string]string{"X-Amz-Sdk-Checksum-Algorithm": "CRC32"}}, 400, "InvalidRequest"},
		{asked{method: "PUT", path: "/things/a", body: "x", headers: map[string]string{"X-Amz-Tagging": "a=1&a=2"}}, 400, "InvalidArgument"},
		{asked{method: "PUT", path: "/things/a", body: "x", headers: map[string]string{"X-Amz-Server-Side-Encryption-Customer-Algorithm": "AES256"}}, 501, "NotImplemented"},
		{asked{method: "PUT", path: "/things/a", body: "x", headers: map[string]string{"If-None-Match": `"x"`}}, 501, "NotImplemented"},
		{asked{method: "PUT", path: "/things/a", body: "x", headers: map[string]string{"X-Amz-Acl": "public-read"}}, 400, "AccessControlListNotSupported"},
		{asked{method: "POST", path: "/things/a?uploads", headers: map[string]string{"X-Amz-Grant-Read": "id=1"}}, 400, "AccessControlListNotSupported"},
		{asked{method: "PUT", path: "/things/%00", body: "x"}, 400, "InvalidURI"},
		{asked{method: "PUT", path: "/things/%FF", body: "x"}, 400, "InvalidURI"},
		{asked{method: "PUT", path: "/things/a", headers: map[string]string{"X-Amz-Copy-Source": "nothing"}}, 400, "InvalidArgument"},
		{asked{method: "PUT", path: "/things/a", headers: map[string]string{"X-Amz-Copy-Source": "things/key", "X-Amz-Metadata-Directive": "x"}}, 400, "InvalidArgument"},
		{asked{method: "PUT", path: "/things/a", headers: map[string]string{"X-Amz-Copy-Source": "things/key?versionId=x"}}, 404, "NoSuchVersion"},
		{asked{method: "PUT", path: "/things?policy", body: strings.Repeat("x", 5<<20)}, 400, "MalformedXML"},
		{asked{method: "PUT", path: "/things?encryption", body: "<Other/>"}, 400, "MalformedXML"},
		{asked{method: "PUT", path: "/things?encryption", body: "<ServerSideEncryptionConfiguration>"}, 400, "MalformedXML"},
		{asked{method: "PUT", path: "/things?encryption", body: "<ServerSideEncryptionConfiguration/><ServerSideEncryptionConfiguration/>"}, 400, "MalformedXML"},
		{asked{method: "PUT", path: "/things?cors", body: "<!DOCTYPE x><CORSConfiguration/>"}, 400, "MalformedXML"},
		{asked{method: "PUT", path: "/things?policy", body: "{}"}, 400, "MalformedPolicy"},
		{asked{method: "PUT", path: "/things?tagging", body: "<"}, 400, "MalformedXML"},
		{asked{method: "PUT", path: "/things?tagging", body: "<Tagging><TagSet><Tag><Key/><Value/></Tag></TagSet></Tagging>"}, 400, "InvalidTag"},
		{asked{method: "PUT", path: "/new-one", body: "<"}, 400, "MalformedXML"},
		{asked{method: "POST", path: "/things?delete", body: "<Delete>" + strings.Repeat("<Object><Key>a</Key></Object>", 1001) + "</Delete>"}, 400, "MalformedXML"},
		{asked{method: "POST", path: "/things", body: "form"}, 405, "MethodNotAllowed"},
		{asked{method: "POST", path: "/things/key", body: "form"}, 405, "MethodNotAllowed"},
		{asked{method: "POST", path: "/"}, 405, "MethodNotAllowed"},
		{asked{method: "OPTIONS", path: "/things/key", headers: map[string]string{"Origin": "https://example.com", "Access-Control-Request-Method": "PUT"}}, 405, "MethodNotAllowed"},
		{asked{method: "PATCH", path: "/things?policy"}, 405, "MethodNotAllowed"},
		{asked{method: "GET", path: "/things?acl"}, 501, "NotImplemented"},
		{asked{method: "GET", path: "/things/key?torrent"}, 501, "NotImplemented"},
		{asked{method: "GET", path: "/things/key?partNumber=1"}, 501, "NotImplemented"},
		{asked{method: "PUT", path: "/things?new-thing", body: "<a/>"}, 501, "NotImplemented"},
		{asked{method: "PUT", path: "/things/key?new-thing", body: "<a/>"}, 501, "NotImplemented"},
		{asked{method: "DELETE", path: "/things/key?new-thing"}, 501, "NotImplemented"},
		{asked{method: "GET", path: "/things/none?v=2"}, 404, "NoSuchKey"},
		{asked{method: "GET", path: "/things?policy&acl"}, 501, "NotImplemented"},
		{asked{method: "GET", path: "/things?list-type=2&max-keys=x"}, 400, "InvalidArgument"},
		{asked{method: "GET", path: "/things?list-type=2&encoding-type=x"}, 400, "InvalidArgument"},
		{asked{method: "GET", path: "/things?list-type=2&continuation-token="}, 400, "InvalidArgument"},
		{asked{method: "PUT", path: "/things/a?partNumber=0&uploadId=x", body: "x"}, 400, "InvalidPart"},
		{asked{method: "PUT", path: "/things/a?partNumber=1&uploadId=..%2F..", body: "x"}, 404, "NoSuchUpload"},
		{asked{method: "PUT", path: "/things/a?partNumber=1&uploadId=x"}, 400, "InvalidRequest"},
		{asked{method: "POST", path: "/things/a?uploads", headers: map[string]string{"X-Amz-Checksum-Algorithm": "XXHASH3"}}, 400, "InvalidRequest"},
		{asked{method: "POST", path: "/things/a?uploads", headers: map[string]string{"X-Amz-Checksum-Algorithm": "SHA256", "X-Amz-Checksum-Type": "FULL_OBJECT"}}, 400, "InvalidRequest"},
		{asked{method: "DELETE", path: "/things/key?versionId=x"}, 400, "InvalidArgument"},
		{asked{method: "DELETE", path: "/things/key", headers: map[string]string{"If-Match": `"x"`}}, 412, "PreconditionFailed"},
		{asked{method: "DELETE", path: "/things", headers: map[string]string{"X-Minio-Force-Delete": "true"}}, 409, "BucketNotEmpty"},
		{asked{method: "GET", path: "/No_Bucket"}, 404, "NoSuchBucket"},
		// The bucket belongs to another account.
		{asked{method: "GET", path: "/things/key", id: otherID}, 403, "AccessDenied"},
		{asked{method: "DELETE", path: "/things/key", id: otherID}, 403, "AccessDenied"},
		{asked{method: "PUT", path: "/things?policy", id: otherID, body: "{}"}, 403, "AccessDenied"},
		{asked{method: "DELETE", path: "/things", id: otherID}, 403, "AccessDenied"},
		{asked{method: "PUT", path: "/strange/a", id: otherID, headers: map[string]string{"X-Amz-Copy-Source": "things/key"}}, 403, "AccessDenied"},
		{asked{method: "PUT", path: "/strange/a?partNumber=1&uploadId=x", id: otherID, headers: map[string]string{"X-Amz-Copy-Source": "/things/key"}}, 403, "AccessDenied"},
		{asked{method: "GET", path: "/cdk-hnb659fds-assets-222222222222-eu-west-1/x.zip"}, 403, "AccessDenied"},
	}
	for _, test := range tests {
		got := d.do(t, test.asked)
		if got.status != test.status || got.code != test.code {
			t.Errorf("%s %s (%v): got %d %s: %s, want %d %s", test.method, test.path, test.headers, got.status, got.code, got.message, test.status, test.code)
		}
	}
	if got := d.do(t, asked{method: "GET", path: "/things/key"}); got.body != "text" {
		t.Errorf("there is %+v", got)
	}
	d.nothingAside(t)
}

// TestHosts tests buckets in the host name.
func TestHosts(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "my.things", account)
	for i, host := range []string{"my.things.localhost", "my.things.s3.localhost:4600", "My.Things.s3.eu-west-1.localhost:4600"} {
		key := fmt.Sprintf("/a/%d", i)
		if got := d.do(t, asked{method: "PUT", path: key, host: host, body: host}); got.status != 200 {
			t.Errorf("%s: %+v", host, got)
		}
		if got := d.do(t, asked{method: "GET", path: "/my.things" + key, host: "s3.localhost:4600"}); got.body != host {
			t.Errorf("%s: %+v", host, got)
		}
	}
	if got := d.do(t, asked{method: "GET", path: "/?list-type=2", host: "my.things.localhost"}); !strings.Contains(got.body, "<KeyCount>3</KeyCount>") {
		t.Errorf("%+v", got)
	}
}

// TestHead checks that responses have no body.
func TestHead(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "things", account)
	d.do(t, asked{method: "PUT", path: "/things/key", body: "text"})
	for path, want := range map[string]string{"/things/key": "200 4", "/things/nothing": "404 ", "/things": "200 ", "/nothing": "404 ", "/": "405 ", "/things?acl": "501 "} {
		got := d.do(t, asked{method: "HEAD", path: path})
		is := fmt.Sprintf("%d ", got.status)
		if got.status == 200 {
			is += got.header.Get("Content-Length")
		}
		if is = strings.TrimSuffix(is, "0"); is != want && is+"0" != want || got.body != "" {
			t.Errorf("%s: %q %q, want %q", path, is, got.body, want)
		}
	}
}

// TestBroken tests a client that disconnects in the middle of an object.
func TestBroken(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "things", account)
	r, err := http.NewRequest("PUT", d.url+"/things/key", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 100
	signer := v4.NewSigner()
	r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	if err := signer.SignHTTP(t.Context(), aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}, r, "UNSIGNED-PAYLOAD", "s3", region, time.Now()); err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "PUT /things/key HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n", r.URL.Host)
	if err := r.Header.Write(&head); err != nil {
		t.Fatal(err)
	}
	head.WriteString("\r\nhalf of it")
	if _, err := connection.Write(head.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(connection)
	if err = errors.Join(err, connection.Close()); err != nil || !bytes.Contains(answer, []byte("<Code>IncompleteBody</Code>")) {
		t.Errorf("%s, %v", answer, err)
	}
	if got := d.do(t, asked{method: "GET", path: "/things/key"}); got.code != "NoSuchKey" {
		t.Errorf("%+v", got)
	}
	d.nothingAside(t)
}

// TestInternal checks that internal errors of the server are not sent to the client.
func TestInternal(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "things", account)
	d.do(t, asked{method: "PUT", path: "/things/key", body: "text"})
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "=key" {
			return os.WriteFile(path, []byte("damaged"), 0o600)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.do(t, asked{method: "GET", path: "/things/key"}); got.status != 500 || got.code != "InternalError" || strings.Contains(got.body, "damaged") {
		t.Errorf("%+v", got)
	}
	face, err := s3api.New(s3api.Config{Objects: d.objects, Caller: func(context.Context) (api.Caller, bool) { return api.Caller{}, false }})
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	face.ServeHTTP(recorder, httptest.NewRequest("GET", "/things/key", nil))
	if recorder.Code != 500 {
		t.Errorf("without a caller: %d", recorder.Code)
	}
}

// deadlines records the deadlines of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error  { d.read = append(d.read, at); return nil }
func (d *deadlines) SetWriteDeadline(at time.Time) error { d.write = append(d.write, at); return nil }

// TestDeadlines tests bodies that take longer than the server's timeout: only their progress counts.
func TestDeadlines(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "things", account)
	face, err := s3api.New(s3api.Config{Objects: d.objects, Caller: func(context.Context) (api.Caller, bool) { return api.Caller{Account: account}, true }})
	if err != nil {
		t.Fatal(err)
	}
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	before := time.Now()
	face.ServeHTTP(w, httptest.NewRequest("PUT", "/things/key", strings.NewReader("text")))
	if w.Code != 200 || len(w.read) < 2 || len(w.write) == 0 {
		t.Fatalf("%d: %v, %v", w.Code, w.read, w.write)
	}
	if w.read[0].Before(before.Add(s3api.DefaultIdle)) || !w.read[len(w.read)-1].IsZero() || w.write[0].Before(before.Add(s3api.DefaultIdle)) {
		t.Errorf("to read: %v, to write: %v", w.read, w.write)
	}
}

func TestNew(t *testing.T) {
	for _, config := range []s3api.Config{{}, {Objects: &objects.Store{}}, {Objects: &objects.Store{}, Idle: -1, Caller: func(context.Context) (api.Caller, bool) { return api.Caller{}, false }}} {
		if _, err := s3api.New(config); err == nil {
			t.Errorf("%+v is taken", config)
		}
	}
}

// TestACL tests access control lists without an effect: they are accepted where the bucket accepts them.
func TestACL(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "things", account)
	put := asked{method: "PUT", path: "/things/a", body: "x"}
	want := map[string]string{"private": "", "bucket-owner-full-control": "", "public-read": "AccessControlListNotSupported"}
	for range 2 {
		for acl, code := range want {
			put.headers = map[string]string{"X-Amz-Acl": acl}
			if got := d.do(t, put); got.code != code {
				t.Errorf("%s: %d %s, want %q", acl, got.status, got.code, code)
			}
		}
		got := d.do(t, asked{method: "PUT", path: "/things?ownershipControls",
			body: "<OwnershipControls><Rule><ObjectOwnership>BucketOwnerPreferred</ObjectOwnership></Rule></OwnershipControls>"})
		if got.status != 200 {
			t.Errorf("%+v", got)
		}
		want["public-read"] = ""
	}
}

// TestSettingOfTemplate tests a setting that a template put in another format.
func TestSettingOfTemplate(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "things", account)
	item, err := d.objects.Bucket(t.Context(), "things")
	if err != nil {
		t.Fatal(err)
	}
	item.Of.Settings = map[string]string{"versioning": `{"Status":"Enabled"}`, "encryption": `{"ServerSideEncryptionConfiguration":[]}`, "policy": `{"Statement":[]}`}
	if _, err := d.objects.Update(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for path, text := range map[string]string{"versioning": "<Status>Enabled</Status>", "encryption": "<SSEAlgorithm>AES256</SSEAlgorithm>", "policy": `{"Statement":[]}`} {
		got[path] = strings.Contains(d.do(t, asked{method: "GET", path: "/things?" + path}).body, text)
	}
	if diff := cmp.Diff(map[string]bool{"versioning": true, "encryption": true, "policy": true}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPages checks that an object that is an HTML page gets its own origin. On a development server, its scripts
// could otherwise call every API on behalf of the user that opens it through a presigned URL.
func TestPages(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "things", account)
	page := map[string]string{"Content-Type": "text/html", "X-Amz-Meta-Content-Security-Policy": "default-src *"}
	d.do(t, asked{method: "PUT", path: "/things/page", body: "<script>1</script>", headers: page})
	for _, path := range []string{"/things/page", "/things/nothing", "/things?encryption", "/"} {
		policy := d.do(t, asked{method: "GET", path: path}).header.Values("Content-Security-Policy")
		if len(policy) != 1 || !strings.HasPrefix(policy[0], "sandbox") || strings.Contains(policy[0], "same-origin") {
			t.Errorf("%s has the policy %q", path, policy)
		}
	}
}
