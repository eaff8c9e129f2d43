package lambda

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// Limits and defaults of a function. Source: CreateFunction, Lambda quotas.
const (
	defaultTimeout  = 3   // seconds
	defaultMemory   = 128 // MB
	maxTimeout      = 900
	maxMemory       = 10240
	maxHandler      = 128
	maxDescription  = 256
	maxEnvironment  = 4 << 10 // bytes as JSON
	maxLayers       = 5
	maxReserved     = 1000
	maxArchitecture = 1
)

// NoImages is the error for a function with a container image.
const NoImages = "functions from container images are not supported: use Code as a zip file with a Runtime and a Handler, " +
	"in the CDK with lambda.Function and Code.fromAsset instead of DockerImageFunction or Code.fromAssetImage"

// reserved are the names of variables that the runtime sets.
var reserved = map[string]bool{
	"_HANDLER": true, "_X_AMZN_TRACE_ID": true, "AWS_DEFAULT_REGION": true, "AWS_REGION": true, "AWS_EXECUTION_ENV": true,
	"AWS_LAMBDA_FUNCTION_NAME": true, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": true, "AWS_LAMBDA_FUNCTION_VERSION": true,
	"AWS_LAMBDA_INITIALIZATION_TYPE": true, "AWS_LAMBDA_LOG_GROUP_NAME": true, "AWS_LAMBDA_LOG_STREAM_NAME": true,
	"AWS_LAMBDA_LOG_FORMAT": true, "AWS_LAMBDA_LOG_LEVEL": true,
	"AWS_ACCESS_KEY": true, "AWS_ACCESS_KEY_ID": true, "AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true,
	"AWS_LAMBDA_RUNTIME_API": true, "LAMBDA_TASK_ROOT": true, "LAMBDA_RUNTIME_DIR": true,
}

var (
	variableForm = regexp.MustCompile(`^[a-zA-Z]([a-zA-Z0-9_])+$`)
	runtimeForm  = regexp.MustCompile(`^[a-z][a-z0-9.]{1,63}$`)
)

// checkName returns an error if the name of a function is invalid.
func checkName(i item) error {
	switch {
	case i.Of.Contract == registry.ContractFC && !fcName.MatchString(i.Name):
		return invalid("%.200s is not a valid function name: a name is 1 to 128 letters, digits, _ and -, and starts with a letter or _", i.Name)
	case i.Of.Contract == registry.ContractLambda && !ownName.MatchString(i.Name):
		return constraint("functionName", i.Name, "Member must satisfy regular expression pattern: "+namePattern)
	}
	return nil
}

// check sets the defaults of a function, and returns an error if the function is invalid.
func check(f *registry.Function) error {
	if f.Contract == registry.ContractFC {
		return checkFC(f)
	}
	f.Timeout = cmp.Or(f.Timeout, defaultTimeout)
	f.Memory = cmp.Or(f.Memory, defaultMemory)
	f.LogFormat = cmp.Or(f.LogFormat, "Text")
	if len(f.Architectures) == 0 {
		f.Architectures = []string{"x86_64"}
	}
	switch {
	case f.Runtime == "" || f.Handler == "":
		return invalid("Runtime and Handler are mandatory parameters for functions created with deployment packages.")
	case !runtimeForm.MatchString(f.Runtime):
		return constraint("runtime", f.Runtime, "Member must satisfy regular expression pattern: "+runtimeForm.String())
	case local.CheckRuntime(f.Runtime) != nil:
		return invalid("Value %.64s at 'runtime' failed to satisfy constraint: %v", f.Runtime, local.CheckRuntime(f.Runtime))
	case len(f.Handler) > maxHandler:
		return constraint("handler", f.Handler, "Member must have length less than or equal to "+strconv.Itoa(maxHandler))
	case strings.ContainsAny(f.Handler, " \t\r\n\x00"):
		return constraint("handler", f.Handler, `Member must satisfy regular expression pattern: [^\s]+`)
	case f.Timeout < 1:
		return constraint("timeout", strconv.Itoa(f.Timeout), "Member must have value greater than or equal to 1")
	case f.Timeout > maxTimeout:
		return constraint("timeout", strconv.Itoa(f.Timeout), "Member must have value less than or equal to "+strconv.Itoa(maxTimeout))
	case f.Memory < defaultMemory:
		return constraint("memorySize", strconv.Itoa(f.Memory), "Member must have value greater than or equal to "+strconv.Itoa(defaultMemory))
	case f.Memory > maxMemory:
		return constraint("memorySize", strconv.Itoa(f.Memory), "Member must have value less than or equal to "+strconv.Itoa(maxMemory))
	case len(f.Description) > maxDescription:
		return constraint("description", f.Description, "Member must have length less than or equal to "+strconv.Itoa(maxDescription))
	case len(f.Layers) > maxLayers:
		return constraint("layers", strings.Join(f.Layers, ", "), "Member must have length less than or equal to "+strconv.Itoa(maxLayers))
	case f.LogFormat != "Text" && f.LogFormat != "JSON":
		return constraint("loggingConfig.logFormat", f.LogFormat, "Member must satisfy enum value set: [JSON, Text]")
	case f.LogLevel != "" && !slices.Contains(logLevels, f.LogLevel):
		return constraint("loggingConfig.applicationLogLevel", f.LogLevel, "Member must satisfy enum value set: ["+strings.Join(logLevels, ", ")+"]")
	case f.LogLevel != "" && f.LogFormat != "JSON":
		return invalid("Log level configuration is only supported for the JSON log format.")
	case len(f.Architectures) > maxArchitecture || f.Architectures[0] != "x86_64" && f.Architectures[0] != "arm64":
		return constraint("architectures", strings.Join(f.Architectures, ", "), "Member must satisfy enum value set: [x86_64, arm64]")
	case f.Concurrency != nil && (*f.Concurrency < 0 || *f.Concurrency > maxReserved):
		return constraint("reservedConcurrentExecutions", strconv.Itoa(*f.Concurrency), "Member must have value between 0 and "+strconv.Itoa(maxReserved))
	}
	return checkEnvironment(f.Environment)
}

var logLevels = []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}

// checkEnvironment returns an error for invalid variables. The error never contains a value, because that may be a
// secret.
func checkEnvironment(env map[string]string) error {
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case reserved[name]:
			taken = append(taken, name)
		case !variableForm.MatchString(name):
			return constraint("environment.variables", name, "Map keys must satisfy regular expression pattern: [a-zA-Z]([a-zA-Z0-9_])+")
		case strings.ContainsRune(env[name], 0):
			return invalid("The environment variable %s holds a zero byte.", name)
		}
	}
	const unable = "Lambda was unable to configure your environment variables because the environment variables you have provided "
	if len(taken) > 0 {
		return invalid(unable+"contains reserved keys that are currently not supported for modification. "+
			"Reserved keys used in this request: %s", strings.Join(taken, ", "))
	}
	size := 0
	for name, text := range env {
		size += len(name) + len(text) + len(`"":"",`)
	}
	if size > maxEnvironment {
		return invalid(unable + "exceeded the 4KB limit.")
	}
	return nil
}
