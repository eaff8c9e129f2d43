package check

import (
	"embed"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Remedy describes the change that a handler needs if it breaks a rule.
type Remedy struct {
	// Text is one or two sentences.
	Text string
	// Snippet is code for the handler's language and library. It is empty if the rule has none, if the language is
	// unknown, and in every finding of a rule but the first.
	Snippet string
	// Language is that of the Snippet: python, javascript or go. It is empty without one.
	Language string
}

//go:embed snippets/*
var snippetFiles embed.FS

// style is how a handler is written: its language and the files with snippets for it, the most specific first.
type style struct {
	language string
	files    []string
	module   bool // whether a Node file is an ECMAScript module
	sdk      bool
}

// maxSource bounds how much is read of each source file, and maxSources how many files of a Go package.
const (
	maxSource  = 64 << 10
	maxSources = 50
)

var (
	pythonImport = regexp.MustCompile(`(?m)^\s*(?:import|from)\s+(cfnresponse|crhelper)\b`)
	nodeImport   = regexp.MustCompile(`['"](?:\./)?cfn-response(?:\.js)?['"]`)
	sdkImport    = regexp.MustCompile(`"github\.com/pintle-dev/pintle(?:/[a-z]+)?"`)
	// required matches a require of CommonJS in a snippet, and exported the assignment of a handler.
	required = regexp.MustCompile(`(?m)^const (\{?\w+\}?) = require\(('[\w:]+')\);$`)
	exported = regexp.MustCompile(`(?m)^exports\.handler = `)
)

// styleOf finds out how the handler of a target is written. It returns the zero value if that is not known.
func styleOf(target local.Target) style {
	switch path := target.Source(); {
	case path == "":
		return style{}
	case target.Kind() == local.GoPackage:
		files, _ := filepath.Glob(filepath.Join(path, "*.go")) // the pattern is fixed, but for the path
		files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		for _, name := range files[:min(len(files), maxSources)] {
			if sdkImport.Match(local.Beginning(name, maxSource)) {
				return style{language: "go", files: []string{"sdk.go.txt"}, sdk: true}
			}
		}
		return style{language: "go", files: []string{"cfn.go.txt"}}
	case filepath.Ext(path) == ".py":
		found := style{language: "python", files: []string{"plain.py"}}
		if library := pythonImport.FindSubmatch(local.Beginning(path, maxSource)); library != nil {
			found.files = []string{string(library[1]) + ".py", "plain.py"}
		}
		return found
	default:
		text := local.Beginning(path, maxSource)
		found := style{language: "javascript", files: []string{"plain.js"}}
		if nodeImport.Match(text) {
			found.files = []string{"cfn-response.js", "plain.js"}
		}
		found.module = slices.Contains([]string{".mjs", ".ts", ".mts"}, filepath.Ext(path))
		return found
	}
}

// snippet returns the code for a rule, or "" if the rule has none.
func (s style) snippet(rule string) string {
	for _, file := range s.files {
		text, err := snippetFiles.ReadFile("snippets/" + file)
		if err != nil {
			panic(err) // it is embedded
		}
		code, found := snippetsOf(string(text))[rule]
		if !found {
			continue
		}
		if s.module {
			code = exported.ReplaceAllString(required.ReplaceAllString(code, "import $1 from $2;"), "export const handler = ")
		}
		return code
	}
	return ""
}

// snippetsOf reads a file of snippets. Lines that begin with dashes in a comment name the rules of the code below them; rules
// without code have no snippet.
func snippetsOf(text string) map[string]string {
	snippets := map[string]string{}
	var rules, code []string
	end := func() {
		for _, rule := range rules {
			snippets[rule] = strings.Trim(strings.Join(code, "\n"), "\n")
		}
	}
	naming := false
	for line := range strings.Lines(text) {
		names, ok := strings.CutPrefix(strings.TrimLeft(line, "#/"), " --- ")
		if !ok {
			code, naming = append(code, strings.TrimRight(line, "\n")), false
			continue
		}
		if !naming {
			end()
			rules, code = nil, nil
		}
		rules, naming = append(rules, strings.Fields(names)...), true
	}
	end()
	return snippets
}

// remedy adds a remedy to each finding, with a snippet in the first finding of each rule.
func (r *run) remedy() {
	how := styleOf(r.config.Session.Provider.Target)
	if r.config.Dialect == wire.ROS && !how.sdk {
		how = style{} // the other snippets are for CloudFormation's answers
	}
	seen := map[string]bool{}
	for i := range r.report.Findings {
		f := &r.report.Findings[i]
		f.Remedy.Text = f.Fix
		if f.stream && f.ID == "id-changed" {
			f.Remedy.Text += " Here the ID is the name of the log stream, which many libraries use when no ID is given: pass one in " +
				"every answer."
		}
		if code := how.snippet(f.ID); code != "" && !seen[f.ID] {
			f.Remedy.Snippet, f.Remedy.Language = code, how.language
		}
		seen[f.ID] = true
	}
}

// merge drops the findings of id-log-stream if an Update changed an ID to that of a log stream: id-changed reports the same cause.
func (r *run) merge() {
	if !slices.ContainsFunc(r.report.Findings, func(f Finding) bool { return f.ID == "id-changed" && f.stream }) {
		return
	}
	r.report.Findings = slices.DeleteFunc(r.report.Findings, func(f Finding) bool { return f.ID == "id-log-stream" })
	for i, o := range r.report.Outcomes {
		of := func(f Finding) bool { return f.Scenario == o.ID && f.Severity != Note }
		if o.Result != Broken || slices.ContainsFunc(r.report.Findings, of) {
			continue
		}
		if r.report.Outcomes[i].Result = Passed; o.Reason != "" {
			r.report.Outcomes[i].Result = NotRun
		}
	}
}
