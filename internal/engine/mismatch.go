package engine

import (
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// maxQuoted is how many bytes of a value that a provider sent a text quotes.
const maxQuoted = 100

// mismatches says which of the fields that an answer copies from its request differ from those of the request: StackId, RequestId,
// LogicalResourceId and, of a Delete, PhysicalResourceId. It is empty if none does. Secrets are masked, long values cut.
func (m *machine) mismatches(r *store.Request, got answer) string {
	var texts []string
	compare := func(field, want, is string) {
		switch {
		case is == want:
		case is == "":
			texts = append(texts, "no "+field)
		default:
			texts = append(texts, field+" "+m.quoted(r, got, is)+" instead of "+m.quoted(r, got, want))
		}
	}
	compare("StackId", string(m.stack.ID), string(got.copied.StackID))
	compare("RequestId", string(r.ID), string(got.copied.RequestID))
	compare("LogicalResourceId", string(r.Logical), string(got.copied.LogicalID))
	if is := r.Body.PhysicalID; r.Type == wire.Delete && is != "" && got.id != "" {
		compare("PhysicalResourceId", string(is), string(got.id))
	}
	if len(texts) == 0 {
		return ""
	}
	return "the answer has " + strings.Join(texts, ", ")
}

// quoted quotes a value of an answer for people: without secrets, in one line, at most [maxQuoted] bytes of it.
func (m *machine) quoted(r *store.Request, got answer, text string) string {
	text = wire.Redact(m.scrub(r, text, got.data))
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return strconv.Quote(text)
}

// holdCopies puts an answer with wrong copies on record. A service knows the request by the URL that the answer was sent to, and takes
// the answer; only ROS documents the copies as required, so there [FidelityAWS] takes a success for a failure. The id in it still
// counts: what was made has to be deleted. An answer that fails anyway keeps its reason.
func (m *machine) holdCopies(r *store.Request, v *verdict, got answer) {
	text := m.mismatches(r, got)
	switch {
	case text == "" || got.problem != "":
	case v.success && m.environment.fidelity == FidelityAWS && m.dialect.wire() == wire.ROS:
		v.success = false
		v.reason = m.failure(failedInAnswer, r.Logical, text+". Copy these fields from the request (RequestId: "+string(r.ID)+")")
	default:
		m.audit(r, text+"; Pintle accepted it, because the response URL identifies the request")
	}
}
