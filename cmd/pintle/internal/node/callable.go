package node

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/functionenv"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// awsRule says where the AWS calls of local providers go that do not say so themselves.
type awsRule struct {
	// dev sends them to this server.
	dev bool
	// configured names the settings for AWS calls in this process's environment, which take precedence. If it is empty, AWS calls go to this
	// server.
	configured string
	// account is that of the providers' keys.
	account string
	// issue makes the key of a provider, by its name in the runtime. issueForwarded makes the key of one that may call the
	// endpoints of forwarded services.
	issue, issueForwarded func(account, name string) sigv4.Key
	// variables returns the AWS variables of a process with a key, where the server's environment is environ, with the
	// endpoints of forwarded services. Nil changes no environment.
	variables func(environ []string, key sigv4.Key, forwarded map[string]string) map[string]string
	// forwarded returns the endpoints of forwarded services for handlers of an account, where the server's environment is
	// environ. inherits says that they use its keys.
	forwarded func(account string, environ []string, inherits bool) map[string]string
}

// newAWSRule returns the rule of a node.
func (b *builder) newAWSRule(account string) awsRule {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return awsRule{
		dev: b.config.Dev, configured: functionenv.Configured(os.Environ(), home), account: account,
		issue: b.processKeys.issue, issueForwarded: b.processKey, forwarded: b.handlerEndpoints,
		variables: func(environ []string, key sigv4.Key, forwarded map[string]string) map[string]string {
			return b.localAWS(environ, key, forwarded, nil)
		},
	}
}

// local reports whether the AWS calls of a provider's processes go to this server.
func (r awsRule) local(d Definition) bool {
	switch {
	case r.variables == nil || d.Runtime == project.RuntimeFC || d.AWS == project.AWSEnvironment:
		return false
	case d.AWS == project.AWSLocal:
		return true
	case functionenv.Chooses(d.Env):
		return false
	}
	return r.dev || r.configured == ""
}

// apply gives the program of a provider the variables that lead its AWS calls to this server, if they are to go there.
func (r awsRule) apply(p *local.Provider, d Definition) {
	environ := os.Environ()
	switch {
	case p.Serve != nil:
		return
	case !r.local(d):
		if r.variables != nil && d.Runtime != project.RuntimeFC && d.AWS != project.AWSEnvironment && !functionenv.Chooses(d.Env) {
			p.Given = inherited(environ, r.forwarded(r.account, environ, true))
		}
		return
	}
	var key sigv4.Key
	if d.AWS == project.AWSLocal {
		key = r.issue(r.account, p.Name)
		p.Given = r.variables(nil, key, nil) // all services, whatever endpoints the environment has
	} else {
		key = r.issueForwarded(r.account, p.Name)
		p.Given = r.variables(environ, key, r.forwarded(r.account, environ, functionenv.Passes(environ)))
	}
	p.Secrets = append(p.Secrets, string(key.Secret))
	for _, pair := range environ {
		if name, _, _ := strings.Cut(pair, "="); functionenv.Decides(name) {
			p.Without = append(p.Without, name)
		}
	}
}

// inherited returns the endpoints of forwarded services for a process that inherits an environment. An endpoint for all
// services in it applies to every service.
func inherited(environ []string, forwarded map[string]string) map[string]string {
	for _, pair := range environ {
		if name, text, _ := strings.Cut(pair, "="); name == functionenv.Endpoint && text != "" {
			return nil
		}
	}
	if forwarded = functionenv.Forwarding(functionenv.Config{Environ: environ, Forwarded: forwarded}); len(forwarded) == 0 {
		return nil
	}
	return forwarded
}

// declarations are the local providers as functions of Lambda. It fulfils [lambda.Declarations].
type declarations struct{ *providers }

// Account implements [lambda.Declarations].
func (d declarations) Account() string { return d.aws.account }

// Function implements [lambda.Declarations].
func (d declarations) Function(name string) (lambda.Declared, bool) {
	for _, f := range d.Functions() {
		if f.Name == name {
			return f, true
		}
	}
	return lambda.Declared{}, false
}

// Functions implements [lambda.Declarations]. Of two providers whose functions have one name, the first by name counts.
func (d declarations) Functions() []lambda.Declared {
	d.mu.Lock()
	defer d.mu.Unlock()
	byName := map[string]lambda.Declared{}
	for _, name := range slices.Sorted(maps.Keys(d.known)) {
		k := d.known[name]
		for _, f := range k.functions {
			f.Broken = k.broken
			if _, taken := byName[f.Name]; !taken {
				byName[f.Name] = f
			}
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b lambda.Declared) int { return strings.Compare(a.Name, b.Name) })
}

// callablePrograms returns the functions that the programs of a provider are.
func callablePrograms(parsed parsed) []lambda.Declared {
	var list []lambda.Declared
	for _, program := range parsed.programs {
		if program.Contract == bootstrap.FC {
			continue
		}
		list = append(list, lambda.Declared{
			Name: local.FunctionName(program.Name), Program: program.Name, Runtime: shownRuntime(program), Handler: program.Handler,
			Timeout: cmp.Or(program.Timeout, local.DefaultTimeout),
		})
	}
	return list
}

// shownRuntime returns the runtime of Lambda that a program is shown with.
func shownRuntime(p local.Provider) string {
	if p.Target.Kind() == local.Script {
		switch language, _ := bootstrap.Of(p.Target.Path()); language {
		case bootstrap.Python:
			return "python3.13"
		case bootstrap.Node:
			return "nodejs22.x"
		}
	}
	return "provided.al2023"
}

// awsElsewhere reports whether the AWS calls of a local provider go where the environment says, and not to this server: then this server
// does not see that it calls Lambda or EventBridge to have something answer later.
func (p *providers) awsElsewhere(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.known[owner(name)]
	return k != nil && k.elsewhere
}
