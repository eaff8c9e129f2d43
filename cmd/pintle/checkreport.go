package main

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/wire"
)

// checkDocument is the document of check -o json.
type checkDocument struct {
	Target       string             `json:"target"`
	ResourceType string             `json:"resourceType"`
	Clean        bool               `json:"clean"`
	Complete     bool               `json:"complete"`
	Requests     int                `json:"requests"`
	Seconds      float64            `json:"seconds"`
	Scenarios    []scenarioDocument `json:"scenarios"`
	Findings     []findingDocument  `json:"findings"`
	Left         []leftDocument     `json:"left"`
}

// leftDocument is a resource that may be left behind.
type leftDocument struct {
	Scenario string `json:"scenario"`
	What     string `json:"what"`
}

type scenarioDocument struct {
	ID      string         `json:"id"`
	Title   string         `json:"title"`
	Result  check.Result   `json:"outcome"`
	Asked   bool           `json:"asked"`
	Reason  string         `json:"reason,omitempty"`
	Steps   []stepDocument `json:"steps"`
	Seconds float64        `json:"seconds"`
}

type stepDocument struct {
	Request  string  `json:"request"`
	Response string  `json:"response"`
	Seconds  float64 `json:"seconds"`
}

type findingDocument struct {
	ruleDocument
	Scenario string         `json:"scenario"`
	Detail   string         `json:"detail"`
	Request  string         `json:"request"`
	Response string         `json:"response"`
	Remedy   remedyDocument `json:"remedy"`
}

// remedyDocument is a remedy, with code in the first finding of a rule if the handler's language has a snippet.
type remedyDocument struct {
	Text     string `json:"text"`
	Snippet  string `json:"snippet,omitempty"`
	Language string `json:"language,omitempty"`
}

type ruleDocument struct {
	Rule      string         `json:"rule"`
	Severity  check.Severity `json:"severity"`
	Statement string         `json:"statement"`
	Why       string         `json:"why"`
}

// listedDocument is a rule in a list.
type listedDocument struct {
	ruleDocument
	Remedy string `json:"remedy"`
}

func ruleOf(r check.Rule) ruleDocument { return ruleDocument{r.ID, r.Severity, r.Statement, r.Why} }

// checkReport prints a report, and returns the error that the command ends with.
func (a *checkCommands) checkReport(output, target string, r check.Report) error {
	var err error
	target = withoutPassword(target)
	switch output {
	case "json":
		err = a.document(checkedDocument(target, r))
	case "junit":
		err = writeJUnit(a.stdout, target, r)
	default:
		err = a.printCheck(r)
	}
	left := r.Incomplete()
	switch {
	case err != nil:
		return err
	case !r.Clean():
		return failed(fmt.Errorf("%s in %s", counted(r, check.Error, check.Warning), target))
	case len(left) > 0:
		var names []string
		for _, o := range left {
			names = append(names, o.ID)
		}
		return &failure{
			code: exitIncomplete, err: fmt.Errorf("not run, or not completed: %s", strings.Join(names, ", ")),
			hints: []string{"the report says what each needs; leave one out with --skip NAME"},
		}
	}
	return nil
}

