package engine

import (
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// withheldText replaces a provider's text when the secrets that it may contain cannot be read.
const withheldText = "the text is withheld: it may contain secrets, which cannot be read now"

// answers reads the answers of providers and turns outcomes into results.
type answers struct{ *decision }

// read reads an answer. It marks secrets in the answer that are in no row.
func (d answers) read(r *store.Request, outcome Outcome) answer {
	got := d.dialect.answer(outcome.Body, outcome.Size, r)
	if outcome.withheld {
		got.data = got.data.Tainted(value.OfAttribute)
		for _, text := range []*string{&got.reason, &got.problem, &got.explained} {
			if *text != "" {
				*text = withheldText
			}
		}
	}
	got.data = got.data.TaintedWith(outcome.hidden)
	return got
}

// resultOf turns an outcome into a result.
func (d answers) resultOf(r *store.Request, outcome Outcome) result {
	words := d.dialect.texts()
	switch outcome.Kind {
	case Answered:
		got := d.read(r, outcome)
		d.tellAnswer(r, outcome, &got)
		v := result{success: got.success, id: got.id, reached: true, data: got.data, noEcho: got.noEcho}
		switch {
		case got.problem != "" && d.fidelity == FidelityAWS:
			v.id, v.reason = "", d.failure(failedInAnswer, r.Logical, d.redact(r, got.problem, got.data))
		case got.problem != "":
			v.reason = d.failure(failedInAnswer, r.Logical, d.redact(r, got.explained, got.data)+" (RequestId: "+string(r.ID)+")")
		case !got.success:
			v.reason = d.failure(failedByProvider, r.Logical, words.failed(d.redact(r, got.reason, got.data), r.ID))
		}
		if r.Type == store.TypeImport {
			d.checkImported(r, &v, got.state)
		}
		d.checkID(r, &v, got)
		d.checkCopies(r, &v, got)
		return v
	case Provided:
		v := result{
			success: outcome.Text == "", id: outcome.Result.PhysicalID, reached: true,
			data: outcome.Result.Attributes, ref: outcome.Result.Ref, held: outcome.Held,
		}
		if r.Body.Aim == store.AimReach && !v.success && v.id == "" && holder(r) == r.First {
			v.reached = false // nothing was begun
		}
		if !v.success {
			v.reason = d.failure(failedByNative, r.Logical, d.redact(r, outcome.Text, v.data, v.ref))
		}
		return v
	case TimedOut:
		text := words.timedOut(r.ID) + pollRequests(d).lastSaid(r, " Its provider said last: ")
		if r.Silence != nil && d.fidelity != FidelityAWS {
			text += " Its handler had returned without an answer."
		}
		return result{reason: d.failure(failedInTime, r.Logical, text), reached: true}
	case Refused, Died:
		// A node that died may have delivered the request without recording it.
		reached := outcome.Delivered || holder(r) != r.First
		text := outcome.Text
		if len(outcome.Log) > 0 {
			text += "\nLast lines of its log:\n" + strings.Join(outcome.Log, "\n")
		}
		return result{reason: d.failure(failedInDelivery, r.Logical, d.redact(r, text)), reached: reached}
	case Accepted, Awaiting, Waiting, Silent, Returned:
	}
	return result{reason: "unknown outcome", reached: true}
}

// checkID removes another resource's ID from a result if an Update cannot replace the resource.
func (d answers) checkID(r *store.Request, v *result, got answer) {
	is := r.Body.PhysicalID
	if !d.dialect.rules().idsStay || r.Type != wire.Update || v.id == "" || is == "" || v.id == is {
		return
	}
	words := d.dialect.texts()
	v.id = ""
	switch {
	case !v.success:
	case d.rosIDChange == IDChangeIgnored:
		d.audit(r, d.redact(r, words.idIgnored(is, got.id), got.data))
	default:
		v.success = false
		v.reason = d.failure(failedByID, r.Logical, d.redact(r, words.idChanged(is, got.id), got.data)+" (RequestId: "+string(r.ID)+")")
	}
}

// mismatches describes the fields of an answer that differ from its request: StackId, RequestId, LogicalResourceId
// and PhysicalResourceId (only of a Delete). It is empty if all match. It masks secrets and truncates long values.
func (d answers) mismatches(r *store.Request, got answer) string {
	var texts []string
	compare := func(field, want, is string) {
		switch {
		case is == want:
		case is == "":
			texts = append(texts, "no "+field)
		default:
			texts = append(texts, field+" "+d.quote(r, got, is)+" instead of "+d.quote(r, got, want))
		}
	}
	compare("StackId", string(d.stack.ID), string(got.copied.StackID))
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

// maxQuoted is the number of bytes that a text quotes of a provider's value.
const maxQuoted = 100

// quote quotes a value of an answer for people, on one line. It masks secrets and truncates the value to [maxQuoted]
// bytes.
func (d answers) quote(r *store.Request, got answer, text string) string {
	text = wire.Redact(d.redact(r, text, got.data))
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return strconv.Quote(text)
}

// checkCopies records an answer whose copied fields are wrong. A service identifies the request by the response URL,
// so it accepts the answer. Only ROS documents the copied fields as required, so there [FidelityAWS] turns a success
// into a failure. The ID in the answer still counts, because the created resource has to be deleted. A failed answer
// keeps its reason.
func (d answers) checkCopies(r *store.Request, v *result, got answer) {
	text := d.mismatches(r, got)
	switch {
	case text == "" || got.problem != "":
	case v.success && d.environment.fidelity == FidelityAWS && d.dialect.wire() == wire.ROS:
		v.success = false
		v.reason = d.failure(failedInAnswer, r.Logical, text+". Copy these fields from the request (RequestId: "+string(r.ID)+")")
	default:
		d.auditCopies(r, text)
	}
}

// auditCopies records the mismatches of an answer that counts nevertheless.
func (d answers) auditCopies(r *store.Request, mismatches string) {
	d.audit(r, mismatches+"; Pintle accepted it, because the response URL identifies the request")
}
