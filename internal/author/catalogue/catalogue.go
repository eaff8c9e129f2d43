// Package catalogue lists every error and finding that Pintle reports by a code: the failures of stacks, the remarks about answers, the
// rules of check and of validate, the error types of functions and the errors of the SDK. A code is permanent. Its entry has a title, a
// cause and a remedy.
//
// The rules are those of packages check and diagnosis, in their words. Reasons of failures and entries of the audit list carry no code:
// their words are those of CloudFormation and ROS, which do not change, so [Of] and [OfRemark] find the code by them.
package catalogue

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/author/diagnosis"
	"github.com/pintle-dev/pintle/internal/base/suggest"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/wire"
)

// Group is the part of Pintle that reports a code.
type Group string

// The groups, in the order of [Entries].
const (
	Failures Group = "failure"  // of a resource, in deploy, delete, describe and events
	Remarks  Group = "remark"   // an entry of the audit list
	Check    Group = "check"    // a rule of pintle check
	Validate Group = "validate" // a rule of pintle validate, which deploy applies too
	Function Group = "function" // the errorType of a function or provider
	SDK      Group = "sdk"      // an error of the Go packages
)

// Groups returns the groups with their titles, in order.
func Groups() []struct {
	Group Group
	Title string
} {
	return []struct {
		Group Group
		Title string
	}{
		{Failures, "Failures of resources"},
		{Remarks, "Remarks in the audit list"},
		{Check, "Rules of pintle check"},
		{Validate, "Rules of pintle validate and pintle deploy"},
		{Function, "Error types of functions and providers"},
		{SDK, "Errors of the Go SDK"},
	}
}

// Entry is a code with its meaning.
type Entry struct {
	// Code is permanent, and unique regardless of case. Codes of Go packages and error types are spelled as they are printed.
	Code  string `json:"code"`
	Group Group  `json:"group"`
	// Title is a sentence that names the failure or, for a rule, states the rule. Cause explains it, and Remedy says how to fix it.
	Title  string `json:"title"`
	Cause  string `json:"cause"`
	Remedy string `json:"remedy"`
	// ROS are the words for ROS; nil if they are the same.
	ROS *Words `json:"ros,omitempty"`
	// Related are codes of entries about the same subject.
	Related []string `json:"related,omitempty"`
}

// Words are the texts of an entry.
type Words struct {
	Title  string `json:"title"`
	Cause  string `json:"cause"`
	Remedy string `json:"remedy"`
}

// Entries returns the whole catalogue, by groups.
func Entries() []Entry {
	list := slices.Concat(faultEntries(), remarkEntries())
	for _, r := range check.Rules() {
		e := Entry{Code: r.ID, Group: Check, Title: sentence(r.Statement), Cause: sentence(r.Why), Remedy: sentence(r.Fix)}
		ros := r.In(wire.ROS)
		if words := (Words{sentence(ros.Statement), sentence(ros.Why), sentence(ros.Fix)}); words != (Words{e.Title, e.Cause, e.Remedy}) {
			e.ROS = &words
		}
		list = append(list, e)
	}
	for _, r := range diagnosis.Rules() {
		e := Entry{
			Code: r.ID, Group: Validate, Title: sentence(r.Title), Cause: "The template, or a value that it is given, breaks this rule.",
			Remedy: sentence(cmp.Or(r.Remedy, "fix what the message names")),
		}
		if ros := r.In(template.ROS); ros.Remedy != r.Remedy {
			e.ROS = &Words{e.Title, e.Cause, sentence(ros.Remedy)}
		}
		list = append(list, e)
	}
	return slices.Concat(list, functionEntries(), sdkEntries())
}

// Find returns the entry with a code, in any case.
func Find(code string) (Entry, bool) {
	entries := Entries()
	i := slices.IndexFunc(entries, func(e Entry) bool { return strings.EqualFold(e.Code, code) })
	if i < 0 {
		return Entry{}, false
	}
	return entries[i], true
}

// Near returns codes that an unknown one may have been meant for: the one with the fewest different letters, else those that it is a
// part of. It returns at most three.
func Near(code string) []string {
	var all, parts []string
	for _, e := range Entries() {
		all = append(all, e.Code)
		if len(code) >= 3 && strings.Contains(strings.ToLower(e.Code), strings.ToLower(code)) {
			parts = append(parts, e.Code)
		}
	}
	if near := suggest.Name(code, all); near != "" {
		return []string{near}
	}
	return parts[:min(len(parts), 3)]
}

// sentence returns a text that begins in upper case and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, _, _ := strings.Cut(text, " ")
	if first == strings.ToLower(first) && !strings.ContainsAny(first, "_.\"{") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
