package local

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// surroundings are the working directory and the addresses of a process.
type surroundings struct {
	dir string // the working directory, which contains the code
	// addr is the host, port and secret of the Runtime API. port is a port where the process may listen instead. Both
	// may be empty.
	addr, port string
	// token is the service token of the event that the process is started for, or empty if it is unknown.
	token string
}

// environment returns the environment of a process. It combines the configured environment, the configuration's
// additions, the provider's variables, those that the program needs, and those of the cloud. Later values override
// earlier ones.
func environment(config *Config, provider Provider, command command, at surroundings) map[string]string {
	env := map[string]string{
		// The output of a killed process must not be lost, and the directory must stay unchanged.
		"PYTHONUNBUFFERED":        "1",
		"PYTHONDONTWRITEBYTECODE": "1",
	}
	fc := provider.Contract == bootstrap.FC
	if !fc {
		region := config.Region
		if provider.Function != nil {
			region = cmp.Or(provider.Function.Region, region)
		}
		env["AWS_REGION"], env["AWS_DEFAULT_REGION"] = region, region
	}
	for _, kv := range config.Environ {
		name, text, ok := strings.Cut(kv, "=")
		switch {
		case !ok || name == "" || slices.Contains(provider.Without, name):
			continue
		case fc && (strings.HasPrefix(name, fcPrefix) || setByLambda(name)):
			continue // a variable of the function that this program runs in
		case !fc && (name == "AWS_REGION" || name == "AWS_DEFAULT_REGION"):
			continue // the engine's region applies, not the shell's
		}
		if provider.Function == nil || inherited(name) {
			env[name] = text
		}
	}
	maps.Copy(env, config.Env)
	if provider.Function != nil {
		maps.Copy(env, functionEnv)
	}
	maps.Copy(env, provider.Given)
	maps.Copy(env, provider.Env)
	if provider.Function != nil {
		provider.Function.addPaths(env, at.dir)
	}
	for _, kv := range command.env {
		name, text, _ := strings.Cut(kv, "=")
		switch name {
		case "NODE_PATH":
			text = joinPaths(env[name], text) // the provider's own modules come first
		case "PATH":
			text = joinPaths(text, env[name])
		case virtualEnvVar:
			delete(env, "PYTHONHOME") // it would select other libraries
		}
		env[name] = text
	}
	addDummyCredentials(env)
	keepProxyOut(env)

	env["PWD"] = at.dir
	if fc {
		addFC(env, config, provider, at)
	} else {
		addLambda(env, provider, command, at)
	}
	return env
}

// functionEnv is in the environment of every cloud function.
var functionEnv = map[string]string{"TZ": ":UTC", "LANG": "en_US.UTF-8"}

// trust makes the process of a target trust the listener of the response URLs. Java gets the options on its command
// line, because it prints every variable that it takes options from.
func (r *Runtime) trust(env map[string]string, command *command, kind TargetKind) error {
	if r.config.Trust == nil {
		return nil
	}
	own := env[javaOptions]
	if err := r.config.Trust(env, kind == Executable || kind == Folder || kind == Java); err != nil || kind != Java {
		return err
	}
	if added := strings.TrimPrefix(env[javaOptions], own); added != "" {
		command.args = slices.Insert(slices.Clone(command.args), 1, options(added)...)
	}
	if env[javaOptions] = own; own == "" {
		delete(env, javaOptions)
	}
	return nil
}

// javaOptions is the environment variable with Java's options.
const javaOptions = "JAVA_TOOL_OPTIONS"

// options splits a list of options as Java does: at blanks outside double quotes.
func options(text string) []string {
	var list []string
	var option strings.Builder
	quoted := false
	for _, r := range text + " " {
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted:
			if option.Len() > 0 {
				list = append(list, option.String())
			}
			option.Reset()
		default:
			option.WriteRune(r)
		}
	}
	return list
}

// list returns an environment as a list of KEY=VALUE, sorted by name.
func list(env map[string]string) []string {
	all := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}

// addLambda adds the variables that Lambda sets.
func addLambda(env map[string]string, provider Provider, command command, at surroundings) {
	function := FunctionName(provider.Name)
	maps.Copy(env, map[string]string{
		"_HANDLER":                        provider.handler(),
		"LAMBDA_TASK_ROOT":                at.dir,
		"AWS_LAMBDA_RUNTIME_API":          at.addr,
		"AWS_LAMBDA_FUNCTION_NAME":        function,
		"AWS_LAMBDA_FUNCTION_VERSION":     latest,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + function,
		"AWS_EXECUTION_ENV":               "AWS_Lambda_provided.al2023",
	})
	switch {
	case provider.Function != nil:
		provider.Function.addNames(env, command)
	case env["PINTLE_PROVIDER_LOG"] == "" && env["AWS_LAMBDA_LOG_FORMAT"] != "JSON":
		env["PINTLE_PROVIDER_LOG"] = "text" // people read the log of a provider that is not a function of a template
	}
	var stream [16]byte
	_, _ = rand.Read(stream[:]) // never fails
	// The name is unique, because many handlers use it as the physical ID.
	shared := ""
	if provider.Function != nil && provider.Function.LogGroup != "" {
		shared = env["AWS_LAMBDA_FUNCTION_NAME"] // other functions may use the same group
	}
	env["AWS_LAMBDA_LOG_STREAM_NAME"] = time.Now().UTC().Format("2006/01/02") +
		"/" + shared + "[" + env["AWS_LAMBDA_FUNCTION_VERSION"] + "]" + hex.EncodeToString(stream[:])
}

// setByLambda reports whether a variable is one that only Lambda sets.
func setByLambda(name string) bool {
	return name == "_HANDLER" || name == "LAMBDA_TASK_ROOT" || strings.HasPrefix(name, "AWS_LAMBDA_")
}

// keepProxyOut excludes this machine from proxies. The Runtime API, and usually the response URL, are on this machine,
// and not every program excludes it by itself.
func keepProxyOut(env map[string]string) {
	names := []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}
	if !slices.ContainsFunc(names, func(name string) bool { return env[name] != "" }) {
		return
	}
	other := cmp.Or(env["no_proxy"], env["NO_PROXY"]) // some programs read one, some the other
	for _, name := range []string{"no_proxy", "NO_PROXY"} {
		text := cmp.Or(env[name], other)
		for _, host := range []string{"localhost", "127.0.0.1"} {
			if text != "*" && !slices.Contains(strings.Split(text, ","), host) {
				text = strings.TrimPrefix(text+","+host, ",")
			}
		}
		env[name] = text
	}
}

// addDummyCredentials adds the credentials that AWS SDKs require for any call. It does so only if an endpoint is set:
// otherwise dummy credentials would hide those of a shared file.
func addDummyCredentials(env map[string]string) {
	if env["AWS_ENDPOINT_URL"] == "" {
		return
	}
	for _, source := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	} {
		if env[source] != "" {
			return
		}
	}
	env["AWS_ACCESS_KEY_ID"] = "pintle"
	env["AWS_SECRET_ACCESS_KEY"] = "pintle"
}
