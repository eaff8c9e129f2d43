package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// dataName is the name of a data directory next to a project file.
const dataName = ".pintle"

// place is where a command works: a project's directory and a data directory.
type place struct {
	dir     string           // absolute
	given   string           // dir as it was typed, empty if it was not
	project *project.Project // nil if dir has no project file
	data    string           // absolute
	// dataGiven, stackGiven and the connection are flags as they were typed, empty if they were not.
	dataGiven, stackGiven string
	connection            connection
	deployed              string // the other flags of a deploy, as a command line has them
	// retried has the flags of a deploy that belong to another try, and not to the continuation of the same operation.
	retried string
	// unshown says that the deploy was given parameters too, which may be secret.
	unshown bool
	// developing says that a save begins the next deploy.
	developing bool
}

// locate finds out where a command works. dir is empty for the current directory.
func (w *workdir) locate(dir, data string) (place, error) {
	p := place{dir: w.path(dir), given: dir, dataGiven: data}
	// Who names the data may stand anywhere: with sudo -u in a directory of someone else, where nothing can be looked for.
	if _, err := os.Stat(filepath.Join(p.dir, project.FileName)); dir == "" && data != "" && errors.Is(err, fs.ErrPermission) {
		p.data = w.path(data)
		return p, nil
	}
	info, err := os.Stat(p.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, usagef("give a directory with pintle.yaml", "no directory %s", dir)
	case err != nil:
		return p, usageError(err)
	case !info.IsDir():
		return p, usagef("give its directory; use --template for a template", "%s is not a directory", dir)
	}
	p.project, err = project.Load(p.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, usageError(err)
	}
	switch {
	case data != "":
		p.data = w.path(data)
	case p.project != nil:
		p.data = filepath.Join(p.dir, dataName)
	default:
		p.data = filepath.Join(w.cwd, dataName)
	}
	return p, nil
}

// target reads the argument of a command that changes a stack: a directory, or the name of a stack. Both are empty if the argument is.
func (w *workdir) target(argument string) (dir, stack string) {
	if argument == "" || strings.ContainsAny(argument, `/\`) || isDirectory(w.path(argument)) || !stackName.MatchString(argument) {
		return argument, ""
	}
	return "", argument
}

// readTarget reads the argument of a command that shows a stack. A word is the name of a stack here. It is a directory only if it has a
// pintle.yaml, and no stacks are stored here.
func (w *workdir) readTarget(o *readOptions, argument string) (dir, stack string) {
	elsewhere := o.project != "" || o.data != "" || o.endpoint != ""
	switch {
	case argument == "" || elsewhere:
		return "", argument
	case argument == "." || argument == ".." || strings.ContainsAny(argument, `/\`) && isDirectory(w.path(argument)):
		return argument, ""
	case isFile(filepath.Join(w.path(argument), project.FileName)) && !isDirectory(w.path(dataName)):
		return argument, ""
	}
	return "", argument
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// The names that stacks can have: in either dialect, and in CloudFormation. Source: CloudFormation, CreateStack; ROS, CreateStack.
var (
	stackName          = regexp.MustCompile(`^[a-zA-Z][-_a-zA-Z0-9]{0,254}$`)
	cloudFormationName = regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9]{0,127}$`)
)

// stack returns the name of the stack for a command: the argument, the name in the project file, or the name of
// the directory.
func (p place) stack(given string) (string, error) {
	name := given
	if name == "" && p.project != nil {
		name = p.project.Stack
		if name == "" {
			name = filepath.Base(p.dir)
		}
	}
	switch {
	case name == "":
		return "", usagef("set it with --stack, or give a directory with pintle.yaml", "no stack given")
	case stackName.MatchString(name):
		return name, nil
	}
	return "", usagef("set it with --stack", "%q is not a valid stack name: "+
		"use a letter followed by letters, digits and hyphens, at most 128", name)
}

// again returns the command line that does something to the same stack.
func (p place) again(verb string) string {
	line := "pintle " + verb
	if p.given != "" {
		line += " " + quote(p.given)
	}
	if p.stackGiven != "" {
		line += " --stack " + quote(p.stackGiven)
	}
	if verb == "deploy" || verb == "dev" {
		line += p.deployed
	}
	if verb == "deploy" && p.developing {
		line += " --run-functions"
	}
	return line + p.flags()
}

