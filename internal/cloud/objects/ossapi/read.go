package ossapi

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// condition checks the conditions of a read request. It returns notModified if the client already has the object, and
// [objects.ErrPrecondition] if another condition fails.
func (c *call) condition(info objects.Info, prefix string) error {
	h := c.r.Header
	since := func(name string) (at time.Time, ok bool) {
		at, err := http.ParseTime(h.Get(prefix + name))
		return at, err == nil
	}
	if match := h.Get(prefix + "If-Match"); match != "" && !listed(match, info.ETag) {
		return objects.ErrPrecondition
	}
	if at, ok := since("If-Unmodified-Since"); ok && info.Modified.After(at) {
		return objects.ErrPrecondition
	}
	if none := h.Get(prefix + "If-None-Match"); none != "" {
		if listed(none, info.ETag) {
			return notModified
		}
		return nil
	}
	if at, ok := since("If-Modified-Since"); ok && !info.Modified.After(at) {
		return notModified
	}
	return nil
}

// listed reports whether a list of entity tags contains tag, ignoring case.
func listed(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || objects.SameTag(strings.ToLower(one), tag) {
			return true
		}
	}
	return false
}

// oneRange matches the supported ranges.
var oneRange = regexp.MustCompile(`^bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))$`)

var errRange = errors.New("the range is not satisfiable")

// parseRange returns the first byte and the length of a range in an object with a size.
func parseRange(text string, size int64) (first, length int64, err error) {
	match := oneRange.FindStringSubmatch(text)
	if match == nil {
		return 0, 0, errRange
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(match[i], 10, 64) // at most 18 digits
		return n
	}
	last := size - 1
	switch {
	case match[3] != "":
		first = max(0, size-number(3))
	case match[2] == "":
		first = number(1)
	default:
		first, last = number(1), min(last, number(2))
	}
	if first > last || first >= size {
		return 0, 0, errRange
	}
	return first, last - first + 1, nil
}

// span returns the requested part of an object. It ignores an invalid range, unless the client requests an error.
func (c *call) span(size int64) (first, length int64, status int, err error) {
	text := c.r.Header.Get("Range")
	if text == "" {
		return 0, size, http.StatusOK, nil
	}
	first, length, err = parseRange(text, size)
	switch {
	case err == nil:
		return first, length, http.StatusPartialContent, nil
	case c.r.Header.Get("X-Oss-Range-Behavior") == "standard":
		return 0, 0, 0, refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range cannot be satisfied.")
	}
	return 0, size, http.StatusOK, nil
}

func contentRange(first, length, size int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", first, first+length-1, size)
}
