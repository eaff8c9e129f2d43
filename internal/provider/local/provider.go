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

// Provider says how a provider's processes are run. It must not be changed after it was given to a [Runtime].
type Provider struct {
	// Name is the name in service tokens, or a whole token. Not empty.
	Name string
	// Target is what runs. [URL] targets are no processes and are refused.
	Target Target
	// Serve handles the events inside this process, instead of Target, which must be zero then. Env, Handler and Role
	// do not matter to it. Nil means that Target runs.
	Serve ServeFunc
	// Env is added to the environment; it may not hold what the runtime sets itself (AWS_LAMBDA_*, _HANDLER,
	// LAMBDA_TASK_ROOT).
	Env map[string]string
	// Given is added to the environment too, below Env, and Without names the variables of [Config.Environ] that its processes do not
	// get. Neither is part of what an answer of [Runtime.Schema] is kept by: they may differ in every run.
	Given   map[string]string
	Without []string
	// Secrets are texts that must not be seen in the log, next to those of events.
	Secrets []string
	// Timeout is how long one event may take, counted from its delivery to the process. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Concurrency is how many processes may run, so how many events are handled at once. Zero means
	// [DefaultConcurrency].
	Concurrency int
	// Queue is how many events may wait for a process. Zero means [Config.Queue], less than zero none.
	Queue int
	// Contract says whose functions it is written like: how its handler is called, and what its processes are told. Zero
	// means that each event says so, and that events which differ in it go to different processes. Serve is always called by
	// that of [bootstrap.Lambda].
	Contract bootstrap.Contract
	// Function makes it a function of a cloud: of Lambda, or of Function Compute if that is its Contract. Nil means that it
	// is none.
	Function *Function
	// Handler is the process's _HANDLER, or FC_FUNCTION_HANDLER. Empty means "bootstrap". Of a [Script] it was read with the target.
	Handler string
	// Initializer is what is called once in each process before its first event, if its contract is that of Function Compute:
	// FILE.FUNCTION of a [Script], and any text of others. Empty means nothing.
	Initializer string
	// Role is what a [Script] is called for, which says how its function may be named if Handler does not.
	Role bootstrap.Role
}

// ParseProvider returns the provider that a project file in dir declares. It fails when what the declaration names
// does not exist or cannot be run; the error begins with the place in the file, if that is known.
func ParseProvider(dir string, declared project.Provider) (Provider, error) {
	return ParseFunction(dir, declared, bootstrap.Handler)
}

// ParseFunction is [ParseProvider] for one of the functions of a provider: declared is that function's alone.
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
			return errors.New("a Python or Node handler needs a cache directory for what runs it")
		}
	case Java:
		switch {
		case cacheDir == "":
			return errors.New("a Java handler needs a cache directory for what runs it")
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

// checkEnv is [CheckEnv] by the provider's contract.
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

// CheckEnv returns an error when env holds a name that is not a name, or one that the Runtime API sets itself.
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
