// Package s3api is the API of S3 over the buckets and objects of package objects: the calls of handlers, SDKs, the
// AWS CLI and the CDK's tools. Each operation is a method with S3's name.
//
// The caller of this package verifies signatures. Only the account that owns a bucket can use it: policies, like all
// settings of a bucket, are recorded and returned, but not enforced. No response has a header that lets a web page
// read it.
//
// Source: Amazon S3 API Reference, version 2006-03-01.
package s3api

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/intake"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Config configures the handler.
type Config struct {
	// Objects stores the buckets and objects. Required.
	Objects *objects.Store
	// Caller returns the caller of a request. False means an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Notifications checks the notification configurations of buckets. Nil accepts all that are valid in themselves.
	Notifications Notifications
	// Idle is how long a client may pause while it sends or reads a body. Zero means [DefaultIdle]. It replaces the
	// time limits of the server while a body is read or written.
	Idle time.Duration
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

// Notifications checks and tests destinations for bucket events. [bucketevents.Events] implements it.
type Notifications interface {
	// Check returns a [bucketevents.Error] if a destination does not exist.
	Check(ctx context.Context, owner registry.Scope, c bucketevents.Configuration) error
	// Test sends the test events of a new configuration.
	Test(ctx context.Context, bucket string, owner registry.Scope, c bucketevents.Configuration)
}

// DefaultIdle is the default of Config.Idle.
const DefaultIdle = 30 * time.Second

// Handler serves the calls. It is an [http.Handler].
type Handler struct{ config Config }

// New returns the API. It returns an error if config is incomplete.
func New(config Config) (http.Handler, error) {
	if config.Objects == nil || config.Caller == nil {
		return nil, errors.New("s3: the objects and the caller are required")
	}
	if config.Idle < 0 {
		return nil, errors.New("s3: Idle must not be negative")
	}
	config.Idle = cmp.Or(config.Idle, DefaultIdle)
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{config}, nil
}

// ServeHTTP implements [http.Handler].
func (f *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{Handler: f, ctx: r.Context(), id: newRequestID()}
	c.reply = &reply{ResponseWriter: w, call: c, limits: http.NewResponseController(w)}
	c.r = r.Clone(r.Context()) // its headers and body are changed
	c.r.Body = intake.Paced(r.Body, c.reply.limits, f.config.Idle)
	c.query, c.path = r.URL.Query(), r.URL.EscapedPath()
	c.hoisted()
	w.Header().Set("X-Amz-Request-Id", c.id)
	var ok bool
	if c.caller, ok = f.config.Caller(c.ctx); !ok {
		c.refuse(errors.New("the request reached S3 without a caller"))
		return
	}
	if err := c.serve(); err != nil {
		c.refuse(err)
	}
}

// call is an API call.
type call struct {
	*Handler
	ctx    context.Context
	r      *http.Request
	reply  *reply
	query  url.Values
	caller api.Caller
	id     string

	bucket, key string
	path        string // of the URL, escaped, as the client sent it
	// upload holds the checks for the body. body is the body, if it was read in advance.
	upload *upload
	body   []byte
}

// serve serves a call, or returns the error to write.
func (c *call) serve() error {
	c.place()
	switch {
	case c.bucket == "" && c.r.Method == http.MethodGet:
		return c.listBuckets()
	case c.bucket == "":
		return notAllowed
	case c.r.Method == http.MethodPut && c.key == "" && len(subresources(c.r.Method, c.query)) == 0:
		return c.makeBucket()
	}
	if err := c.enter(c.bucket); err != nil {
		return err
	}
	if c.key == "" {
		return c.serveBucket()
	}
	return c.serveObject()
}

// place reads the bucket and the key from the path, or the bucket from the host.
func (c *call) place() {
	host := c.r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if bucket, ok := c.config.Objects.HostBucket(host); ok {
		c.r.URL.Path, c.r.URL.RawPath = "/"+bucket+c.r.URL.Path, ""
	}
	c.bucket, c.key, _ = strings.Cut(strings.TrimPrefix(c.r.URL.Path, "/"), "/")
}

// hoisted copies headers that SDKs put into the parameters of a presigned URL back into the headers. They are signed.
func (c *call) hoisted() {
	if !c.query.Has("X-Amz-Signature") {
		return
	}
	for name, values := range c.query {
		header := http.CanonicalHeaderKey(name)
		if strings.HasPrefix(header, "X-Amz-") && !slices.Contains(signing[:], header) && len(c.r.Header.Values(header)) == 0 {
			c.r.Header[header] = values
		}
	}
}

// signing are the parameters of a presigned URL that are not headers.
var signing = [...]string{
	"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Signedheaders", "X-Amz-Signature", "X-Amz-Security-Token",
	"X-Amz-Content-Sha256",
}

// enter returns an error unless the caller may use a bucket.
func (c *call) enter(bucket string) error {
	item, err := c.config.Objects.Bucket(c.ctx, bucket)
	if err != nil {
		return err
	}
	if item.Of.Owner.Account != c.caller.Account {
		return denied
	}
	expected := "X-Amz-Expected-Bucket-Owner"
	if bucket != c.bucket {
		expected = "X-Amz-Source-Expected-Bucket-Owner"
	}
	if owner := c.r.Header.Get(expected); owner != "" && owner != item.Of.Owner.Account {
		return denied
	}
	return nil
}

// subresources returns the requested subresources of a bucket or object. It ignores unknown parameters in read
// requests, but treats them as subresources in write requests.
func subresources(method string, query url.Values) []string {
	reads := method == http.MethodGet || method == http.MethodHead
	var found []string
	for name := range query {
		switch {
		case strings.HasPrefix(strings.ToLower(name), "x-amz-"), strings.HasPrefix(name, "response-"), slices.Contains(plain[:], name):
		case reads && !slices.Contains(special[:], name):
		default:
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// special are the parameters that name a subresource.
var special = [...]string{
	"abac", "accelerate", "acl", "analytics", "attributes", "cors", "delete", "encryption", "intelligent-tiering", "inventory", "legal-hold",
	"lifecycle", "location", "logging", "metadataConfiguration", "metadataTable", "metrics", "notification", "object-lock",
	"ownershipControls", "partNumber", "policy", "policyStatus", "publicAccessBlock", "replication", "requestPayment", "restore", "retention",
	"select", "select-type", "session", "tagging", "torrent", "uploadId", "uploads", "versioning", "versions", "website",
}

// plain are the parameters that do not name a subresource.
var plain = [...]string{
	"x-id", "list-type", "prefix", "delimiter", "max-keys", "marker", "continuation-token", "start-after", "fetch-owner", "encoding-type",
	"versionId", "key-marker", "version-id-marker", "upload-id-marker", "max-uploads", "part-number-marker", "max-parts",
	"max-buckets", "bucket-region",
}

// serveBucket serves the calls for a bucket.
func (c *call) serveBucket() error {
	asked, method := subresources(c.r.Method, c.query), c.r.Method
	if len(asked) == 0 {
		switch method {
		case http.MethodGet:
			if c.query.Get("list-type") == "2" {
				return c.listObjectsV2()
			}
			return c.listObjects()
		case http.MethodHead:
			return c.headBucket()
		case http.MethodDelete:
			return c.deleteBucket()
		}
		return notAllowed
	}
	switch name := asked[0]; {
	case len(asked) > 1:
		return unserved(asked...)
	case name == "versions" && method == http.MethodGet:
		return bucketSettings{c}.listObjectVersions()
	case name == "uploads" && method == http.MethodGet:
		return uploads{c}.listMultipartUploads()
	case name == "versioning" && method == http.MethodGet:
		return bucketSettings{c}.getBucketVersioning()
	case name == "versioning" && method == http.MethodPut:
		return bucketSettings{c}.putBucketVersioning()
	case name == "versioning":
		return notAllowed
	case name == "delete" && method == http.MethodPost:
		return c.deleteObjects()
	case name == "location" && method == http.MethodGet:
		return c.location()
	case name == "tagging":
		return bucketSettings{c}.bucketTagging()
	default:
		return bucketSettings{c}.setting(name)
	}
}

// serveObject serves the calls for an object.
func (c *call) serveObject() error {
	if err := objects.CheckKey(c.key); err != nil {
		return keyError(c.key)
	}
	if version := c.query.Get("versionId"); version != "" && version != objects.NullVersion {
		if c.r.Method == http.MethodDelete {
			return invalid("Invalid version id specified")
		}
		return objects.ErrNoVersion
	}
	asked := subresources(c.r.Method, c.query)
	is := func(names ...string) bool { return slices.Equal(asked, names) }
	switch method := c.r.Method; {
	case is() && (method == http.MethodGet || method == http.MethodHead):
		return c.getObject()
	case is() && method == http.MethodPut && c.copying():
		return c.copyObject()
	case is() && method == http.MethodPut:
		return c.putObject()
	case is() && method == http.MethodDelete:
		return c.deleteObject()
	case is("uploads") && method == http.MethodPost:
		return uploads{c}.createMultipartUpload()
	case is("partNumber", "uploadId") && method == http.MethodPut && c.copying():
		return uploads{c}.uploadPartCopy()
	case is("partNumber", "uploadId") && method == http.MethodPut:
		return uploads{c}.uploadPart()
	case is("uploadId") && method == http.MethodPost:
		return uploads{c}.completeMultipartUpload()
	case is("uploadId") && method == http.MethodGet:
		return uploads{c}.listParts()
	case is("uploadId") && method == http.MethodDelete:
		return uploads{c}.abortMultipartUpload()
	case is("tagging"):
		return bucketSettings{c}.objectTagging()
	case is():
		return notAllowed
	}
	return unserved(asked...)
}

// copying reports whether the data comes from another object.
func (c *call) copying() bool { return c.r.Header.Get("X-Amz-Copy-Source") != "" }

func newRequestID() string { return rand.Text()[:16] }
