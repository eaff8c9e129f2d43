package responseurl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/wire"
)

// maxKey is the length of the longest object key of S3 in bytes.
const maxKey = 1024

// ResponseKey identifies the one request that can be answered at a response URL.
type ResponseKey struct {
	StackID   wire.StackID
	LogicalID wire.LogicalID
	RequestID wire.RequestID
}

// ParseResponseKey parses the result of [ResponseKey.String].
func ParseResponseKey(text string) (ResponseKey, error) {
	parts := strings.Split(text, "|")
	if len(parts) != 3 {
		return ResponseKey{}, fmt.Errorf("response key has %d parts, want STACK|RESOURCE|REQUEST", len(parts))
	}
	k := ResponseKey{wire.StackID(parts[0]), wire.LogicalID(parts[1]), wire.RequestID(parts[2])}
	return k, k.check()
}

// KeyOf returns the key in the response URL of a request.
func KeyOf(r wire.Request) ResponseKey {
	return ResponseKey{StackID: r.StackID, LogicalID: r.LogicalResourceID, RequestID: r.RequestID}
}

// String returns the S3 object key of the response: the three IDs joined by "|".
func (k ResponseKey) String() string {
	return string(k.StackID) + "|" + string(k.LogicalID) + "|" + string(k.RequestID)
}

// check rejects a key that would not survive a round trip: one with ambiguous parts, or with a path that HTTP servers or
// clients would normalize.
func (k ResponseKey) check() error {
	text := k.String()
	switch {
	case k.StackID == "" || k.LogicalID == "" || k.RequestID == "":
		return errors.New("response key lacks the ID of the stack, the resource or the request")
	case strings.Count(text, "|") != 2:
		return errors.New("response key holds an ID with a | in it")
	case len(text) > maxKey:
		return fmt.Errorf("response key is %d bytes long, %d are allowed", len(text), maxKey)
	}
	for segment := range strings.SplitSeq(text, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return errors.New("response key has an empty path segment, or . or .. as one")
		}
	}
	return nil
}

// isName reports whether text holds only ASCII letters, digits and the allowed characters.
func isName(text, allowed string) bool {
	for _, c := range text {
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && !strings.ContainsRune(allowed, c) {
			return false
		}
	}
	return true
}
