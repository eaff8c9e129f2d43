package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/internal/author/catalogue"
)

// The commands in texts of the program: "pintle", a verb, and the rest of the command.
var (
	hintedCommand = regexp.MustCompile(`(?:^|[^.\w])pintle ([a-z]+(?: [^"\n;:,()?&]*)?)`)
	verbInSource  = regexp.MustCompile(`\.(again|retry|look)\("([a-z]+)"`)
)

// prose are words that follow the name of the program in other texts: in sentences, choices, and the heads of files.
var prose = []string{"has", "or", "seal", "object"}

// sources calls do for each file of the program's Go code.
func sources(t *testing.T, do func(path string, text []byte)) {
	t.Helper()
	for _, top := range []string{".", filepath.Join("..", "..", "internal")} {
		err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "dev" || entry.Name() == "node_modules"):
				return filepath.SkipDir
			case entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err == nil {
				do(path, text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCommandsInTexts checks that the commands which hints, errors and the catalogue name exist, and have the flags that they name.
func TestCommandsInTexts(t *testing.T) {
	root, named := commands(), 0
	verify := func(where, text string) {
		for _, found := range hintedCommand.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(found[1])
			if slices.Contains(prose, words[0]) {
				continue
			}
			named++
			if problem := checkLine(root, words); problem != "" {
				t.Errorf("%s: pintle %s: %s", where, found[1], problem)
			}
		}
	}
	sources(t, func(path string, text []byte) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if value, err := strconv.Unquote(literal.Value); err == nil {
					verify(files.Position(literal.Pos()).String(), value)
				}
			}
			return true
		})
	})
	for _, e := range catalogue.Entries() {
		verify("explain "+e.Code, e.Remedy)
	}
	if named < 100 {
		t.Errorf("%d commands were found, which is too few to be all", named)
	}
}

// TestHintsCanBePasted checks that the command lines which are composed for hints parse, with each way to name a stack.
func TestHintsCanBePasted(t *testing.T) {
	verbs := map[string]map[string]bool{"again": {}, "look": {}}
	sources(t, func(_ string, text []byte) {
		for _, found := range verbInSource.FindAllSubmatch(text, -1) {
			kind := strings.Replace(string(found[1]), "retry", "again", 1)
			verbs[kind][string(found[2])] = true
		}
	})
	if len(verbs["again"]) < 4 || len(verbs["look"]) < 2 {
		t.Fatalf("the verbs %v are too few to be all", verbs)
	}
	for _, p := range []place{
		{}, {given: "my app"}, {dataGiven: "it's data"}, {given: "app", stackGiven: "s"}, {given: "app", dataGiven: "d"},
		{connection: connection{endpoint: "http://h:1/?a=b&c", region: "eu-west-1", dialect: "ros"}, stackGiven: "s"},
		{given: "app", deployed: " --parameter 'A=b c' --disable-rollback"}, {given: "app", developing: true},
	} {
		for verb := range verbs["again"] {
			pasted(t, p.again(verb))
		}
		for verb := range verbs["look"] {
			pasted(t, p.look(verb, "a stack"))
		}
		pasted(t, p.answer("s", "Resource"))
		pasted(t, "pintle env"+p.named())
		pasted(t, "pintle serve --dev"+p.named())
	}
	for _, e := range catalogue.Entries() {
		pasted(t, explainLine(e.Code))
	}
}

var shellWord = regexp.MustCompile(`(?:'[^']*'|\\.|[^'\s\\])+`)

// pasted checks a command line as a shell and the program parse it.
func pasted(t *testing.T, line string) {
	t.Helper()
	var words []string
	for _, word := range shellWord.FindAllString(line, -1) {
		words = append(words, regexp.MustCompile(`'([^']*)'|\\(.)`).ReplaceAllString(word, "$1$2"))
	}
	cmd, rest, err := commands().Find(words[1:])
	if err == nil && !cmd.HasParent() {
		t.Errorf("%s: no command", line)
		return
	}
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// freeValues are the placeholders of flags whose values cannot be listed. Paths of files are completed by the shell.
var freeValues = []string{
	"ACCOUNT=CALLS", "ADDRESS", "ARN", "BYTES", "COMMAND", "DURATION", "FILE", "ID", "JSON", "MANY", "N", "NAME=VALUE", "NAME=TARGET", "PATH",
	"REGION=NAME,NAME", "RULE", "TYPES=URL", "TEXT", "URL", "duration", "string",
}

// freeNames are flags with a NAME that cannot be listed.
var freeNames = []string{"region", "secret", "logical-id", "resource-type", "resource", "package"}

// TestFlagsComplete checks that shells complete each flag with a few possible values.
func TestFlagsComplete(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			value, _ := pflag.UnquoteUsage(flag)
			_, complete := cmd.GetFlagCompletionFunc(flag.Name)
			complete = complete || flag.Annotations[cobra.BashCompSubdirsInDir] != nil || flag.Value.Type() == "bool"
			if !complete && !slices.Contains(freeValues, value) && (value != "NAME" || !slices.Contains(freeNames, flag.Name)) {
				t.Errorf("%s --%s %s is not completed", cmd.CommandPath(), flag.Name, value)
			}
		})
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(commands())
	for _, flag := range []string{"ros-id-change", "only", "ssm", "dialect"} {
		if len(flagWords()[flag]) < 2 {
			t.Errorf("--%s has no words", flag)
		}
	}
	got, _ := completeWords(flagWords()["only"], true)(nil, nil, "silence,id-mi")
	if !slices.Equal(got, []string{"silence,id-missing"}) {
		t.Errorf("--only silence,id-mi completes to %v", got)
	}
}

// TestFlagsOfChanges checks that each command which can start an engine for a stack takes the flags with which deploy starts one.
func TestFlagsOfChanges(t *testing.T) {
	// The flags of deploy for the deployed template, the output, and the handling of failures.
	own := []string{"template", "parameter", "parameter-file", "tag", "dry-run", "disable-rollback", "help", "replace", "no-schema", "update-again"}
	root := commands()
	deploy, _, err := root.Find([]string{"deploy"})
	if err != nil {
		t.Fatal(err)
	}
	// dev prints no document and always runs functions. It runs until it is interrupted.
	notIn := map[string][]string{"dev": {"output", "run-functions"}}
	for _, name := range own {
		if name != "help" && deploy.Flags().Lookup(name) == nil {
			t.Errorf("deploy has no --%s", name)
		}
	}
	for _, verb := range []string{"dev", "delete", "cancel", "continue", "rollback", "drift", "import"} {
		cmd, _, err := root.Find([]string{verb})
		if err != nil {
			t.Fatal(err)
		}
		deploy.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if cmd.Flags().Lookup(flag.Name) == nil && !slices.Contains(own, flag.Name) && !slices.Contains(notIn[verb], flag.Name) {
				t.Errorf("%s does not take --%s", verb, flag.Name)
			}
		})
	}
}
