package local

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/wire"
)

// Function makes a provider a function of Lambda or, by [Provider.Contract], of Function Compute. Its processes get the
// same environment as in the cloud. From [Config.Environ] they inherit only the variables that a process needs to find
// its programs, files, certificates and proxies. The reason is that their code comes from a template and not from this
// program's user.
type Function struct {
	// Name and Version are those of the function. An empty version means $LATEST, or LATEST on Function Compute, where
	// it is the qualifier.
	Name, Version string
	// Service is the function's service on Function Compute 2.0. It is empty for 3.0 and for Lambda.
	Service string
	// Account and Region are those of the function. Empty means those of [Config].
	Account, Region string
	// Runtime is the identifier of the runtime, such as nodejs22.x.
	Runtime string
	// Memory is the memory size in MB, which is reported to the function but not enforced. Zero means 128.
	Memory int
	// LogGroup is the name of the log group, which is reported to the function but not created. Empty means
	// /aws/lambda/NAME.
	LogGroup string
	// LogProject and LogStore are passed to a function of Function Compute. They are not created.
	LogProject, LogStore string
	// LogFormat is Text or JSON, as the Python and Node runtimes of Lambda support it. Empty means Text.
	LogFormat string
	// LogLevel is the minimum level of a JSON line: TRACE, DEBUG, INFO, WARN, ERROR or FATAL. Empty means INFO.
	LogLevel string
	// Layers are the directories of the unpacked layers, the bottom layer first. The directory /opt does not exist: the
	// layers are on the search paths for programs, libraries and modules.
	Layers []string
	// Modules are directories of Node modules, tried after the function's own and those of its layers.
	Modules []string
}

// FunctionTarget returns the target of a Lambda function whose code is in the directory dir. The runtime alone decides
// the language. The handler's file need not exist: its process reports a missing file. An error means that no process
// could start at all.
func FunctionTarget(dir, runtime, handler string) (Target, error) {
	language, ok := bootstrap.ForRuntime(runtime)
	if ok {
		s, err := runtimeScript(dir, language, handler)
		return Target{kind: Script, text: handler, path: dir, script: s}, err
	}
	if bootstrap.JavaRuntime(runtime) {
		return Target{kind: Java, text: handler, path: dir}, checkJava("", handler)
	}
	if err := CheckRuntime(runtime); err != nil {
		return Target{}, err
	}
	t := Target{kind: Folder, text: handler, path: dir}
	file := filepath.Join(dir, "bootstrap")
	if runtime == "go1.x" && filepath.IsLocal(handler) {
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(dir, handler)
			t = Target{kind: Executable, text: handler, path: file}
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		return Target{}, fmt.Errorf("the code holds no file %s, which the runtime %s runs", filepath.Base(file), runtime)
	}
	return t, checkExecutable(file, info)
}

// CheckRuntime returns an error with a hint if functions of a Lambda runtime are not supported.
func CheckRuntime(runtime string) error {
	_, script := bootstrap.ForRuntime(runtime)
	if script || bootstrap.JavaRuntime(runtime) || runtime == "go1.x" || runtime == "provided" || strings.HasPrefix(runtime, "provided.") {
		return nil
	}
	remedy := "use one of these for it"
	switch {
	case strings.HasPrefix(runtime, "ruby"):
		remedy = "for Ruby, use provided.al2023 and an executable file bootstrap that runs aws_lambda_ric"
	case strings.HasPrefix(runtime, "dotnet"):
		remedy = "for .NET, use provided.al2023 and publish a self-contained executable named bootstrap with Amazon.Lambda.RuntimeSupport"
	}
	return fmt.Errorf("functions here do not run on %.64s but on nodejs*, python*, java*, provided.* and go1.x: %s", runtime, remedy)
}

// runtimeScript returns the handler of a Lambda function. If no file exists, it uses the first possible file name.
func runtimeScript(dir string, language bootstrap.Language, handler string) (script, error) {
	names, function := handlerFiles(language, handler)
	if len(names) == 0 {
		return script{}, fmt.Errorf("bad handler %q: want FILE.FUNCTION, such as index.handler", handler)
	}
	chosen := 0
	for i, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return script{}, fmt.Errorf("bad handler %q: it leads out of the function's code", handler)
		}
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			chosen = i
			break
		}
	}
	s := script{
		language: language, root: dir, file: filepath.Join(dir, filepath.FromSlash(names[chosen])), function: function,
	}
	return s, s.check(handler)
}

