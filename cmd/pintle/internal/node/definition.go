package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

// Definition describes the program behind a provider's name. Commands send it to servers.
type Definition struct {
	// Target is an absolute path or an http(s) URL. It is empty if OnEvent or Builtin is set.
	Target string `json:"target,omitempty"`
	// Lambda, of a macro, is the ARN of the function that it stands for; then there is nothing else.
	Lambda string `json:"lambda,omitempty"`
	// Builtin is the name of a built-in provider, which needs none of Target, OnEvent, Env and Handler. Allow lists its permissions.
	Builtin string          `json:"builtin,omitempty"`
	Allow   []project.Allow `json:"allow,omitempty"`
	// OnEvent and IsComplete are the functions of a provider that is two, or one.
	OnEvent    *Function         `json:"onEvent,omitempty"`
	IsComplete *Function         `json:"isComplete,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	// Timeout, QueryInterval and TotalTimeout are durations such as "15m0s"; empty and zero mean the defaults, here and below.
	Timeout       string `json:"timeout,omitempty"`
	QueryInterval string `json:"queryInterval,omitempty"`
	TotalTimeout  string `json:"totalTimeout,omitempty"`
	Concurrency   int    `json:"concurrency,omitempty"`
	Handler       string `json:"handler,omitempty"`
	// Runtime and Initializer are those of [project.Provider].
	Runtime     string `json:"runtime,omitempty"`
	Initializer string `json:"initializer,omitempty"`
	// Delivery is that of [project.Provider].
	Delivery string `json:"delivery,omitempty"`
	// AWS is that of [project.Provider].
	AWS string `json:"aws,omitempty"`
	// Answers is that of [project.Provider].
	Answers string `json:"answers,omitempty"`
}

// DefineMacro makes a definition of a macro that a project file or a flag declares, relative to dir. It returns an error if the
// program does not exist or cannot be run.
func DefineMacro(dir string, declared project.Provider) (Definition, error) {
	place := ""
	if declared.Place != "" {
		place = declared.Place + ": "
	}
	if account, _, ok := template.SplitMacro(declared.Name); !ok || account != "" {
		return Definition{}, fmt.Errorf("%smacro %q: its name must be 1 to 255 letters, digits, hyphens and underscores", place, declared.Name)
	}
	if strings.HasPrefix(declared.Target, "arn:") {
		d := Definition{Lambda: declared.Target}
		if _, err := d.parse(declared.Name); err != nil {
			return Definition{}, fmt.Errorf("%smacro %s: %w", place, declared.Name, errors.Unwrap(err))
		}
		return d, nil
	}
	d, err := Define(dir, declared, nil)
	if err != nil {
		return d, errors.New(strings.Replace(err.Error(), "provider "+declared.Name, "macro "+declared.Name, 1))
	}
	return d, nil
}

// Function is the implementation of a function of a provider: a file, or another provider.
type Function struct {
	// Target is an absolute path. It is empty if Provider is set.
	Target  string `json:"target,omitempty"`
	Handler string `json:"handler,omitempty"`
	// Provider is the name of another local provider, or a token with it.
	Provider string `json:"provider,omitempty"`
}

// Define makes a definition of a provider that a project file or a flag declares, relative to dir. others are the declarations next to
// it, which functions may name. Define returns an error if the program does not exist or cannot be run.
func Define(dir string, declared project.Provider, others []project.Provider) (Definition, error) {
	d := Definition{
		Env: declared.Env, Concurrency: declared.Concurrency, Handler: declared.Handler,
		Runtime: declared.Runtime, Initializer: declared.Initializer, Delivery: declared.Delivery, AWS: declared.AWS, Answers: declared.Answers,
	}
	for text, duration := range map[*string]time.Duration{
		&d.Timeout: declared.Timeout, &d.QueryInterval: declared.QueryInterval, &d.TotalTimeout: declared.TotalTimeout,
	} {
		if duration != 0 {
			*text = duration.String()
		}
	}
	if declared.Builtin != "" {
		return defineBuiltin(d, declared)
	}
	if declared.OnEvent == nil {
		provider, err := local.ParseProvider(dir, declared)
		d.Target = provider.Target.Path()
		return d, err
	}
	place := ""
	if declared.Place != "" {
		place = declared.Place + ": "
	}
	var errs []error
	for _, f := range []struct {
		declared *project.Function
		role     bootstrap.Role
		defined  **Function
	}{{declared.OnEvent, bootstrap.OnEvent, &d.OnEvent}, {declared.IsComplete, bootstrap.IsComplete, &d.IsComplete}} {
		if f.declared == nil {
			continue
		}
		var err error
		*f.defined, err = defineFunction(dir, declared, *f.declared, f.role, others)
		if err != nil {
			errs = append(errs, fmt.Errorf("%sprovider %s: %s: %w", place, declared.Name, roleName(f.role), err))
		}
	}
	if errs == nil && len(d.Env) > 0 && d.OnEvent.Target == "" && (d.IsComplete == nil || d.IsComplete.Target == "") {
		errs = append(errs, fmt.Errorf("%sprovider %s: env is for functions that are files; these are providers with their own env",
			place, declared.Name))
	}
	if errs != nil {
		return Definition{}, errors.Join(errs...)
	}
	return d, nil
}

func defineFunction(dir string, of project.Provider, f project.Function, role bootstrap.Role, others []project.Provider) (*Function, error) {
	name, isName := local.Match(wire.ServiceToken(f.Target), func(name string) bool {
		return slices.ContainsFunc(others, func(other project.Provider) bool { return other.Name == name })
	})
	if isName || strings.HasPrefix(f.Target, "arn:") {
		if f.Handler != "" {
			return nil, fmt.Errorf("handler %s: %s is a provider with its own handler", f.Handler, f.Target)
		}
		for _, other := range others {
			if isName && other.Name == name {
				if err := callable(other.Name == of.Name, other.OnEvent != nil, other.Builtin != "", strings.Contains(other.Target, "://")); err != nil {
					return nil, fmt.Errorf("%s: %w", f.Target, err)
				}
			}
		}
		return &Function{Provider: f.Target}, nil
	}
	provider, err := parseFunction(dir, of, f, role)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(f.Target, `./\`) {
			return nil, fmt.Errorf("no provider named %s, and: %w", f.Target, err)
		}
		return nil, err
	}
	return &Function{Target: provider.Target.Path(), Handler: f.Handler}, nil
}

// callable says why a provider cannot be a function of another.
func callable(itself, pair, builtin, isURL bool) error {
	switch {
	case itself:
		return errors.New("a provider cannot use itself as a function")
	case pair:
		return errors.New("this provider consists of functions; use those")
	case builtin:
		return errors.New("this provider sends its own answers, so it returns no result")
	case isURL:
		return errors.New("this provider is a URL; a function is a file, or a provider that is a process")
	}
	return nil
}

// parseFunction parses a function that is a file.
func parseFunction(dir string, of project.Provider, f project.Function, role bootstrap.Role) (local.Provider, error) {
	if strings.Contains(f.Target, "://") {
		return local.Provider{}, callable(false, false, false, true)
	}
	p, err := local.ParseFunction(dir, project.Provider{
		Name: functionName(of.Name, role), Target: f.Target, Handler: f.Handler,
		Env: of.Env, Timeout: of.Timeout, Concurrency: of.Concurrency,
	}, role)
	if inner := errors.Unwrap(err); inner != nil { // without the name, which is ours
		err = inner
	}
	return p, err
}

// functionName is the name of a provider's function in the runtime. No name of a function or topic has a slash.
func functionName(provider string, role bootstrap.Role) string {
	return provider + "/" + roleName(role)
}

// owner returns the provider that a function in the runtime belongs to; any other name as it is.
func owner(name string) string {
	for _, role := range []bootstrap.Role{bootstrap.OnEvent, bootstrap.IsComplete} {
		if provider, ok := strings.CutSuffix(name, "/"+roleName(role)); ok {
			return provider
		}
	}
	return name
}

func roleName(role bootstrap.Role) string {
	switch role {
	case bootstrap.Handler:
		return "handler"
	case bootstrap.OnEvent:
		return "onEvent"
	case bootstrap.IsComplete:
		return "isComplete"
	}
	return fmt.Sprintf("role %d", role)
}

// parsed is a definition that was looked at.
type parsed struct {
	url      string           // that serves the provider; empty if processes do
	webhook  bool             // the URL gets the request document also behind a topic
	function string           // that a macro stands for; empty if it is one itself
	programs []local.Provider // the programs to run
	builtin  bool             // the provider is built in
	// The rest is of a provider with functions, where it is not zero. The names are those in the runtime, or tokens.
	onEvent, isComplete *functionRef
	interval, total     time.Duration
	timeout             time.Duration // of one call
	concurrency         int
}

// functionRef says where a function is: exactly one of its fields is not empty.
type functionRef struct {
	program string // the name in the runtime
	token   string // the name of another provider, or a token with it
}

// builds returns the programs that are to be built.
func (p parsed) builds() []string {
	var names []string
	for _, program := range p.programs {
		if program.Target.Kind() == local.GoPackage {
			names = append(names, program.Name)
		}
	}
	return names
}

// Program returns the one program that serves a provider; ok is false if a URL does, or functions of its own, or this program.
func (d Definition) Program(name string) (program local.Provider, ok bool, err error) {
	p, err := d.parse(name)
	if err != nil || p.url != "" || p.builtin || p.onEvent != nil || len(p.programs) != 1 {
		return local.Provider{}, false, err
	}
	return p.programs[0], true, nil
}

// Programs returns the programs of a provider: one, those of its functions, or none if a URL or this program serves it.
func (d Definition) Programs(name string) ([]local.Provider, error) {
	p, err := d.parse(name)
	return p.programs, err
}

// Names reports whether another provider is one of the definition's functions.
func (d Definition) Names(other string) bool {
	for _, f := range []*Function{d.OnEvent, d.IsComplete} {
		if f != nil && f.Provider != "" {
			if _, ok := local.Match(wire.ServiceToken(f.Provider), func(name string) bool { return name == other }); ok {
				return true
			}
		}
	}
	return false
}

// parse resolves the files that a definition names. They must exist.
func (d Definition) parse(name string) (parsed, error) {
	fail := func(format string, args ...any) (parsed, error) {
		return parsed{}, fmt.Errorf("provider %s: %w", name, fmt.Errorf(format, args...))
	}
	p := parsed{concurrency: d.Concurrency}
	for _, duration := range []struct {
		name, text string
		to         *time.Duration
	}{
		{"timeout", d.Timeout, &p.timeout}, {"queryInterval", d.QueryInterval, &p.interval}, {"totalTimeout", d.TotalTimeout, &p.total},
	} {
		if duration.text == "" {
			continue
		}
		parsed, err := time.ParseDuration(duration.text)
		if err != nil || parsed < 0 {
			return fail("%s %q is not a duration", duration.name, duration.text)
		}
		*duration.to = parsed
	}
	if d.IsComplete != nil {
		p.interval = cmp.Or(p.interval, project.DefaultQueryInterval)
		p.total = cmp.Or(p.total, project.DefaultTotalTimeout)
		if p.total < p.interval {
			return fail("totalTimeout (%s) is shorter than queryInterval (%s)", p.total, p.interval)
		}
	}
	if d.Lambda != "" {
		if token, err := wire.ParseToken(wire.ServiceToken(d.Lambda)); err != nil || token.Service != wire.Lambda {
			return fail("%s is not the ARN of a Lambda function", d.Lambda)
		}
		p.function = d.Lambda
		return p, nil
	}
	of := project.Provider{
		Name: name, Target: d.Target, Env: d.Env, Timeout: p.timeout, Concurrency: d.Concurrency, Handler: d.Handler,
		Runtime: d.Runtime, Initializer: d.Initializer,
	}
	if d.Builtin != "" {
		if err := d.checkBuiltin(); err != nil {
			return fail("%w", err)
		}
		p.builtin = true
		return p, nil
	}
	switch {
	case len(d.Allow) > 0:
		return fail("allow needs builtin")
	case (d.Target == "") == (d.OnEvent == nil):
		return fail("use either target or onEvent")
	case (d.Runtime != "" || d.Initializer != "") && (d.OnEvent != nil || strings.Contains(d.Target, "://")):
		return fail("runtime and initializer need a local target")
	case d.Delivery != "" && d.Delivery != project.DeliveryWebhook:
		return fail("delivery: want webhook, got %q", d.Delivery)
	case d.Delivery != "" && !strings.Contains(d.Target, "://"):
		return fail("delivery needs a URL")
	case d.Answers != "" && d.Answers != project.AnswersLater:
		return fail("answers: want later, got %q", d.Answers)
	case d.Answers != "" && (d.OnEvent != nil || strings.Contains(d.Target, "://")):
		return fail("answers needs a local target")
	case d.OnEvent == nil && (d.IsComplete != nil || d.QueryInterval != "" || d.TotalTimeout != ""):
		return fail("isComplete, queryInterval and totalTimeout need onEvent")
	case d.OnEvent == nil:
		if !filepath.IsAbs(d.Target) && !strings.Contains(d.Target, "://") {
			return fail("the target must be an absolute path or a URL")
		}
		provider, err := local.ParseProvider("", of)
		if err != nil {
			return parsed{}, err
		}
		if provider.Target.Kind() == local.URL {
			p.url, p.webhook = provider.Target.Path(), d.Delivery == project.DeliveryWebhook
		} else {
			p.programs = []local.Provider{provider}
		}
		return p, nil
	}
	for _, f := range []struct {
		defined *Function
		role    bootstrap.Role
		ref     **functionRef
	}{{d.OnEvent, bootstrap.OnEvent, &p.onEvent}, {d.IsComplete, bootstrap.IsComplete, &p.isComplete}} {
		switch {
		case f.defined == nil:
		case (f.defined.Target == "") == (f.defined.Provider == ""):
			return fail("%s: use either target or provider", roleName(f.role))
		case f.defined.Provider != "":
			*f.ref = &functionRef{token: f.defined.Provider}
		case !filepath.IsAbs(f.defined.Target):
			return fail("%s: the target must be an absolute path", roleName(f.role))
		default:
			program, err := parseFunction("", of, project.Function{Target: f.defined.Target, Handler: f.defined.Handler}, f.role)
			if err != nil {
				return fail("%s: %w", roleName(f.role), err)
			}
			*f.ref = &functionRef{program: program.Name}
			p.programs = append(p.programs, program)
		}
	}
	return p, nil
}

// show describes the program or URL, without secrets of a URL.
func (d Definition) show() string {
	if d.Builtin != "" {
		return "builtin " + d.Builtin
	}
	if d.Lambda != "" {
		return d.Lambda
	}
	if d.OnEvent == nil {
		return show(d.Target)
	}
	text := "onEvent " + cmp.Or(d.OnEvent.Target, d.OnEvent.Provider)
	if d.IsComplete != nil {
		text += ", isComplete " + cmp.Or(d.IsComplete.Target, d.IsComplete.Provider)
	}
	return text
}

// show returns a target without secrets of a URL.
func show(target string) string {
	u, err := url.Parse(target)
	if err != nil || !strings.Contains(target, "://") {
		return target
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
