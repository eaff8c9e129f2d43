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

// dataName is the name of a data directory beside a project file.
const dataName = ".pintle"

// place is where a command works: a project's folder and a data directory.
type place struct {
	dir     string           // absolute
	given   string           // dir as it was typed, empty if it was not
	project *project.Project // nil if dir has no project file
	data    string           // absolute
	// dataGiven, stackGiven and the connection are flags as they were typed, empty if they were not.
	dataGiven, stackGiven string
	connection            connection
	deployed              string // the other flags of a deploy, as a command line has them
	// unshown says that the deploy was given parameters too, which may be secret.
	unshown bool
	// developing says that a save begins the next deploy.
	developing bool
}

// locate finds out where a command works. dir is empty for the current directory.
func (a *app) locate(dir, data string) (place, error) {
	p := place{dir: a.path(dir), given: dir, dataGiven: data}
	// Who names the data may stand anywhere: with sudo -u in a folder of somebody else, where nothing can be looked for.
	if _, err := os.Stat(filepath.Join(p.dir, project.FileName)); dir == "" && data != "" && errors.Is(err, fs.ErrPermission) {
		p.data = a.path(data)
		return p, nil
	}
	info, err := os.Stat(p.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, usagef("give the folder of a pintle.yaml", "there is no folder %s", dir)
	case err != nil:
		return p, usageError(err)
	case !info.IsDir():
		return p, usagef("give its folder; a template is named with --template", "%s is no folder", dir)
	}
	p.project, err = project.Load(p.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, usageError(err)
	}
	switch {
	case data != "":
		p.data = a.path(data)
	case p.project != nil:
		p.data = filepath.Join(p.dir, dataName)
	default:
		p.data = filepath.Join(a.cwd, dataName)
	}
	return p, nil
}

// The names that stacks can have: in either dialect, and in CloudFormation. Source: CloudFormation, CreateStack; ROS, CreateStack.
var (
	stackName          = regexp.MustCompile(`^[a-zA-Z][-_a-zA-Z0-9]{0,254}$`)
	cloudFormationName = regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9]{0,127}$`)
)

// stack returns the name of the stack that a command is about: what was given, or what the project says, or the name of
// its folder.
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
		return "", usagef("name it with --stack, or give the folder of a pintle.yaml", "it is not said which stack is meant")
	case stackName.MatchString(name):
		return name, nil
	}
	return "", usagef("name it with --stack", "%q cannot be the name of a stack: "+
		"want a letter, then letters, digits and hyphens, 128 at most", name)
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

// retry says what to do about something that went wrong in what a command did.
func (p place) retry(verb string) string {
	if verb == "deploy" && p.developing {
		return "fix it and save it"
	}
	if verb == "deploy" && p.unshown {
		return "fix it, then run the same command again"
	}
	return "fix it, then: " + p.again(verb)
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
	flags.StringVar(&c.data, "data", "", "`DIR` of the data (default: .pintle beside pintle.yaml)")
	flags.StringVar(&c.endpoint, "endpoint", "", "`URL` of a server to be a client of, with the AWS SDK's own credentials, or those of ALIBABA_CLOUD_ACCESS_KEY_ID for ROS")
	flags.StringVar(&c.region, "region", "", "`NAME` of the stack's region (default: AWS_REGION, or us-east-1; of ROS ALIBABA_CLOUD_REGION_ID, or cn-hangzhou)")
	flags.StringVar(&c.dialect, "dialect", "", "whose stack is meant, as `NAME`: cloudformation or ros (default: the one that is there, or that of the template)")
	fromEnvironment(flags, "data", "endpoint", "region")
}

// regionOr returns the region that was asked for.
func (a *app) regionOr(given string) string {
	for _, region := range []string{given, a.getenv("AWS_REGION"), a.getenv("AWS_DEFAULT_REGION")} {
		if region != "" {
			return region
		}
	}
	return "us-east-1"
}

func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "text", "`FORMAT` of what is printed: text or json")
	choices(cmd, "output", "text", "json")
}

// fidelityFlag is the flag that says how closely an engine follows the service.
func fidelityFlag(cmd *cobra.Command, fidelity *string) {
	cmd.Flags().StringVar(fidelity, "fidelity", "", "whose behaviour to keep to where they differ, as `MODE`: pintle or aws (default pintle)")
	fromEnvironment(cmd.Flags(), "fidelity")
	choices(cmd, "fidelity", "pintle", "aws")
}

// unknownTypesFlag is the flag that says what becomes of resource types that nobody provides.
func unknownTypesFlag(cmd *cobra.Command, unknown *string) {
	cmd.Flags().StringVar(unknown, "unknown-types", "", "what becomes of resource types that nobody provides, as `MODE`: refuse, or record, which keeps what is declared and creates nothing (default: the project's, or record with --dev, else refuse)")
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
	return "", usagef("want refuse or record", "--unknown-types %q is not known", given)
}

// choices completes a flag to one of a few words.
func choices(cmd *cobra.Command, flag string, words ...string) {
	// The flag was defined a moment ago, so there is no error.
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
