package s3api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// getObject serves GET and HEAD of an object, or of a range.
func (c *call) getObject() error {
	o, err := c.config.Objects.Open(c.ctx, c.bucket, c.key, c.query.Get("versionId"))
	if err != nil {
		return err
	}
	defer o.Close()
	h := c.reply.Header()
	if err := readCondition(c.r.Header, o.Info, ""); err != nil {
		if errors.Is(err, notModified) {
			h.Set("ETag", o.ETag)
			h.Set("Last-Modified", o.Modified.UTC().Format(http.TimeFormat))
		}
		return err
	}
	part, err := parseRange(c.r.Header.Get("Range"), o.Size)
	if err != nil {
		return err
	}
	c.describe(o.Info, part == nil)
	h.Set("Accept-Ranges", "bytes")
	for parameter, name := range overrides {
		if value := c.query.Get(parameter); value != "" {
			h.Set(name, value)
		}
	}
	var data io.Reader = o
	status, length := http.StatusOK, o.Size
	if part != nil {
		data = o.Range(part.first, part.length)
		status, length = http.StatusPartialContent, part.length
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.first, part.first+part.length-1, o.Size))
	}
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	c.reply.WriteHeader(status)
	if c.r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(c.reply, data); err != nil && c.ctx.Err() == nil {
		c.config.Log.WarnContext(c.ctx, "an object was answered in part", "bucket", c.bucket, "error", err)
	}
	return nil // the length shows the client that data is missing
}

// overrides are the parameters that replace response headers.
var overrides = map[string]string{
	"response-cache-control":       "Cache-Control",
	"response-content-disposition": "Content-Disposition",
	"response-content-encoding":    "Content-Encoding",
	"response-content-language":    "Content-Language",
	"response-content-type":        "Content-Type",
	"response-expires":             "Expires",
}

// byteRange is a part of an object.
type byteRange struct{ first, length int64 }

// String returns the range in the format of a Range header.
func (r byteRange) String() string { return fmt.Sprintf("bytes=%d-%d", r.first, r.first+r.length-1) }

// rangeForm matches the ranges that S3 supports. For any other, S3 returns the whole object.
var rangeForm = regexp.MustCompile(`^bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))$`)

var badRange = refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")

// parseRange parses the requested range of an object. Nil means the whole object.
func parseRange(text string, size int64) (*byteRange, error) {
	match := rangeForm.FindStringSubmatch(text)
	if match == nil {
		return nil, nil
	}
	number := func(digits string) int64 {
		n, _ := strconv.ParseInt(digits, 10, 64) // at most 18 digits
		return n
	}
	first, last := number(match[1]), size-1
	switch {
	case match[3] != "":
		first = size - min(number(match[3]), size)
	case match[2] != "" && number(match[2]) < first:
		return nil, nil
	case match[2] != "":
		last = min(number(match[2]), last)
	}
	if first > last {
		return nil, badRange
	}
	return &byteRange{first, last - first + 1}, nil
}

// readCondition returns the error for a failed condition of a read request. A prefix selects the conditions for the
// source of a copy.
func readCondition(h http.Header, info objects.Info, prefix string) error {
	match, none := h.Get(prefix+"If-Match"), h.Get(prefix+"If-None-Match")
	since := func(name string) (at time.Time, ok bool) {
		at, err := http.ParseTime(h.Get(prefix + name))
		return at, err == nil
	}
	stale := notModified
	if prefix != "" {
		stale = objects.ErrPrecondition
	}
	if match != "" {
		if !listed(match, info.ETag) {
			return objects.ErrPrecondition
		}
	} else if at, ok := since("If-Unmodified-Since"); ok && info.Modified.After(at) {
		return objects.ErrPrecondition
	}
	if none != "" {
		if listed(none, info.ETag) {
			return stale
		}
	} else if at, ok := since("If-Modified-Since"); ok && !info.Modified.After(at) {
		return stale
	}
	return nil
}

// listed reports whether a list of entity tags contains tag.
func listed(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || objects.SameTag(one, tag) {
			return true
		}
	}
	return false
}
