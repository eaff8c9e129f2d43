package pintle

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle/internal/base/spelling"
	"github.com/pintle-dev/pintle/wire"
)

// shortSecret is the length below which a secret is not searched for in free text: to replace every "1" or "no" would
// make it unreadable and tell the secret by its gaps.
const shortSecret = 4

// scrubber replaces the secrets of one request in texts. A nil one knows none. It may be used by many goroutines.
type scrubber struct {
	mu        sync.RWMutex
	spellings []string // the longest first, so that none is left in part
}

// add makes secrets known, in the spellings in which they are likely to be printed.
func (s *scrubber) add(secrets ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		for _, spelling := range spelling.Of(secret) {
			if len(spelling) >= shortSecret && !slices.Contains(s.spellings, spelling) {
				s.spellings = append(s.spellings, spelling)
			}
		}
	}
	slices.SortStableFunc(s.spellings, func(a, b string) int { return len(b) - len(a) })
}

// empty reports whether no secret is known.
func (s *scrubber) empty() bool {
	if s == nil {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.spellings) == 0
}

// finds reports whether a text holds a secret.
func (s *scrubber) finds(text string) bool {
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.ContainsFunc(s.spellings, func(spelling string) bool { return strings.Contains(text, spelling) })
}

// text returns a text without the secrets, and without the signatures of response URLs.
func (s *scrubber) text(text string) string {
	if s != nil {
		s.mu.RLock()
		percent, backslash := strings.IndexByte(text, '%') >= 0, strings.IndexByte(text, '\\') >= 0
		for _, secret := range s.spellings {
			if !percent && strings.IndexByte(secret, '%') >= 0 || !backslash && strings.IndexByte(secret, '\\') >= 0 {
				continue // a short look instead of a long one
			}
			text = strings.ReplaceAll(text, secret, mask)
		}
		s.mu.RUnlock()
	}
	return wire.Redact(text)
}

// scrubbedLog is a handler of log records that loses the secrets of one request.
type scrubbedLog struct {
	slog.Handler
	hide *scrubber
}

func (h scrubbedLog) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.hide.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h scrubbedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return scrubbedLog{h.Handler.WithAttrs(clean), h.hide}
}

func (h scrubbedLog) WithGroup(name string) slog.Handler {
	return scrubbedLog{h.Handler.WithGroup(name), h.hide}
}

func (h scrubbedLog) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		v = slog.StringValue(h.hide.text(v.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, member := range v.Group() {
			group[i] = h.attr(member)
		}
		v = slog.GroupValue(group...)
	case slog.KindAny:
		// As a handler would print it, or in JSON; a value without secrets is left to the handler.
		text := fmt.Sprintf("%+v", v.Any())
		raw, err := json.Marshal(v.Any())
		if err != nil {
			raw = nil
		}
		if clean := h.hide.text(text); clean != text || h.hide.text(string(raw)) != string(raw) {
			v = slog.StringValue(clean)
		}
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64, slog.KindLogValuer:
	}
	return slog.Attr{Key: a.Key, Value: v}
}
