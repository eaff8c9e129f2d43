package project

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (r *reader) providers(node *yaml.Node) {
	r.members(node, "providers", func(key, v *yaml.Node) {
		provider := Provider{
			Name:  key.Value,
			Place: fmt.Sprintf("%s:%d:%d", r.project.File, key.Line, key.Column),
		}
		if v.Kind == yaml.MappingNode {
			r.provider(v, &provider)
		} else {
			provider.Target = r.text(v, "provider "+key.Value)
		}
		r.project.Providers = append(r.project.Providers, provider)
	})
}

// macros reads the macros of templates. They are providers, but neither built-in nor pairs of functions.
func (r *reader) macros(node *yaml.Node) {
	r.members(node, "macros", func(key, v *yaml.Node) {
		p := Provider{Name: key.Value, Place: fmt.Sprintf("%s:%d:%d", r.project.File, key.Line, key.Column)}
		what := "macro " + p.Name
		if v.Kind != yaml.MappingNode {
			p.Target = r.text(v, what)
			r.project.Macros = append(r.project.Macros, p)
			return
		}
		ran := false
		r.record(v, what, []field{
			{"run", func(v *yaml.Node) { p.Target, ran = r.text(v, "run"), true }},
			{"env", func(v *yaml.Node) { r.env(v, &p) }},
			{"timeout", func(v *yaml.Node) { p.Timeout = r.duration(v, "timeout") }},
			{"concurrency", func(v *yaml.Node) { r.concurrency(v, &p) }},
			{"handler", func(v *yaml.Node) { p.Handler = r.text(v, "handler") }},
		})
		switch {
		case !ran:
			r.problem(v, "%s: run is missing: it says what runs, for example run: ./macro.py", what)
		case strings.HasPrefix(p.Target, "arn:") && (p.Env != nil || p.Timeout != 0 || p.Concurrency != 0 || p.Handler != ""):
			r.problem(v, "%s: env, timeout, concurrency and handler are about what runs here, and %s runs in AWS", what, p.Target)
		}
		r.project.Macros = append(r.project.Macros, p)
	})
}

func (r *reader) env(v *yaml.Node, p *Provider) {
	p.Env = map[string]string{}
	r.members(v, "env", func(key, v *yaml.Node) {
		p.Env[key.Value], _ = r.scalar(v, "env "+key.Value)
	})
}

func (r *reader) concurrency(v *yaml.Node, p *Provider) {
	text, ok := r.scalar(v, "concurrency")
	n, err := strconv.Atoi(text)
	if ok && (err != nil || n < 1 || n > maxConcurrency) {
		r.problem(v, "concurrency: want a whole number from 1 to %d, got %q", maxConcurrency, text)
	}
	p.Concurrency = n
}

func (r *reader) provider(node *yaml.Node, p *Provider) {
	what := "provider " + p.Name
	found := map[string]*yaml.Node{} // the values by key
	note := func(name string, read func(v *yaml.Node)) field {
		return field{name, func(v *yaml.Node) {
			found[name] = v
			read(v)
		}}
	}
	r.record(node, what, []field{
		note("run", func(v *yaml.Node) { p.Target = r.text(v, "run") }),
		note("onEvent", func(v *yaml.Node) { p.OnEvent = r.function(v, "onEvent") }),
		note("isComplete", func(v *yaml.Node) { p.IsComplete = r.function(v, "isComplete") }),
		note("queryInterval", func(v *yaml.Node) { p.QueryInterval = r.duration(v, "queryInterval") }),
		note("totalTimeout", func(v *yaml.Node) { p.TotalTimeout = r.duration(v, "totalTimeout") }),
		note("env", func(v *yaml.Node) { r.env(v, p) }),
		note("timeout", func(v *yaml.Node) { p.Timeout = r.duration(v, "timeout") }),
		note("concurrency", func(v *yaml.Node) { r.concurrency(v, p) }),
		note("handler", func(v *yaml.Node) { p.Handler = r.text(v, "handler") }),
		note("runtime", func(v *yaml.Node) {
			if p.Runtime = r.text(v, "runtime"); p.Runtime != "" && p.Runtime != RuntimeLambda && p.Runtime != RuntimeFC {
				r.problem(v, "%s: runtime: want lambda or fc, got %q; omit it to let the service token decide", what, p.Runtime)
			}
		}),
		note("aws", func(v *yaml.Node) {
			if p.AWS = r.text(v, "aws"); p.AWS != "" && p.AWS != AWSLocal && p.AWS != AWSEnvironment {
				r.problem(v, "%s: aws: want local or environment, got %q", what, p.AWS)
			}
		}),
		note("initializer", func(v *yaml.Node) { p.Initializer = r.text(v, "initializer") }),
		note("delivery", func(v *yaml.Node) {
			if p.Delivery = r.text(v, "delivery"); p.Delivery != "" && p.Delivery != DeliveryWebhook {
				r.problem(v, "%s: delivery: want webhook, got %q; omit it to let the service token decide", what, p.Delivery)
			}
		}),
		note("answers", func(v *yaml.Node) {
			if p.Answers = r.text(v, "answers"); p.Answers != "" && p.Answers != AnswersLater {
				r.problem(v, "%s: answers: want later, got %q; omit it if the handler sends its answer before it returns", what, p.Answers)
			}
		}),
		note("builtin", func(v *yaml.Node) {
			p.Builtin = r.text(v, "builtin")
			if err := CheckBuiltin(p.Builtin); err != nil && p.Builtin != "" {
				r.problem(v, "%s: builtin: %v", what, err)
			}
		}),
		note("allow", func(v *yaml.Node) { p.Allow = r.rules(v, "allow") }),
	})
	r.fitting(node, what, found, p)
}