// withoutPassword returns a target as it may be shown: of a URL neither the user nor the query.
func withoutPassword(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return target
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// counted says how many findings there are of each severity.
func counted(r check.Report, severities ...check.Severity) string {
	var parts []string
	for _, s := range severities {
		parts = append(parts, number(r.Count(s), string(s)))
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return strings.Join(parts, "")
}

// number returns a number with a noun in the singular or plural.
func number(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

func checkedDocument(target string, r check.Report) checkDocument {
	d := checkDocument{
		Target: target, ResourceType: r.ResourceType, Clean: r.Clean(), Complete: len(r.Incomplete()) == 0,
		Requests: r.Requests, Seconds: r.Took.Seconds(),
		Scenarios: []scenarioDocument{}, Findings: []findingDocument{}, Left: []leftDocument{},
	}
	for _, o := range r.Outcomes {
		one := scenarioDocument{o.ID, o.Title, o.Result, o.Asked, o.Reason, []stepDocument{}, o.Took.Seconds()}
		for _, s := range o.Steps {
			one.Steps = append(one.Steps, stepDocument{s.Request, s.Response, s.Took.Seconds()})
		}
		d.Scenarios = append(d.Scenarios, one)
	}
	for _, f := range r.Findings {
		d.Findings = append(d.Findings, findingDocument{
			ruleOf(f.Rule), f.Scenario, f.Detail, f.Request, f.Response, remedyDocument(f.Remedy),
		})
	}
	for _, l := range r.Left {
		d.Left = append(d.Left, leftDocument(l))
	}
	return d
}

// maxResponse bounds the part of an answer in a row of the table, in characters.
const maxResponse = 90

// printCheck prints a report as text: requests and answers, then findings.
func (a *checkCommands) printCheck(r check.Report) error {
	var out strings.Builder
	rows := [][]string{{"SCENARIO", "RESULT", "REQUEST", "RESPONSE"}}
	results := map[check.Result]int{}
	for _, o := range r.Outcomes {
		results[o.Result]++
		if len(o.Steps) == 0 {
			rows = append(rows, []string{o.ID, string(o.Result)})
		}
		for i, s := range o.Steps {
			row := []string{"", "", s.Request, cut(s.Response, maxResponse)}
			if i == 0 {
				row[0], row[1] = o.ID, string(o.Result)
			}
			rows = append(rows, row)
		}
	}
	fmt.Fprint(&out, display.Columns(rows))
	printReasons(&out, r.Outcomes)
	for _, group := range grouped(r.Findings) {
		printFinding(&out, group)
	}
	printLeft(&out, r.Left)
	fmt.Fprintf(&out, "\n%s: %s passed, %d failed, %d not run; %s; %s in %s\n", display.Clean(r.ResourceType),
		number(results[check.Passed], "scenario"), results[check.Broken], results[check.NotRun],
		counted(r, check.Error, check.Warning, check.Note), number(r.Requests, "request"), r.Took.Round(time.Millisecond))
	_, err := io.WriteString(a.stdout, out.String())
	return err
}

// printReasons says of the scenarios that were not run, or not to their end, why; once for those with the same reason.
func printReasons(out io.Writer, outcomes []check.Outcome) {
	var reasons []string
	scenarios := map[string][]string{}
	for _, o := range outcomes {
		if o.Reason == "" {
			continue
		}
		if scenarios[o.Reason] == nil {
			reasons = append(reasons, o.Reason)
		}
		scenarios[o.Reason] = append(scenarios[o.Reason], o.ID)
	}
	for _, reason := range reasons {
		fmt.Fprintf(out, "\nnot run, or not completed: %s: %s\n", strings.Join(scenarios[reason], ", "), display.Clean(reason))
	}
}

// printLeft names the resources that may be left behind.
func printLeft(out io.Writer, left []check.Leftover) {
	const most = 20
	for i, l := range left {
		switch {
		case i == 0:
			fmt.Fprint(out, "\nmay be left behind, delete what exists by hand:\n")
		case i == most:
			fmt.Fprintf(out, "  and %d more\n", len(left)-most)
			return
		}
		fmt.Fprintf(out, "  %s: %s\n", l.Scenario, display.Clean(l.What))
	}
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// grouped puts findings of one rule together, those that are bad first.
func grouped(findings []check.Finding) [][]check.Finding {
	var groups [][]check.Finding
	for _, f := range findings {
		if i := slices.IndexFunc(groups, func(g []check.Finding) bool { return g[0].ID == f.ID }); i >= 0 {
			groups[i] = append(groups[i], f)
		} else {
			groups = append(groups, []check.Finding{f})
		}
	}
	rank := []check.Severity{check.Error, check.Warning, check.Note}
	slices.SortStableFunc(groups, func(a, b []check.Finding) int {
		return cmp.Compare(slices.Index(rank, a[0].Severity), slices.Index(rank, b[0].Severity))
	})
	return groups
}

// printFinding shows where a rule was broken first, and names the other scenarios.
func printFinding(out io.Writer, group []check.Finding) {
	f := group[0]
	fmt.Fprintf(out, "\n%s: %s [%s]\n", f.Severity, display.Clean(f.Detail), f.ID)
	note := func(label, text string) {
		if text != "" {
			fmt.Fprintf(out, "  %-8s  %s\n", label, display.Clean(text))
		}
	}
	scenario := f.Scenario
	if len(group) > 1 {
		var others []string
		for _, other := range group[1:] {
			others = append(others, other.Scenario)
		}
		scenario += ", and in " + strings.Join(others, ", ")
	}
	note("rule", f.Statement)
	note("why", f.Why)
	note("fix", f.Remedy.Text)
	fmt.Fprint(out, margined(f.Remedy.Snippet, 12))
	note("scenario", scenario)
	note("request", f.Request)
	note("response", f.Response)
}

// margined returns the lines of a text, each after so many spaces. It is empty for an empty text.
func margined(text string, spaces int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			out.WriteString(strings.Repeat(" ", spaces) + line)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// listChecks lists the scenarios and rules, in the words of ROS or of CloudFormation.
func (a *checkCommands) listChecks(output string, ros bool) error {
	dialect := wire.CloudFormation
	if ros {
		dialect = wire.ROS
	}
	switch output {
	case "text":
	case "json":
		d := struct {
			Scenarios []map[string]string `json:"scenarios"`
			Rules     []listedDocument    `json:"rules"`
		}{}
		for _, s := range check.Scenarios() {
			d.Scenarios = append(d.Scenarios, map[string]string{"id": s.ID, "title": s.Title})
		}
		for _, r := range check.Rules() {
			r = r.In(dialect)
			d.Rules = append(d.Rules, listedDocument{ruleOf(r), r.Fix})
		}
		return a.document(d)
	default:
		return usagef("", "--output %q: a list is text or json", output)
	}
	scenarios, rules := [][]string{{"SCENARIO", "SENDS"}}, [][]string{{"RULE", "SEVERITY", "ASKS THAT"}}
	for _, s := range check.Scenarios() {
		scenarios = append(scenarios, []string{s.ID, s.Title})
	}
	for _, r := range check.Rules() {
		r = r.In(dialect)
		rules = append(rules, []string{r.ID, string(r.Severity), r.Statement})
	}
	_, err := fmt.Fprintf(a.stdout, "%s\n%s", display.Columns(scenarios), display.Columns(rules))
	return err
}

// The document of JUnit, as CI systems read it: a test case for each scenario.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Skipped *junitText `xml:"skipped"`
	Error   *junitText `xml:"error"`
	Failure *junitText `xml:"failure"`
	Output  string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func writeJUnit(w io.Writer, target string, r check.Report) error {
	suite := junitSuite{Name: "pintle check " + target, Tests: len(r.Outcomes), Time: fraction(r.Took)}
	for _, o := range r.Outcomes {
		var failures []junitText
		one := junitCase{Class: "pintle.check", Name: o.ID, Time: fraction(o.Took)}
		var output strings.Builder
		for _, s := range o.Steps {
			fmt.Fprintf(&output, "%s: %s\n", s.Request, s.Response)
		}
		for _, f := range r.Findings {
			if f.Scenario != o.ID {
				continue
			}
			text := fmt.Sprintf("rule: %s\nwhy: %s\nfix: %s\n%srequest: %s\nresponse: %s\n",
				f.Statement, f.Why, f.Remedy.Text, margined(f.Remedy.Snippet, 4), f.Request, f.Response)
			if f.Severity == check.Note {
				fmt.Fprintf(&output, "note: %s [%s]\n", f.Detail, f.ID)
			} else {
				failures = append(failures, junitText{f.Detail, f.ID, text})
			}
		}
		one.Output, one.Failure = output.String(), joined(failures)
		switch o.Result {
		case check.Broken:
			suite.Failures++
		case check.NotRun:
			if o.Asked {
				suite.Errors++
				one.Error = &junitText{Message: o.Reason, Type: "not-run"}
			} else {
				suite.Skipped++
				one.Skipped = &junitText{Message: o.Reason}
			}
		case check.Passed:
		}
		suite.Cases = append(suite.Cases, one)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	_, err := io.WriteString(w, xml.Header)
	err = errors.Join(err, enc.Encode(suite))
	_, last := io.WriteString(w, "\n")
	return errors.Join(err, last)
}

// joined makes one failure of those of a test case, since CI systems read no more than one.
func joined(failures []junitText) *junitText {
	if len(failures) == 0 {
		return nil
	}
	one := failures[0]
	if len(failures) > 1 {
		one.Message = fmt.Sprintf("%s, and %d more", one.Message, len(failures)-1)
		one.Text = ""
		for _, f := range failures {
			one.Text += fmt.Sprintf("%s [%s]\n%s\n", f.Message, f.Type, f.Text)
		}
	}
	return &one
}

func fraction(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