// retry returns the hint to run a command again after a fix.
func (p place) retry(verb string) string {
	switch {
	case verb != "deploy":
		return "fix it, then run: " + p.again(verb)
	case p.developing && p.retried != "":
		return "fix it and save it, then type u again"
	case p.developing:
		return "fix it and save it"
	case p.unshown:
		return "fix it, then run the same command again"
	}
	return "fix it, then run: " + p.again(verb) + p.retried
}

// look returns the command line that shows something of a stack.
func (p place) look(verb, stack string) string {
	return p.about("pintle " + verb + " " + quote(stack))
}

// answer returns the command line that answers for the provider of a resource.
func (p place) answer(stack, resource string) string {
	return p.about("pintle respond " + quote(stack) + " " + quote(resource) + " --status SUCCESS")
}

// about adds the flags to a command line by which it finds the stack that it names.
func (p place) about(line string) string {
	if p.given != "" && p.dataGiven == "" && p.connection.endpoint == "" {
		line += " --project " + quote(p.given)
	}
	return line + p.flags()
}

// named returns the flags by which serve and env find the same data.
func (p place) named() string {
	switch {
	case p.dataGiven != "":
		return " --data " + quote(p.dataGiven)
	case p.given != "":
		return " --project " + quote(p.given)
	}
	return ""
}

func (p place) flags() string {
	flags := ""
	if p.dataGiven != "" {
		flags += " --data " + quote(p.dataGiven)
	}
	if p.connection.endpoint != "" {
		flags += " --endpoint " + quote(p.connection.endpoint)
	}
	if p.connection.region != "" {
		flags += " --region " + quote(p.connection.region)
	}
	if p.connection.dialect != "" {
		flags += " --dialect " + quote(p.connection.dialect)
	}
	return flags
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// quote returns a word as a shell takes it.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// connection is the flags that say which engine a command works with.
type connection struct {
	data, endpoint, region, dialect string
}

func (c *connection) flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.data, "data", "", "data `DIR` (default: .pintle next to pintle.yaml)")
	flags.StringVar(&c.endpoint, "endpoint", "", "`URL` of a server to connect to, with the AWS SDK's credentials, or ALIBABA_CLOUD_ACCESS_KEY_ID for ROS")
	flags.StringVar(&c.region, "region", "", "`NAME` of the stack's region (default: AWS_REGION, or us-east-1; for ROS ALIBABA_CLOUD_REGION_ID, or cn-hangzhou)")
	flags.StringVar(&c.dialect, "dialect", "", "dialect of the stack, as `NAME`: cloudformation or ros (default: that of the existing stack or of the template)")
	fromEnvironment(flags, "data", "endpoint", "region")
}

func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "output `FORMAT`: text or json")
	choices(cmd, "output", "text", "json")
}

// fidelityFlag is the flag that says how closely an engine follows the service.
func fidelityFlag(cmd *cobra.Command, fidelity *string) {
	cmd.Flags().StringVar(fidelity, "fidelity", "", "whose behaviour to follow where they differ, as `MODE`: pintle or aws (default pintle)")
	fromEnvironment(cmd.Flags(), "fidelity")
	choices(cmd, "fidelity", "pintle", "aws")
}

// unknownTypesFlag is the flag for resource types without a provider.
func unknownTypesFlag(cmd *cobra.Command, unknown *string) {
	cmd.Flags().StringVar(unknown, "unknown-types", "", "how to handle resource types without a provider, as `MODE`: refuse, or record, which stores the declaration and creates nothing (default: the value in pintle.yaml, or record with --dev, else refuse)")
	fromEnvironment(cmd.Flags(), "unknown-types")
	choices(cmd, "unknown-types", "refuse", "record")
}

// unknownTypes returns the setting of the flag, else that of the project. The default is to record unknown types with --dev, and to refuse
// them otherwise.
func (p place) unknownTypes(given string, dev bool) (engine.UnknownTypes, error) {
	if given == "" && p.project != nil {
		given = p.project.UnknownTypes
	}
	if given == "" && dev {
		given = "record"
	}
	switch given {
	case "", "refuse":
		return engine.UnknownRefused, nil
	case "record":
		return engine.UnknownRecorded, nil
	}
	return "", usagef("use refuse or record", "--unknown-types %q is unknown", given)
}

// choices completes a flag to one of a few words.
func choices(cmd *cobra.Command, flag string, words ...string) {
	// The flag was just defined, so this cannot fail.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func wantJSON(output string) (bool, error) {
	switch output {
	case "text":
		return false, nil
	case "json":
		return true, nil
	}
	return false, usageError(fmt.Errorf("--output %q: want text or json", output))
}
