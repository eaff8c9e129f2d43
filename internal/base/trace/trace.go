// Package trace carries the W3C Trace Context of a call in a [context.Context]. It does not record spans: callers and
// providers do, and the code between them passes the context on unchanged.
//
// It also counts the functions in a chain of calls, to detect loops.
//
// AWS's services pass the trace on in the X-Ray format, which has the same three parts.
//
// Source: W3C Trace Context, level 1, traceparent; AWS X-Ray, tracing header.
package trace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
)

// Header is the header that carries a [Parent], and XRayHeader is the header of AWS.
const (
	Header     = "Traceparent"
	XRayHeader = "X-Amzn-Trace-Id"
)

// Parent is a traceparent of version 00, 55 characters: 00-TRACE-PARENT-FLAGS, in lower-case hexadecimal digits. It
// may be empty.
type Parent string

// length is the length of a version 00 traceparent.
const length = 55

// Parse parses a traceparent and returns "" if it is invalid. It reads the version 00 parts of later versions, as the
// specification requires.
func Parse(text string) Parent {
	text = strings.Trim(text, " \t")
	if len(text) < length || len(text) > length && (text[length] != '-' || text[:2] == "00") || text[:2] == "ff" {
		return ""
	}
	for i := range length {
		switch dash := i == 2 || i == 35 || i == 52; {
		case dash != (text[i] == '-'), !dash && !strings.ContainsRune("0123456789abcdef", rune(text[i])):
			return ""
		}
	}
	return join(text[3:35], text[36:52], strings.ContainsRune("13579bdf", rune(text[54])))
}

// join builds a parent from its parts. It returns "" if an ID is all zeros.
func join(trace, parent string, sampled bool) Parent {
	if strings.Trim(trace, "0") == "" || strings.Trim(parent, "0") == "" {
		return ""
	}
	if sampled {
		return Parent("00-" + trace + "-" + parent + "-01")
	}
	return Parent("00-" + trace + "-" + parent + "-00")
}

// New returns a random parent. It is marked as sampled: otherwise a traced service would record nothing when its
// caller has no tracing.
func New() Parent {
	var random [24]byte
	_, _ = rand.Read(random[:]) // it never fails
	random[0] |= 1              // neither ID may be zero
	random[16] |= 1
	return join(hex.EncodeToString(random[:16]), hex.EncodeToString(random[16:]), true)
}

// ID returns the trace ID, 32 hexadecimal digits, or "" for an empty parent.
func (p Parent) ID() string {
	if p == "" {
		return ""
	}
	return string(p[3:35])
}

// XRay returns the parent in AWS's format, Root=1-8-24;Parent=16;Sampled=1, or "" for an empty parent.
func (p Parent) XRay() string {
	if p == "" {
		return ""
	}
	return "Root=1-" + string(p[3:11]) + "-" + string(p[11:35]) + ";Parent=" + string(p[36:52]) + ";Sampled=" + string(p[54:])
}

// FromXRay parses the format of [Parent.XRay]. It returns "" if the text is invalid or has no parent.
func FromXRay(text string) Parent {
	var root, parent, sampled string
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Root":
			root = value
		case "Parent":
			parent = value
		case "Sampled":
			sampled = value
		}
	}
	if len(root) != 35 || root[:2] != "1-" || root[10] != '-' {
		return ""
	}
	flags := "00"
	if sampled == "1" {
		flags = "01"
	}
	return Parse("00-" + root[2:10] + root[11:] + "-" + parent + "-" + flags)
}

// key is the context key of a Parent.
type key struct{}

// NewContext returns a context that carries p.
func NewContext(ctx context.Context, p Parent) context.Context {
	if p == "" {
		return ctx
	}
	return context.WithValue(ctx, key{}, p)
}

// FromContext returns the parent that [NewContext] put into ctx, or "".
func FromContext(ctx context.Context) Parent {
	p, _ := ctx.Value(key{}).(Parent)
	return p
}

// MaxHops is the number of functions in a chain of calls at which the chain is stopped. Source: AWS Lambda developer
// guide, "Use Lambda recursive loop detection to prevent infinite loops".
const MaxHops = 16

// ErrLoop is the error of a call at the end of a chain of [MaxHops] functions.
var ErrLoop = errors.New("a recursive loop")

// hopsKey is the context key of a number of hops.
type hopsKey struct{}

// WithHops returns a context for a call at the end of a chain of hops functions.
func WithHops(ctx context.Context, hops int) context.Context {
	return context.WithValue(ctx, hopsKey{}, hops)
}

// Hops returns the number that [WithHops] put into ctx, or 0.
func Hops(ctx context.Context) int {
	hops, _ := ctx.Value(hopsKey{}).(int)
	return hops
}
