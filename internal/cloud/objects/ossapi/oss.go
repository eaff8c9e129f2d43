// Package ossapi is the API of Alibaba Cloud's Object Storage Service (OSS) over package objects.
//
// It serves the calls that clients make for assets: buckets, objects, copies, multipart uploads and lists. It refuses
// any other call with the code NotImplemented and the name of the operation.
//
// The caller of this package verifies signatures with package oss: V1 or V4, in a header or in a URL. OSS signatures
// do not cover bodies, so a body is read only after the sender is authenticated. Only the account that owns a bucket
// can use it: access control lists are recorded and returned, but give no access to other callers.
//
// Source: OSS, API reference, version 2014-08-15 and the signatures V1 and V4.
package ossapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/intake"
	"github.com/pintle-dev/pintle/internal/api/oss"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// Config configures a [Handler].
type Config struct {
	// Objects stores the buckets and objects. Required.
	Objects *objects.Store
	// Caller returns the caller of a request. False means an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Idle is how long a client may pause while it sends or reads a body. Zero means [DefaultIdle]. It replaces the
	// time limits of the server while a body is read or written.
	Idle time.Duration
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

// DefaultIdle is the default of Config.Idle.
const DefaultIdle = 30 * time.Second

// Handler serves calls. It is an [http.Handler], and safe for concurrent use.
type Handler struct{ config Config }

// New returns the API. It returns an error if config is incomplete.
func New(config Config) (*Handler, error) {
	if config.Objects == nil || config.Caller == nil {
		return nil, errors.New("oss: the objects and the caller are required")
	}
	if config.Idle < 0 {
		return nil, errors.New("oss: Idle must not be negative")
	}
	config.Idle = cmp.Or(config.Idle, DefaultIdle)
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{config}, nil
}

// ServeHTTP implements [http.Handler].
func (f *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{
		Handler: f, ctx: r.Context(), w: w, r: r, id: oss.NewRequestID(), query: r.URL.Query(), limits: http.NewResponseController(w),
	}
	c.bucket, c.key = oss.Object(r)
	c.body = intake.Paced(r.Body, c.limits, f.config.Idle)
	h := w.Header()
	h.Del("X-Amzn-Requestid")
	h.Set("X-Oss-Request-Id", c.id)
	h.Set("Content-Security-Policy", sandbox)
	var ok bool
	if c.caller, ok = f.config.Caller(c.ctx); !ok {
		c.refuse(errors.New("the request reached OSS without a caller"))
		return
	}
	if err := c.serve(); err != nil {
		c.refuse(err)
	}
}

// sandbox makes a browser treat a page in an object as having no origin, so that its scripts cannot call this server.
const sandbox = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"

// call is an API call.
type call struct {
	*Handler
	ctx    context.Context
	w      http.ResponseWriter
	r      *http.Request
	limits *http.ResponseController
	body   io.Reader
	query  url.Values
	caller api.Caller
	id     string

	bucket, key string
}

// Write implements [io.Writer]. It writes to the client, and sets a new deadline each time.
func (c *call) Write(p []byte) (int, error) {
	_ = c.limits.SetWriteDeadline(time.Now().Add(c.config.Idle)) // a connection without deadlines does not need one
	return c.w.Write(p)
}

// serve serves a call, or returns the error to write.
func (c *call) serve() error {
	asked := c.asked()
	what := c.r.Method + " " + strings.Join(asked, "&")
	switch {
	case c.bucket == "" && what == "GET ":
		return c.listBuckets()
	case c.bucket == "":
		return c.unserved(asked)
	case c.key == "" && what == "PUT ":
		return c.makeBucket()
	}
	if err := c.enter(c.bucket); err != nil {
		return err
	}
	serve := bucketCalls[what]
	if c.key != "" {
		if err := checkKey(c.key); err != nil {
			return err
		}
		serve = objectCalls[what]
	}
	if serve == nil {
		return c.unserved(asked)
	}
	return serve(c)
}

// bucketCalls and objectCalls are the calls for a bucket and an object, by the method and the subresource parameters.
var (
	bucketCalls = map[string]func(*call) error{
		"GET ":           (*call).listObjects,
		"DELETE ":        (*call).removeBucket,
		"GET bucketInfo": (*call).bucketInfo,
		"GET location":   (*call).location,
		"GET acl":        (*call).bucketACL,
		"PUT acl":        (*call).setBucketACL,
		"GET tagging":    (*call).bucketTags,
		"PUT tagging":    (*call).setBucketTags,
		"DELETE tagging": (*call).dropBucketTags,
		"GET versioning": (*call).versioning,
		"GET uploads":    (*call).listUploads,
		"POST delete":    (*call).removeObjects,
	}
	objectCalls = map[string]func(*call) error{
		"PUT ":                    (*call).putObject,
		"GET ":                    (*call).getObject,
		"HEAD ":                   (*call).getObject,
		"DELETE ":                 (*call).removeObject,
		"HEAD objectMeta":         (*call).objectMeta,
		"GET objectMeta":          (*call).objectMeta,
		"GET acl":                 (*call).objectACL,
		"PUT acl":                 (*call).setObjectACL,
		"GET tagging":             (*call).objectTags,
		"PUT tagging":             (*call).setObjectTags,
		"DELETE tagging":          (*call).dropObjectTags,
		"POST append&position":    (*call).appendObject,
		"POST uploads":            (*call).beginUpload,
		"PUT partNumber&uploadId": (*call).putPart,
		"GET uploadId":            (*call).listParts,
		"POST uploadId":           (*call).completeUpload,
		"DELETE uploadId":         (*call).abortUpload,
	}
)

// plain are parameters that do not name a subresource, except those of signatures and header overrides.
var plain = []string{
	"prefix", "delimiter", "marker", "max-keys", "encoding-type", "list-type", "continuation-token", "start-after", "fetch-owner",
	"key-marker", "upload-id-marker", "max-uploads", "part-number-marker", "max-parts", "OSSAccessKeyId", "Expires", "Signature",
	"security-token", "sequential", "regionList", "tag-key", "tag-value",
}

// asked returns the sorted parameters that name a subresource.
func (c *call) asked() []string {
	var names []string
	for name := range c.query {
		signs := strings.HasPrefix(name, "x-oss-") && name != "x-oss-process" && name != "x-oss-async-process"
		if !signs && !strings.HasPrefix(name, "response-") && !slices.Contains(plain, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// unserved returns the error for an OSS call that this server does not support.
func (c *call) unserved(asked []string) error {
	of := "the service"
	switch {
	case c.key != "":
		of = "an object"
	case c.bucket != "":
		of = "a bucket"
	}
	what := c.r.Method
	if len(asked) > 0 {
		what += fmt.Sprintf(" ?%.100s", strings.Join(asked, "&"))
	}
	return refuse(http.StatusNotImplemented, "NotImplemented", "This version of Pintle does not serve %s of %s of OSS.", what, of)
}

// enter returns an error unless the caller may use a bucket.
func (c *call) enter(bucket string) error {
	if checkBucketName(bucket) != nil {
		return objects.ErrNoBucket
	}
	item, err := c.config.Objects.Bucket(c.ctx, bucket)
	if err != nil {
		return err
	}
	if item.Of.Owner.Account != c.caller.Account {
		return denied
	}
	return nil
}
