package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// findings reports which rules the answers in a scenario break, and what the provider leaves behind.
type findings struct {
	run    *run
	id     string   // of the scenario
	quiet  []string // rules that do not matter here
	mute   bool     // nothing is judged
	ledger []*entry
}

// find notes that a rule is broken, once in a scenario.
func (fi *findings) find(rule string, p reply, format string, args ...any) {
	fi.findAs(ruleOf(rule).Severity, rule, p, format, args...)
}

// findAs is find for a case that is worse, or less bad, than the rule in general.
func (fi *findings) findAs(severity Severity, rule string, p reply, format string, args ...any) {
	report := &fi.run.report
	if fi.mute || fi.run.skipped[rule] || slices.Contains(fi.quiet, rule) || slices.ContainsFunc(report.Findings, func(f Finding) bool {
		return f.ID == rule && f.Scenario == fi.id
	}) {
		return
	}
	broken := ruleOf(rule).In(fi.run.config.Dialect)
	broken.Severity = severity
	report.Findings = append(report.Findings, Finding{
		Rule: broken, Scenario: fi.id, Request: fi.requestText(p), Response: fi.responseText(p), Detail: fi.shown(fmt.Sprintf(format, args...)),
		stream: logStream.MatchString(string(p.Response.PhysicalResourceID)),
	})
}

func (fi *findings) shown(text string) string {
	text = fi.run.mask(wire.CleanText(text))
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}

// responseText summarizes a response.
func (fi *findings) responseText(p reply) string {
	switch a := p.Response; {
	case p.Problem != nil:
		return fi.shown(p.Problem.Error())
	case p.planned != nil && p.planned.Reason != "":
		return fi.shown(string(p.planned.Change) + ": " + p.planned.Reason)
	case p.planned != nil:
		return string(p.planned.Change)
	case a.State != nil && a.State.Gone:
		return fi.shown(fmt.Sprintf("%s %s, gone, %d bytes", a.Status, a.PhysicalResourceID, p.Size))
	case a.Status == wire.Failed && a.Reason != "":
		return fi.shown(fmt.Sprintf("FAILED %s, %d bytes: %s", a.PhysicalResourceID, p.Size, a.Reason))
	default:
		return fi.shown(fmt.Sprintf("%s %s, %d bytes", a.Status, a.PhysicalResourceID, p.Size))
	}
}

// requestText returns the request as it may be seen.
func (fi *findings) requestText(p reply) string {
	r := p.Request
	r.ResponseURL, r.IntranetResponseURL, r.InnerResponseURL = "", "", ""
	text, err := r.Encode()
	if err != nil {
		return p.what
	}
	text = bytes.Replace(text, []byte(`"ResponseURL":"",`), nil, 1)
	if v, err := value.Parse(text); err == nil {
		text = fi.run.shortened(v).JSON()
	}
	return fi.run.mask(string(text))
}
