// Package check tests a provider: it sends the request sequences that CloudFormation or ROS sends, including
// failures, and compares the answers with the rules of the protocol. The provider may be written in any language and
// run in any place that package harness reaches.
//
// A [Scenario] is such a sequence. It has its own resources and deletes them at the end. A [Rule] states a requirement and why it
// matters; an answer that breaks a rule is a [Finding]. Every scenario checks the rules about a single answer. Rules about
// several answers have their own scenarios. Where a provider has a free choice, there is no finding, or a [Note] if users should
// know about it.
//
// A scenario without the input it needs, such as properties that the provider refuses, does not run and reports the missing input.
//
// No text of a report holds a secret: the signatures of response URLs are left out, and the values of secret properties are
// masked.
package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/base/suggest"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config].
const (
	DefaultTimeout = 30 * time.Second
	DefaultSettle  = time.Second
	DefaultRegion  = "us-east-1"
	DefaultAccount = "000000000000"
)

// Config describes the provider and the checks to run.
type Config struct {
	// Session says which provider it is and how it is reached. Its Log is set by [Run]. Required.
	Session harness.SessionConfig
	// Dialect is whose requests are sent. The zero Dialect is CloudFormation's.
	Dialect wire.Dialect
	// ServiceToken is the token by which a template would name the provider. Empty means that of a Lambda function, or of ROS's
	// Function Compute, with the provider's name; for a URL that URL.
	ServiceToken wire.ServiceToken
	// ResourceType is the type of the resources. Empty means the only one that the provider publishes, or Custom::Test.
	ResourceType string
	// Region is that of the stacks. Empty means [DefaultRegion], for ROS cn-hangzhou.
	Region string
	// SNS wraps each request in a notification of SNS.
	SNS bool
	// Properties are those of the resources, a JSON object as a template has it, without ServiceToken. Nil means those that
	// fit the schema that the provider publishes, or none.
	Properties json.RawMessage
	// Update are properties that a resource can be updated to in place, Replace those that it must be replaced for, and Bad
	// those that the provider refuses. Nil means that they are derived where they can be.
	Update, Replace, Bad json.RawMessage
	// MayReplace says that it is not known whether Update changes a resource in place or replaces it, as for a recorded request.
	MayReplace bool
	// Secrets names properties with secret values, in addition to those that the schema or their name marks as secret.
	Secrets []string
	// SecretValues are values that are secret wherever they stand, as those of NoEcho parameters.
	SecretValues []string
	// Timeout is how long an answer may take. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Settle is how long an answer may take after the handler has returned. Zero means [DefaultSettle] for processes of this
	// machine, and Timeout for everybody else, of whom it is not known whether they are done.
	Settle time.Duration
	// Only are the scenarios that are run, by ID, and the rules that are looked at; empty for all. Skip are those that are not.
	Only, Skip []string
	// Verify reads resources after answers. Nil leaves out the rules that need it.
	Verify Reader
	// Progress is called with each scenario before it runs. Nil means that it is not called.
	Progress func(Scenario)
	// Log gets each redacted line that the provider's processes print. Nil drops them, except that the error for a
	// provider that does not start ends with its last lines.
	Log func(line string)
}

// Severity is how bad it is that a rule is broken.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // it breaks stacks or loses data in normal operation
	Warning Severity = "warning" // it does so in rare cases, or hides errors from users
	Note    Severity = "note"    // a matter of taste, or of the purpose of the provider
)

// Result says how a scenario ended.
type Result string

// The results.
const (
	Passed Result = "passed" // no rule was broken; there may be notes
	Broken Result = "failed" // at least one error or warning was found
	NotRun Result = "not run"
)

// Report is the result of a check.
type Report struct {
	// ResourceType is the type that the resources had.
	ResourceType string
	// Outcomes are the scenarios, in the order in which they were run.
	Outcomes []Outcome
	// Findings are the rules that were broken, each no more than once for a scenario.
	Findings []Finding
	// Left are resources that may be left behind: a Delete did not succeed, or no answer has their ID.
	Left []Leftover
	// Requests is how many requests were sent, and Took how long it all took.
	Requests int
	Took     time.Duration
}

