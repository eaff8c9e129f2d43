package pintle

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// textLogger returns a logger that writes short lines for people.
func textLogger(w io.Writer) *slog.Logger {
	return slog.New(&textHandler{out: &output{w: w}})
}

// jsonLogger returns a logger for log services. It writes one JSON object per line.
func jsonLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

// These attributes identify the request that a line belongs to.
const (
	logType     = "type"
	logResource = "resource"
	logRequest  = "request"
	logStack    = "stack"
)

// textHandler writes log records as lines like these:
//
//	15:04:05 INFO  Create Site: request stack=arn:… request=1f2e…
//	15:04:05 ERROR Create Site: handler failed error="no such zone"
//
// The first line of a request has its stack and ID. Multi-line values, such as traces, follow on lines of their own.
type textHandler struct {
	out    *output
	attrs  []slog.Attr
	groups []string
}

// output is a writer that serializes records.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (h *textHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	own := *h
	own.attrs = slices.Clip(own.attrs)
	for _, a := range attrs {
		own.attrs = append(own.attrs, grouped(h.groups, a))
	}
	return &own
}

func (h *textHandler) WithGroup(name string) slog.Handler {
	own := *h
	own.groups = append(slices.Clip(own.groups), name)
	return &own
}

// grouped adds the names of the groups to the key of an attribute, separated by dots.
func grouped(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		a.Key = strings.Join(groups, ".") + "." + a.Key
	}
	return a
}

func (h *textHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clip(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, grouped(h.groups, a))
		return true
	})
	var line, blocks bytes.Buffer
	if !r.Time.IsZero() {
		line.WriteString(r.Time.Format("15:04:05 "))
	}
	fmt.Fprintf(&line, "%-5s ", r.Level)
	if kind := attrOf(attrs, logType); kind != "" {
		fmt.Fprintf(&line, "%s %s: ", kind, attrOf(attrs, logResource))
	}
	line.WriteString(strings.ReplaceAll(r.Message, "\n", " "))
	for _, a := range attrs {
		writeAttr(&line, &blocks, a, r.Message == logArrival)
	}
	line.WriteByte('\n')
	line.Write(blocks.Bytes())
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := h.out.w.Write(line.Bytes())
	return err
}

// logArrival is the message of the first line of a request.
const logArrival = "request"

func attrOf(attrs []slog.Attr, key string) string {
	for _, a := range attrs {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// writeAttr writes an attribute to the line, or to the blocks below the line.
func writeAttr(line, blocks *bytes.Buffer, a slog.Attr, first bool) {
	v := a.Value.Resolve()
	switch a.Key {
	case logType, logResource:
		return
	case logStack, logRequest:
		if !first {
			return
		}
	}
	if v.Kind() == slog.KindGroup {
		for _, member := range v.Group() {
			if a.Key != "" {
				member.Key = a.Key + "." + member.Key
			}
			writeAttr(line, blocks, member, first)
		}
		return
	}
	text := v.String()
	switch {
	case text == "":
	case strings.Contains(strings.TrimSpace(text), "\n"):
		fmt.Fprintf(blocks, "  %s:\n", a.Key)
		for row := range strings.Lines(strings.TrimRight(text, "\n")) {
			blocks.WriteString("    " + strings.TrimRight(row, "\r\n") + "\n")
		}
	default:
		fmt.Fprintf(line, " %s=%s", a.Key, quoted(text))
	}
}

// quoted quotes a text that could be mistaken for more than one value.
func quoted(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c == '"' || c == '=' || unicode.IsSpace(c) || !unicode.IsPrint(c) }) {
		return strconv.Quote(text)
	}
	return text
}
