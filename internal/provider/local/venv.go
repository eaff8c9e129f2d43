package local

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// virtualEnvVar is the variable with the path of Python's active virtual environment.
const virtualEnvVar = "VIRTUAL_ENV"

// projectDir returns the project directory of a handler in dir: the nearest directory at or above dir with a project
// file, else the nearest with a Git repository, else dir.
func projectDir(dir string) string {
	for _, mark := range []string{project.FileName, ".git"} {
		for above := dir; ; above = filepath.Dir(above) {
			if _, err := os.Stat(filepath.Join(above, mark)); err == nil {
				return above
			}
			if above == filepath.Dir(above) {
				break
			}
		}
	}
	return dir
}

// virtualEnv returns the virtual environment for a Python handler in dir: .venv or venv in dir or a directory above it,
// up to the project's directory, else active. It returns "" for none. Directories above the project are not searched.
// An environment that belongs to another user is not used, because it may be in a world-writable directory.
func virtualEnv(dir, active string) (string, error) {
	top := projectDir(dir)
	for above := dir; ; above = filepath.Dir(above) {
		for _, name := range []string{".venv", "venv"} {
			venv := filepath.Join(above, name)
			if _, err := os.Stat(filepath.Join(venv, "pyvenv.cfg")); err != nil || !trusted(venv, dir) {
				continue
			}
			if _, err := os.Stat(venvPython(venv)); err != nil {
				return "", fmt.Errorf("%w: the virtual environment %s is broken, since %s leads to no file: make it again with "+
					"python3 -m venv --clear %s", bootstrap.ErrNoInterpreter, venv, venvPython(venv), venv)
			}
			return venv, nil
		}
		if above == top || above == filepath.Dir(above) {
			break
		}
	}
	if active != "" {
		if _, err := os.Stat(venvPython(active)); err == nil {
			return active, nil
		}
	}
	return "", nil
}

// venvPrograms returns the directory of a virtual environment's programs.
func venvPrograms(venv string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(venv, "Scripts")
	}
	return filepath.Join(venv, "bin")
}

// venvPython returns the interpreter of a virtual environment.
func venvPython(venv string) string {
	name := "python"
	if runtime.GOOS == "windows" {
		name = "python.exe"
	}
	return filepath.Join(venvPrograms(venv), name)
}

// interpreter returns the program that runs the script, and its virtual environment, or "" for none. active is the
// active environment. A cloud function uses none, because its code came with a template and not from this project.
func (s script) interpreter(active string, function bool) (path, venv string, err error) {
	if s.language == bootstrap.Python && !function {
		if venv, err = virtualEnv(filepath.Dir(s.file), active); err != nil {
			return "", "", err
		}
		if venv != "" {
			return venvPython(venv), venv, nil
		}
	}
	path, err = s.language.Interpreter()
	return path, "", err
}

// active returns the virtual environment that is active for a provider's processes.
func active(config *Config, provider Provider) string {
	inherited := ""
	for _, kv := range config.Environ {
		if text, ok := strings.CutPrefix(kv, virtualEnvVar+"="); ok {
			inherited = text
		}
	}
	return cmp.Or(provider.Env[virtualEnvVar], config.Env[virtualEnvVar], inherited)
}