// Outcome is the result of one scenario with its details.
type Outcome struct {
	Scenario
	Result Result
	// Reason says why the scenario did not run, or stopped early, and which input it needs. It is empty if the scenario ran to its end.
	Reason string
	// Asked says that the user asked for the scenario: by its name, or with properties that only such scenarios use.
	Asked bool
	Steps []Step
	Took  time.Duration
}

// Step is one request of a scenario.
type Step struct {
	// Request and Response are summaries without secrets.
	Request, Response string
	Took              time.Duration
}

// Leftover is a resource that may be left behind.
type Leftover struct {
	// Scenario is the ID of the scenario that made it, What its physical ID or why that is not known.
	Scenario, What string
}

// Finding is a rule that was broken.
type Finding struct {
	Rule
	// Scenario is the ID of the scenario in which it was.
	Scenario string
	// Request is a JSON document without its response URL and with secrets masked. Response is a summary of the answer.
	Request, Response string
	// Detail describes the fault, in a sentence without its full stop.
	Detail string
	// Remedy describes the change that the handler needs.
	Remedy Remedy

	stream bool // whether the answer has the name of a log stream as its ID
}

// Count returns how many rules were broken with the severity, however many scenarios broke each.
func (r Report) Count(s Severity) int {
	broken := map[string]bool{}
	for _, f := range r.Findings {
		if f.Severity == s {
			broken[f.ID] = true
		}
	}
	return len(broken)
}

// Incomplete returns the scenarios that the user asked for and that were not run, or not to their end.
func (r Report) Incomplete() []Outcome {
	return slices.DeleteFunc(slices.Clone(r.Outcomes), func(o Outcome) bool { return !o.Asked || o.Result != NotRun })
}

// Clean reports whether there are neither errors nor warnings.
func (r Report) Clean() bool { return r.Count(Error)+r.Count(Warning) == 0 }

// ErrUsage is the error of [Run] for an unusable Config. Its text is for the author of the Config.
var ErrUsage = errors.New("this cannot be checked")

// ErrNotStarted is the error of [Run] for a provider whose process fails before it takes its first request.
var ErrNotStarted = errors.New("the provider did not start")

// Run checks the provider. The report has the faults of the provider. The error is for a check that could not run: an
// [ErrUsage], a [*local.BuildError], a [*local.SchemaError], an [ErrNotStarted], and the end of ctx.
func Run(ctx context.Context, c Config) (Report, error) {
	if err := c.complete(); err != nil {
		return Report{}, err
	}
	s := c.Session
	s.Log = func(_ wire.RequestID, line string) {
		if c.Log != nil {
			c.Log(line)
		}
	}
	session, err := harness.Open(ctx, s)
	if err != nil {
		return Report{}, err
	}
	r, err := newRun(ctx, c, session)
	if err == nil {
		err = r.all(ctx)
	}
	if err == nil {
		err = r.last(ctx)
	}
	err = errors.Join(err, session.Close())
	if err != nil {
		return Report{}, err
	}
	r.strays()
	r.merge()
	r.remedy()
	return r.report, nil
}

