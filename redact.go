package pintle

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// newSecrets returns the secrets of a request, initially none.
func newSecrets() *redact.Secrets { return &redact.Secrets{Shortest: redact.ShortSecret, With: mask} }

// redacted returns a text without the secrets of a request, and without the signatures of response URLs.
func redacted(hide *redact.Secrets, text string) string { return wire.Redact(hide.Mask(text)) }

// redactedLog is a handler of log records that removes the secrets of one request from them.
type redactedLog struct {
	slog.Handler
	hide *redact.Secrets
}

func (h redactedLog) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, redacted(h.hide, r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h redactedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return redactedLog{h.Handler.WithAttrs(clean), h.hide}
}

func (h redactedLog) WithGroup(name string) slog.Handler {
	return redactedLog{h.Handler.WithGroup(name), h.hide}
}

func (h redactedLog) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		v = slog.StringValue(redacted(h.hide, v.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, member := range v.Group() {
			group[i] = h.attr(member)
		}
		v = slog.GroupValue(group...)
	case slog.KindAny:
		// Check the value as a handler would print it, and as JSON. A value without secrets stays unchanged.
		text := fmt.Sprintf("%+v", v.Any())
		raw, err := json.Marshal(v.Any())
		if err != nil {
			raw = nil
		}
		if clean := redacted(h.hide, text); clean != text || redacted(h.hide, string(raw)) != string(raw) {
			v = slog.StringValue(clean)
		}
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64, slog.KindLogValuer:
	}
	return slog.Attr{Key: a.Key, Value: v}
}