// fitting reports keys that cannot be combined.
func (r *reader) fitting(node *yaml.Node, what string, found map[string]*yaml.Node, p *Provider) {
	if found["builtin"] != nil {
		for _, name := range []string{"run", "onEvent", "isComplete", "queryInterval", "totalTimeout", "env", "handler", "runtime", "initializer", "delivery", "aws", "answers"} {
			if v := found[name]; v != nil {
				r.problem(v, "%s: %s is about a program, and builtin names a provider in this one: keep one of them", what, name)
			}
		}
		return
	}
	if v := found["allow"]; v != nil {
		r.problem(v, "%s: allow needs builtin", what)
	}
	switch {
	case found["run"] == nil && found["onEvent"] == nil && found["isComplete"] != nil:
		r.problem(found["isComplete"], "%s: isComplete needs onEvent", what)
	case found["run"] == nil && found["onEvent"] == nil:
		r.problem(node, "%s: run is missing: it says what runs, for example run: ./provider (or onEvent, a function that "+
			"returns its result)", what)
	case found["run"] != nil:
		for _, name := range []string{"onEvent", "isComplete"} {
			if v := found[name]; v != nil {
				r.problem(v, "%s: run answers requests itself, %s is called for their result: keep one of them", what, name)
			}
		}
	case found["handler"] != nil:
		r.problem(found["handler"], "%s: handler is about run: write onEvent: {run: FILE, handler: NAME}", what)
	}
	if v := found["delivery"]; v != nil && !strings.Contains(p.Target, "://") {
		r.problem(v, "%s: delivery is for a URL: run: https://…", what)
	}
	if v := found["aws"]; v != nil && (p.Runtime == RuntimeFC || strings.Contains(p.Target, "://")) {
		r.problem(v, "%s: aws is about functions of Lambda that run here", what)
	}
	for _, name := range []string{"runtime", "initializer", "answers"} {
		v := found[name]
		switch {
		case v == nil:
		case found["onEvent"] != nil && name == "answers":
			r.problem(v, "%s: answers is about run: what onEvent and isComplete return is the answer", what)
		case found["onEvent"] != nil:
			r.problem(v, "%s: %s is about run: a function that returns its result is called in one way only", what, name)
		case strings.Contains(p.Target, "://"):
			r.problem(v, "%s: %s is about what runs here, and run is a URL", what, name)
		case name == "initializer" && p.Runtime == RuntimeLambda:
			r.problem(v, "%s: initializer is of Function Compute, and runtime says lambda", what)
		}
	}
	if found["isComplete"] == nil {
		for _, name := range []string{"queryInterval", "totalTimeout"} {
			if v := found[name]; v != nil {
				r.problem(v, "%s: %s needs isComplete", what, name)
			}
		}
		return
	}
	interval := cmp.Or(p.QueryInterval, DefaultQueryInterval)
	total := cmp.Or(p.TotalTimeout, DefaultTotalTimeout)
	if at := cmp.Or(found["totalTimeout"], found["queryInterval"]); at != nil && total < interval {
		r.problem(at, "%s: totalTimeout (%s) is shorter than queryInterval (%s), so isComplete would be asked once only",
			what, total, interval)
	}
}

// function reads one of a provider's two functions: a string, or a map with run and handler.
func (r *reader) function(v *yaml.Node, what string) *Function {
	f := &Function{}
	if v.Kind != yaml.MappingNode {
		f.Target = r.text(v, what)
		return f
	}
	ran := false
	r.record(v, what, []field{
		{"run", func(v *yaml.Node) { f.Target, ran = r.text(v, what+" run"), true }},
		{"handler", func(v *yaml.Node) { f.Handler = r.text(v, what+" handler") }},
	})
	if !ran {
		r.problem(v, "%s: run is missing: it says which file, for example run: ./on_event.py", what)
	}
	return f
}