// complete sets the defaults.
func (c *Config) complete() error {
	ids := names()
	for _, name := range append(slices.Clone(c.Only), c.Skip...) {
		if !slices.Contains(ids, name) {
			hint := ""
			if near := suggest.Name(name, ids); near != "" {
				hint = ": did you mean " + near + "?"
			}
			return fmt.Errorf("%w: unknown rule or scenario %q%s", ErrUsage, name, hint)
		}
	}
	if !slices.ContainsFunc(scenarios, func(s scenario) bool { return c.plays(s.ID) }) {
		return fmt.Errorf("%w: every scenario is skipped", ErrUsage)
	}
	if c.Progress == nil {
		c.Progress = func(Scenario) {}
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	target := c.Session.Provider.Target
	away := c.Session.Send != nil || target.Kind() == local.URL
	if c.Settle == 0 {
		if c.Settle = DefaultSettle; away {
			c.Settle = c.Timeout
		}
	}
	ros := c.Dialect == wire.ROS
	if c.Region == "" {
		if c.Region = DefaultRegion; ros {
			c.Region = "cn-hangzhou"
		}
	}
	if c.ServiceToken == "" {
		name, arn := local.FunctionName(c.Session.Provider.Name), "arn:"+wire.Partition(c.Region)+":"
		if strings.Contains(c.Session.Provider.Name, "://") {
			name = "Test" // the query of a URL may hold a key
		}
		switch {
		case target.Kind() == local.URL && ros:
			c.ServiceToken = wire.ServiceToken("web:" + target.Path())
		case target.Kind() == local.URL && !c.SNS:
			c.ServiceToken = wire.ServiceToken(target.Path())
		case ros:
			c.ServiceToken = wire.ServiceToken("acs:fc:" + c.Region + ":" + rosAccount + ":functions/" + name)
		case c.SNS:
			c.ServiceToken = wire.ServiceToken(arn + "sns:" + c.Region + ":" + DefaultAccount + ":" + name)
		default:
			c.ServiceToken = wire.ServiceToken(arn + "lambda:" + c.Region + ":" + DefaultAccount + ":function:" + name)
		}
	}
	return nil
}

// plays reports whether a scenario is run.
func (c *Config) plays(id string) bool {
	only := slices.DeleteFunc(slices.Clone(c.Only), isRule)
	return !slices.Contains(c.Skip, id) && (len(only) == 0 || slices.Contains(only, id))
}

const rosAccount = "0000" + DefaultAccount

// names returns the IDs of all rules and scenarios.
func names() []string {
	var ids []string
	for _, r := range rules {
		ids = append(ids, r.ID)
	}
	for _, s := range scenarios {
		ids = append(ids, s.ID)
	}
	return ids
}

// run is one check.
type run struct {
	config  Config
	session *harness.Session
	report  Report
	stacks  int
	given   properties
	secrets []string // values that no answer or log may show
	masked  []string // secrets, and other values that reports mask
	short   []string // others that are too short to be looked for in a text
	// address lists parts of the provider's URL that may be passwords.
	address []string
	// silent counts the requests of each type that were waited for to no avail.
	silent  map[wire.RequestType]int
	lasting []lasting     // requests that were answered and not ended
	slowest time.Duration // answer that came
	// created says that the provider has created a resource, or whether that has not been tried yet.
	created state
	// deleted means that the provider has answered SUCCESS to the Delete of a resource that it had created.
	deleted bool
	refusal string // why it has not
	// form is the schema of the properties, or nil.
	form *schema.Schema
	// reads and plans say that the provider declares the optional requests for the type.
	reads, plans bool
	skipped      map[string]bool
	// sent has the scenario of each request, for answers that arrive after the scenario has finished.
	sent map[wire.RequestID]string
}

type state int

const (
	untried state = iota
	yes
	no
)

func newRun(ctx context.Context, c Config, session *harness.Session) (*run, error) {
	r := &run{
		config: c, session: session,
		silent: map[wire.RequestType]int{}, skipped: map[string]bool{}, sent: map[wire.RequestID]string{},
	}
	for _, name := range c.Skip {
		r.skipped[name] = true
	}
	if limited := slices.DeleteFunc(slices.Clone(c.Only), func(name string) bool { return !isRule(name) }); len(limited) > 0 {
		for _, rule := range rules {
			if !slices.Contains(limited, rule.ID) {
				r.skipped[rule.ID] = true
			}
		}
	}
	text, err := session.Schema(ctx)
	if local.CannotRun(err) || ctx.Err() != nil {
		return nil, err
	}
	published, err := schema.Parse(text)
	if err != nil {
		published = nil // a provider need not have one, or not a good one
	}
	if r.config.ResourceType == "" {
		r.config.ResourceType = "Custom::Test"
		if published != nil && len(published.Names()) == 1 {
			r.config.ResourceType = published.Names()[0]
		}
	}
	r.report.ResourceType = r.config.ResourceType
	if published != nil {
		of := published.Type(r.config.ResourceType)
		r.form, r.reads, r.plans = of.Properties, of.Reads, of.Plans
	}
	if r.given, err = c.properties(r.form); err != nil {
		return nil, err
	}
	r.secrets, r.masked, r.short = r.given.secrets(r.form, &c)
	if c.Properties != nil {
		if err := r.given.unnamed(c.Secrets); err != nil {
			return nil, err
		}
	}
	if u, err := url.Parse(string(r.config.ServiceToken)); err == nil && u.Host != "" {
		r.address = slices.DeleteFunc([]string{u.RawQuery, u.User.String()}, func(text string) bool { return text == "" })
	}
	return r, nil
}

// all runs the scenarios.
func (r *run) all(ctx context.Context) error {
	start := time.Now()
	for _, s := range scenarios {
		if !r.config.plays(s.ID) || s.optional != nil && !s.optional(r) && !slices.Contains(r.config.Only, s.ID) {
			continue
		}
		r.config.Progress(s.Scenario)
		began := time.Now()
		found := len(r.report.Findings)
		sc := &scene{findings: findings{run: r, id: s.ID}, ctx: ctx}
		err := sc.play(s)
		var no *notRun
		switch {
		case errors.As(err, &no):
			sc.outcome.Reason = no.reason
		case err != nil:
			return err
		}
		o := sc.outcome
		o.Scenario, o.Took, o.Result, o.Asked = s.Scenario, time.Since(began), Passed, r.asked(s)
		for _, f := range r.report.Findings[found:] {
			if f.Severity != Note {
				o.Result = Broken
			}
		}
		if o.Result == Passed && o.Reason != "" {
			o.Result = NotRun
		}
		r.report.Outcomes = append(r.report.Outcomes, o)
	}
	r.report.Took = time.Since(start)
	return nil
}

// asked reports whether the user asked for a scenario. Properties ask for all that need a resource, if none was made of them.
func (r *run) asked(s scenario) bool {
	c := r.config
	return slices.Contains(c.Only, s.ID) || s.uses != nil && s.uses(c) != nil || s.needs && r.created == no && c.Properties != nil
}

// lasting is a request whose provider had answered and went on.
type lasting struct {
	scene *scene
	reply reply
}

// last looks how the first of those ended that had answered and went on: all of its time may have passed meanwhile, and if that is
// very long it gets some more.
func (r *run) last(ctx context.Context) (err error) {
	if len(r.lasting) == 0 {
		return nil
	}
	s, p, before := r.lasting[0].scene, r.lasting[0].reply, len(r.report.Findings)
	limited, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	if p.End, err = r.session.End(limited, p.Request.RequestID); err != nil {
		p.End.Kind = local.TimedOut
	}
	judgment{s}.ending(p, false)
	if i := slices.IndexFunc(r.report.Outcomes, func(o Outcome) bool { return o.ID == s.id }); len(r.report.Findings) > before {
		r.report.Outcomes[i].Result = Broken
	}
	return ctx.Err()
}

// notRun is the error of a scenario that cannot be run, or not to its end.
type notRun struct{ reason string }

func (e *notRun) Error() string { return e.reason }

// mask takes secrets out of a text.
func (r *run) mask(text string) string {
	var known redact.Secrets
	known.Add(r.masked...)
	known.Add(r.address...)
	return known.Mask(wire.Redact(text))
}

// strays judges answers that came after their requests had finished.
func (r *run) strays() {
	for _, stray := range r.session.Strays() {
		i := slices.IndexFunc(r.report.Outcomes, func(o Outcome) bool { return o.ID == r.sent[stray.RequestID] })
		if !taken(stray.Attempt) || i < 0 || r.skipped["answered-late"] || slices.ContainsFunc(r.report.Findings, func(f Finding) bool {
			return f.ID == "answered-late"
		}) {
			continue
		}
		r.report.Outcomes[i].Result = Broken
		r.report.Findings = append(r.report.Findings, Finding{
			Rule: ruleOf("answered-late").In(r.config.Dialect), Scenario: r.report.Outcomes[i].ID, Request: "request " + string(stray.RequestID),
			Response: fmt.Sprintf("an answer of %d bytes", len(stray.Body)), Detail: "an answer arrived after its request had finished",
		})
	}
}
