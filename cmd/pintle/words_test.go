package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pages returns the paths of the pages for users, relative to the root of the repository: those in the root, below docs, and next to
// the examples.
func pages(t *testing.T) (list []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, pattern := range []string{"*.md", ".github/*.md", "docs/*.md", "docs/design/*.md", "docs/zh/*.md", "examples/*/*.md", "examples/*/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			path, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			if path = filepath.ToSlash(path); !strings.Contains(path, "node_modules") {
				list = append(list, path)
			}
		}
	}
	if len(list) < 30 {
		t.Fatalf("there are %d pages: %q", len(list), list)
	}
	return list
}

// page returns the text of one of them.
func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	fence = regexp.MustCompile("(?ms)^[ >]*```.*?^[ >]*```$")
	span  = regexp.MustCompile("`([^`]+)`")
	// ourCommand matches a pintle command in a command position of a shell line: at the start, or after an operator.
	ourCommand = regexp.MustCompile(`(?:^|[;&|(] *|\$ +)pintle((?: +[^ ;&|)#>"]+|"[^"]*"| +"[^"]*")*)`)
	longFlag   = regexp.MustCompile(`(?:^|[\s(\[|])(--[a-z][a-z0-9-]*)`)
	target     = regexp.MustCompile(`\bmake ([a-z]+)\b`)
	ourName    = regexp.MustCompile(`\bPINTLE_[A-Z0-9_]*[A-Z0-9]\b`)
	otherTool  = regexp.MustCompile(`^(\$ |sudo )?(\w+=\S+ )?(aws|aliyun|cdk|sam|npx|uvx|npm|go|podman|docker|COPY|kubectl|systemctl|systemd-\w+|` +
		`journalctl|useradd|install|createuser|initdb|curl|git|gh|pip|tar|sha256sum|openssl)\b`)
)

// code returns the code of a page: its spans, and the lines of its blocks, with continued lines joined.
func code(text string) (list []string) {
	for _, block := range fence.FindAllString(text, -1) {
		lines := strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n")
		for _, line := range lines[1 : len(lines)-1] {
			line, _, _ = strings.Cut(line, " # ") // a comment
			list = append(list, strings.TrimSpace(line))
		}
	}
	for _, found := range span.FindAllStringSubmatch(strings.ReplaceAll(fence.ReplaceAllString(text, ""), "\n", " "), -1) {
		list = append(list, found[1])
	}
	return list
}

// others are flags that pages name alone and that are of other programs, with whose they are.
var others = map[string]string{
	"--deletion-mode":                   "the AWS CLI",
	"--express":                         "the CDK",
	"--force-rollback":                  "the AWS CLI",
	"--hotswap":                         "the CDK",
	"--hotswap-fallback":                "the CDK",
	"--method":                          "the CDK",
	"--on-failure":                      "the AWS CLI",
	"--export-name":                     "the AWS CLI",
	"--resources-to-skip":               "the AWS CLI",
	"--retain-resources":                "the AWS CLI",
	"--stack-name":                      "the AWS CLI",
	"--stack-policy-during-update-body": "the AWS CLI",
}

// TestWordsOfPages holds that the commands, flags, make targets and variables that the pages name are there.
func TestWordsOfPages(t *testing.T) {
	root := commands()
	flags := allFlags(root)
	variables := variablesOfSource(t)
	targets := targetsOfMake(t)
	provider := flagsOfProviders(t)
	named := 0
	for _, path := range pages(t) {
		text := page(t, path)
		wrong := func(format string, args ...any) { t.Helper(); t.Errorf(path+": "+format, args...) }
		for _, line := range code(text) {
			for _, found := range ourCommand.FindAllStringSubmatch(line, -1) {
				named++
				if problem := checkLine(root, strings.Fields(found[1])); problem != "" {
					wrong("`%s`: %s", line, problem)
				}
			}
			if ourCommand.MatchString(line) || otherTool.MatchString(line) {
				continue
			}
			for _, found := range longFlag.FindAllStringSubmatch(line, -1) {
				if named++; !flags[found[1]] && others[found[1]] == "" && !slices.Contains(provider, found[1]) {
					wrong("`%s`: no command has %s", line, found[1])
				}
			}
		}
		for _, line := range code(text) {
			for _, found := range target.FindAllStringSubmatch(line, -1) {
				if named++; !targets[found[1]] {
					wrong("`%s`: the Makefile has no %s", line, found[1])
				}
			}
		}
		for _, name := range ourName.FindAllString(text, -1) {
			if named++; !variables[name] {
				wrong("nothing reads %s", name)
			}
		}
	}
	if named < 500 {
		t.Errorf("%d words were found, which is too few to be all", named)
	}
}

// checkLine returns the error of a command line on a page, without the leading pintle, or "". Words in capitals
// or with an ellipsis are placeholders.
func checkLine(root *cobra.Command, words []string) string {
	for len(words) > 0 && strings.Trim(words[len(words)-1], ".…:,") == "" {
		words = words[:len(words)-1]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return ""
	}
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	if cmd == root {
		return "unknown command " + words[0]
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && cmd.Run == nil && cmd.RunE == nil {
		return cmd.CommandPath() + " has no command " + rest[0]
	}
	cmd.InitDefaultHelpFlag()
	for _, word := range rest {
		name, _, _ := strings.Cut(strings.Trim(word, "[](),"), "=")
		long, isLong := strings.CutPrefix(name, "--")
		switch {
		case isLong && long != "" && cmd.Flags().Lookup(long) == nil && cmd.InheritedFlags().Lookup(long) == nil:
			return cmd.CommandPath() + " has no --" + long
		case !isLong && len(name) == 2 && name[0] == '-' && cmd.Flags().ShorthandLookup(name[1:]) == nil:
			return cmd.CommandPath() + " has no " + name
		}
	}
	return ""
}

// allFlags are the flags of all commands.
func allFlags(cmd *cobra.Command) map[string]bool {
	names := map[string]bool{"--help": true}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) { names["--"+flag.Name] = true })
	for _, below := range cmd.Commands() {
		for name := range allFlags(below) {
			names[name] = true
		}
	}
	return names
}

// variablesOfSource are the variables that stand in for flags, and those that the sources name: of Go, of tools and of CI.
func variablesOfSource(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Annotations[environmentMark] != nil {
				names[variable(flag.Name)] = true
			}
		})
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(commands())
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git" || entry.Name() == ".pintle"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".js" || filepath.Base(path) == "words_test.go":
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range regexp.MustCompile(`["'. ](PINTLE_[A-Z0-9_]+)`).FindAllSubmatch(text, -1) {
			names[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// flagsOfProviders are those of programs that are made with package pintle.
func flagsOfProviders(t *testing.T) (list []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(`flags\.(?:\w+Var\(&[^,]+, |String\(|Func\()"([a-z-]+)"`).FindAllStringSubmatch(page(t, "run.go"), -1) {
		list = append(list, "--"+found[1])
	}
	if len(list) == 0 {
		t.Fatal("run.go has no flags")
	}
	return list
}

func targetsOfMake(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^([a-z]+):`).FindAllStringSubmatch(page(t, "Makefile"), -1) {
		names[found[1]] = true
	}
	return names
}
