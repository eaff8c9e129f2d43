package lambda

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Limits of a Function Compute function. The default time limit is that of Lambda. Source: Function Compute,
// CreateFunction.
const (
	maxFCTimeout     = 86400 // seconds
	maxFCMemory      = 65536 // MB
	maxFCEnvironment = 8 << 10
)

// fcVariable matches the name of an environment variable.
var fcVariable = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,255}$`)

// fcName matches the end of a Function Compute ARN: functions/NAME or services/SERVICE/functions/NAME.
var fcName = regexp.MustCompile(`^(?:services/([a-zA-Z_][a-zA-Z0-9_-]{0,127})/)?functions/([a-zA-Z_][a-zA-Z0-9_-]{0,127})$`)

// fcReference parses the ARN of a Function Compute function, or the name of its item. Only the latest version exists
// here, so a reference to another version or an alias matches no function.
func fcReference(place registry.Scope, text string) (Reference, bool) {
	if fcName.MatchString(text) {
		return Reference{Scope: place, Name: text}, true
	}
	t, err := wire.ParseToken(wire.ServiceToken(text))
	if err != nil || t.Service != wire.FC {
		return Reference{}, false
	}
	r := Reference{Scope: registry.Scope{Account: t.Account, Region: t.Region}, Name: registry.FCName(t.FCService, t.Name), Qualifier: t.Qualifier}
	if r.Qualifier == "LATEST" {
		r.Qualifier = ""
	}
	return r, true
}

// isFC reports whether an item name belongs to a Function Compute function.
func isFC(name string) bool { return strings.Contains(name, "/") }

// runnableFC reports whether this machine can run a Function Compute runtime.
func runnableFC(runtime string) bool {
	if !runtimeForm.MatchString(runtime) {
		return false
	}
	_, ok := bootstrap.ForRuntime(runtime)
	return ok || runtime == "go1" || runtime == "custom" || strings.HasPrefix(runtime, "custom.")
}

// checkFC is check for Function Compute.
func checkFC(f *registry.Function) error {
	f.Timeout = cmp.Or(f.Timeout, defaultTimeout)
	f.Memory = cmp.Or(f.Memory, defaultMemory)
	switch {
	case f.Runtime == "" || f.Handler == "":
		return invalid("a function needs a Runtime and a Handler")
	case !runnableFC(f.Runtime):
		return invalid("the runtime %.64s is not supported: use nodejs*, python*, go1 or custom*, without containers", f.Runtime)
	case len(f.Handler) > maxHandler || strings.ContainsAny(f.Handler, " \t\r\n\x00"):
		return invalid("the Handler must be 1 to %d characters without blanks, such as index.handler", maxHandler)
	case len(f.Initializer) > maxHandler || strings.ContainsAny(f.Initializer, " \t\r\n\x00"):
		return invalid("the Initializer must be 1 to %d characters without blanks, such as index.initialize", maxHandler)
	case f.Timeout < 1 || f.Timeout > maxFCTimeout:
		return invalid("the Timeout must be from 1 to %d seconds", maxFCTimeout)
	case f.Memory < defaultMemory || f.Memory > maxFCMemory:
		return invalid("the MemorySize must be from %d to %d MB", defaultMemory, maxFCMemory)
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(f.Environment)) {
		switch text := f.Environment[name]; {
		case strings.HasPrefix(name, "FC_"):
			return invalid("the environment variable %s is set by Function Compute: omit it", name)
		case !fcVariable.MatchString(name):
			return invalid("the environment variable %.100q must be letters, digits and _, and begin with a letter", name)
		case strings.ContainsRune(text, 0):
			return invalid("the environment variable %s holds a zero byte", name)
		default:
			size += len(name) + len(text)
		}
	}
	if size > maxFCEnvironment {
		return invalid("the environment variables have more than %d bytes", maxFCEnvironment)
	}
	return nil
}

// The key variables of Alibaba Cloud's SDKs.
const (
	fcKeyID         = "ALIBABA_CLOUD_ACCESS_KEY_ID"
	fcKeySecret     = "ALIBABA_CLOUD_ACCESS_KEY_SECRET"
	fcSecurityToken = "ALIBABA_CLOUD_SECURITY_TOKEN"
)

// fcProvider completes the runtime's provider for a Function Compute function. A function with its own key keeps it,
// and calls the endpoints that the key is for.
func (pr *preparer) fcProvider(p *local.Provider, i item, dir string, layers []string) (err error) {
	m := fcName.FindStringSubmatch(i.Name)
	p.Contract, p.Initializer, p.Env = bootstrap.FC, i.Of.Initializer, map[string]string{}
	if i.Of.Environment[fcKeyID] == "" {
		for name, text := range pr.config.Environment(i.Scope, p.Name, i.Of.Environment) {
			if !strings.HasPrefix(name, "AWS_") { // belongs to another cloud
				p.Env[name] = text
			}
		}
		for _, name := range []string{fcKeySecret, fcSecurityToken} {
			if text := p.Env[name]; text != "" {
				p.Secrets = append(p.Secrets, text)
			}
		}
	}
	maps.Copy(p.Env, i.Of.Environment)
	p.Function = &local.Function{
		Service: m[1], Name: m[2], Account: i.Account, Region: i.Region, Runtime: i.Of.Runtime, Memory: i.Of.Memory,
		LogProject: i.Of.LogProject, LogStore: i.Of.LogStore, Layers: layers, Modules: pr.config.Modules,
	}
	p.Target, err = local.FCTarget(local.FCCode{Dir: dir, Runtime: i.Of.Runtime, Handler: i.Of.Handler, Command: i.Of.Command})
	return err
}
