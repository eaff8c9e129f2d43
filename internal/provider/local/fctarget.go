package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// FCCode is the code of a function of Function Compute.
type FCCode struct {
	// Dir is the directory of the code.
	Dir string
	// Runtime is the identifier of the runtime, such as python3.10, nodejs20, go1 or custom.debian12.
	Runtime string
	// Handler is FILE.FUNCTION, or for go1 the name of the executable. A custom runtime ignores it.
	Handler string
	// Command is the command of a custom runtime with its arguments. Empty means the file bootstrap.
	Command []string
}

// codePath is the directory of a function's code on Function Compute.
const codePath = "/code/"

// FCTarget returns the target of a Function Compute function. The [Provider] must have that Contract. A handler's file
// need not exist: its process reports a missing file. An error means that no process could start at all.
func FCTarget(c FCCode) (Target, error) {
	if language, ok := bootstrap.ForRuntime(c.Runtime); ok {
		s, err := runtimeScript(c.Dir, language, c.Handler)
		return Target{kind: Script, text: c.Handler, path: c.Dir, script: s}, err
	}
	command := c.Command
	switch {
	case c.Runtime == "go1":
		command = []string{c.Handler}
		if info, err := os.Stat(filepath.Join(c.Dir, c.Handler)); !filepath.IsLocal(c.Handler) || err != nil || info.IsDir() {
			command = []string{"bootstrap"}
		}
	case c.Runtime != "custom" && !strings.HasPrefix(c.Runtime, "custom."):
		return Target{}, fmt.Errorf("the runtime %s is not supported: use nodejs*, python*, go1 or custom*", c.Runtime)
	case len(command) == 0:
		command = []string{"bootstrap"}
	}
	// Replace the code path of Function Compute with the local directory.
	here := make([]string, len(command))
	for i, word := range command {
		if rest, ok := strings.CutPrefix(word, codePath); ok && filepath.IsLocal(rest) {
			word = filepath.Join(c.Dir, rest)
		}
		here[i] = word
	}
	file := here[0]
	if !filepath.IsAbs(file) {
		file = filepath.Join(c.Dir, file)
	}
	t := Target{kind: Executable, text: strings.Join(command, " "), path: file, dir: c.Dir}
	for _, argument := range here[1:] {
		if strings.ContainsRune(argument, 0) {
			return Target{}, fmt.Errorf("the command %s: an argument holds a zero byte", command[0])
		}
		t.args += "\x00" + argument
	}
	info, err := os.Stat(file)
	switch {
	case err == nil:
		return t, checkExecutable(file, info)
	case len(c.Command) == 0:
		return Target{}, fmt.Errorf("the code holds no file %s, which the runtime %s runs", command[0], c.Runtime)
	case strings.ContainsRune(here[0], filepath.Separator):
		return Target{}, fmt.Errorf("the command %s: the code holds no such file", command[0])
	}
	if t.path, err = exec.LookPath(here[0]); err != nil {
		return Target{}, fmt.Errorf("the command %s is neither in the code nor on PATH", command[0])
	}
	return t, nil
}
