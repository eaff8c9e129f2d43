package local

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// Provider describes how a provider's processes are run. It must not be changed after it was passed to a [Runtime].
type Provider struct {
	// Name is the name in service tokens, or a complete token. Required.
	Name string
	// Target is the program to run. [URL] targets have no process and are rejected.
	Target Target
	// Serve handles the events inside this process. It replaces Target, which must then be zero. Env, Handler and Role
	// are ignored. Nil means that Target runs.
	Serve ServeFunc
	// Env is added to the environment. It must not contain variables that the runtime sets (AWS_LAMBDA_*, _HANDLER,
	// LAMBDA_TASK_ROOT).
	Env map[string]string
	// Given is also added to the environment, below Env. Without lists variables of [Config.Environ] to remove. Neither
	// affects the cache of [Runtime.Schema], because they may differ in every run.
	Given   map[string]string
	Without []string
	// Secrets are texts to redact in the log, in addition to those of events.
	Secrets []string
	// Timeout is the maximum time of one event, counted from its delivery to the process. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Concurrency is the maximum number of processes, and so of concurrent events. Zero means [DefaultConcurrency].
	Concurrency int
	// Queue is the maximum number of events that wait for a process. Zero means [Config.Queue], and a negative value
	// none.
	Queue int
	// Contract is the calling convention of the handler, and decides the environment of its processes. Zero means that
	// each event specifies it, and that events with different contracts go to different processes. Serve always has the
	// contract [bootstrap.Lambda].
	Contract bootstrap.Contract
	// Function makes the provider a cloud function: of Lambda, or of Function Compute if that is its Contract. Nil
	// means that it is not one.
	Function *Function
	// Handler is the process's _HANDLER, or FC_FUNCTION_HANDLER. Empty means "bootstrap". For a [Script], it was read
	// with the target.
	Handler string
	// Initializer is called once in each process before its first event, if the contract is that of Function Compute.
	// It is FILE.FUNCTION for a [Script], and any text for others. Empty means no initializer.
	Initializer string
	// Role is the purpose of a [Script], which decides the default names of its function if Handler is empty.
	Role bootstrap.Role
}

// ParseProvider returns the provider that a project file in dir declares. It returns an error if a declared file does
// not exist or cannot be run. The error begins with the position in the project file, if known.
func ParseProvider(dir string, declared project.Provider) (Provider, error) {
	return ParseFunction(dir, declared, bootstrap.Handler)
}

// ParseFunction is like [ParseProvider], for one of a provider's functions. declared contains only that function.
func ParseFunction(dir string, declared project.Provider, role bootstrap.Role) (Provider, error) {
	place := ""
	if declared.Place != "" {
		place = declared.Place + ": "
	}
	target, err := parseTarget(dir, declared.Target, declared.Handler, role)
	p := Provider{
		Name: declared.Name, Target: target, Env: declared.Env, Timeout: declared.Timeout,
		Concurrency: declared.Concurrency, Handler: declared.Handler, Initializer: declared.Initializer, Role: role,
	}
	if err == nil && declared.Runtime != "" {
		p.Contract, err = bootstrap.ParseContract(declared.Runtime)
	}
	if err == nil {
		err = p.checkEnv()
	}
	if err != nil {
		return Provider{}, fmt.Errorf("%sprovider %s: %w", place, declared.Name, err)
	}
	return p, nil
}

func (p Provider) check(cacheDir string) error {
	if p.Name == "" {
		return errors.New("the name is empty")
	}
	if p.Timeout < 0 || p.Concurrency < 0 {
		return errors.New("timeout and concurrency must not be negative")
	}
	if p.Serve != nil {
		if p.Target != (Target{}) {
			return errors.New("both Target and Serve are given")
		}
		return nil
	}
	switch p.Target.Kind() {
	case Executable, Folder:
	case GoPackage:
		if cacheDir == "" {
			return errors.New("a Go package needs a cache directory to be built into")
		}
	case Script:
		if cacheDir == "" {
			return errors.New("a Python or Node handler needs a cache directory for its runtime")
		}
	case Java:
		switch {
		case cacheDir == "":
			return errors.New("a Java handler needs a cache directory for its runtime")
		case p.Contract == bootstrap.FC:
			return errNoJavaFC
		}
	case URL:
		return errors.New("a URL is not run as a process")
	default:
		return errors.New("no target")
	}
	return p.checkEnv()
}

// checkEnv applies [CheckEnv] or the rules of the provider's contract.
func (p Provider) checkEnv() error {
	if p.Contract == bootstrap.FC {
		for _, name := range slices.Sorted(maps.Keys(p.Env)) {
			if strings.HasPrefix(name, fcPrefix) {
				return fmt.Errorf("env: %s is set by the runtime: remove it", name)
			}
		}
	}
	return CheckEnv(p.Env)
}

// CheckEnv returns an error if env contains an invalid name or a variable that the Runtime API sets.
func CheckEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return fmt.Errorf("env: %q is not a name of a variable", name)
		case strings.ContainsRune(env[name], 0):
			return fmt.Errorf("env: %s holds a zero byte", name)
		case setByLambda(name):
			return fmt.Errorf("env: %s is set by the runtime: remove it", name)
		}
	}
	return nil
}