// latest is the version of an unpublished function.
const latest = "$LATEST"

// inherited reports whether a function of Lambda gets a variable of this program's environment.
func inherited(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
		// Interpreters that are managed by shims, or that run on Windows, do not start without these.
		"PYENV_ROOT", "PYENV_VERSION", "ASDF_DIR", "ASDF_DATA_DIR", "NVM_DIR", "VOLTA_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA":
		return true
	}
	return false
}

// addPaths adds the search paths of the function's layers and modules.
func (f *Function) addPaths(env map[string]string, dir string) {
	programs, libraries := []string{}, []string{dir, filepath.Join(dir, "lib")}
	var node, python []string
	language, _ := bootstrap.ForRuntime(f.Runtime)
	for _, layer := range slices.Backward(f.Layers) { // the top layer comes first on the path
		programs = append(programs, filepath.Join(layer, "bin"))
		libraries = append(libraries, filepath.Join(layer, "lib"))
		switch language {
		case bootstrap.Node:
			major, _, _ := strings.Cut(strings.TrimPrefix(f.Runtime, "nodejs"), ".")
			node = append(node, filepath.Join(layer, "nodejs", "node"+major, "node_modules"),
				filepath.Join(layer, "nodejs", "node_modules"))
		case bootstrap.Python:
			python = append(python, filepath.Join(layer, "python", "lib", f.Runtime, "site-packages"),
				filepath.Join(layer, "python"))
		}
	}
	env["PATH"] = joinPaths(append(programs, env["PATH"])...)
	env["LD_LIBRARY_PATH"] = joinPaths(append(libraries, env["LD_LIBRARY_PATH"])...)
	switch language {
	case bootstrap.Node:
		env["NODE_PATH"] = joinPaths(append(append([]string{env["NODE_PATH"]}, node...), f.Modules...)...)
	case bootstrap.Python:
		env["PYTHONPATH"] = joinPaths(append([]string{env["PYTHONPATH"]}, python...)...)
	}
}

// addNames adds the variables that describe the function.
func (f *Function) addNames(env map[string]string, command command) {
	name, version := cmp.Or(f.Name, env["AWS_LAMBDA_FUNCTION_NAME"]), cmp.Or(f.Version, latest)
	maps.Copy(env, map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME":        name,
		"AWS_LAMBDA_FUNCTION_VERSION":     version,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(cmp.Or(f.Memory, 128)),
		"AWS_LAMBDA_LOG_GROUP_NAME":       cmp.Or(f.LogGroup, "/aws/lambda/"+name),
		"AWS_EXECUTION_ENV":               "AWS_Lambda_" + f.Runtime,
		"LAMBDA_RUNTIME_DIR":              cmp.Or(command.runtime, env["LAMBDA_TASK_ROOT"]),
	})
	if f.LogFormat != "" {
		env["AWS_LAMBDA_LOG_FORMAT"] = f.LogFormat
		if f.LogFormat == "JSON" {
			env["AWS_LAMBDA_LOG_LEVEL"] = cmp.Or(f.LogLevel, "INFO")
		}
	}
}

// joinPaths joins the paths that are not empty.
func joinPaths(paths ...string) string {
	return strings.Join(slices.DeleteFunc(paths, func(path string) bool { return path == "" }), string(filepath.ListSeparator))
}

// arn returns the function ARN for handlers of events without one.
func (p Provider) arn(config *Config) string {
	f := Function{}
	if p.Function != nil {
		f = *p.Function
	}
	region := cmp.Or(f.Region, config.Region)
	return fmt.Sprintf("arn:%s:lambda:%s:%s:function:%s",
		wire.Partition(region), region, cmp.Or(f.Account, config.Account), cmp.Or(f.Name, FunctionName(p.Name)))
}
