// Package scaffold writes a new provider project in Go: a program, its test, a template and the files around them.
// The files are in the directory provider, as templates of text/template; those for AWS are in aws.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"github.com/pintle-dev/pintle/statemachine"
	"github.com/pintle-dev/pintle/wire"
)

// SDK is the module that a project requires.
const SDK = "github.com/pintle-dev/pintle"

//go:embed all:provider all:aws
var files embed.FS

// Config describes a new project.
type Config struct {
	// Name is the name of the project or, if it has slashes, the path of its module, of which the last element is the
	// name. Required.
	Name string
	// Module is the path of the Go module. Empty means Name if that is a path, otherwise example.com/Name.
	Module string
	// Clone is the absolute path of a directory with the module [SDK], to be used instead of a published version.
	Clone string
	// Version is that of [SDK] which is required. Required without Clone.
	Version string
	// AWS adds a template and a construct of the CDK for the provider as a Lambda function, and a script that builds its zip file.
	AWS bool
}

// Project has the files of a new project. [New] makes it.
type Project struct {
	name  string
	files []file
}

type file struct {
	path string
	text []byte
}

// content is the data of the templates.
type content struct {
	Name, Module string
	// Stack and Provider are names made of Name, as CloudFormation takes them, and Type is the resource type.
	Stack, Provider, Type string
	SDK, Version          string
	// Replace is the clone as go.mod has it, empty for none.
	Replace string
	AWS     bool
	// Definition is that of the state machine, to be put into a template; Script is the same for a template string of TypeScript.
	Definition, Script string
}

// New returns a project, or an error if the configuration is invalid.
func New(c Config) (*Project, error) {
	name := path.Base(c.Name)
	if c.Module == "" {
		c.Module = c.Name
		if !strings.Contains(c.Name, "/") {
			c.Module = "example.com/" + c.Name
		}
	}
	if err := checkModule(c.Name); err != nil {
		return nil, fmt.Errorf("name %q: %w", c.Name, err)
	}
	if err := checkModule(c.Module); err != nil {
		return nil, fmt.Errorf("module %q: %w", c.Module, err)
	}
	in := content{Name: name, Module: c.Module, Provider: camel(name), SDK: SDK, Version: c.Version}
	in.Stack, in.Type = strings.Trim(notStack.ReplaceAllString(name, "-"), "-"), wire.CustomTypePrefix+in.Provider
	if in.Provider == "" || !unicode.IsLetter(rune(in.Provider[0])) {
		return nil, fmt.Errorf("name %q: its last element must start with a letter", c.Name)
	}
	if err := wire.CheckResourceType(in.Type); err != nil {
		return nil, fmt.Errorf("name %q: %w", c.Name, err)
	}
	switch {
	case c.Clone != "":
		in.Version, in.Replace = "v0.0.0", c.Clone
		if !plainPath.MatchString(c.Clone) {
			in.Replace = strconv.Quote(c.Clone)
		}
	case c.Version == "":
		return nil, errors.New("no version of " + SDK + " and no clone of it is set")
	}
	p := &Project{name: name}
	if !c.AWS {
		return p, p.fill("provider", in)
	}
	definition, err := statemachine.Definition("")
	if err != nil {
		return nil, err
	}
	in.AWS, in.Definition = true, strings.ReplaceAll(string(definition), "\n", "\n        ")
	in.Script = strings.NewReplacer(`\`, `\\`, "`", "\\`", "${", `\${`).Replace(string(definition))
	return p, errors.Join(p.fill("provider", in), p.fill("aws", in))
}

var (
	notStack  = regexp.MustCompile(`[^a-zA-Z0-9]+`)
	plainPath = regexp.MustCompile(`^[A-Za-z0-9_./~+-]+$`)
	element   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)
	device    = regexp.MustCompile(`^(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

// checkModule returns an error unless a text can be the path of a module. Go allows ~ too, where it does not look like a
// short name of Windows. Source: Go modules reference, module paths.
func checkModule(text string) error {
	for part := range strings.SplitSeq(text, "/") {
		if !element.MatchString(part) {
			return errors.New("use letters, digits and -._, as in site or github.com/you/site")
		}
		if device.MatchString(part) {
			return fmt.Errorf("%q is a device name on Windows, which Go does not allow in a path", part)
		}
	}
	if text == SDK {
		return errors.New("the project itself requires this module")
	}
	return nil
}

// camel makes one word of a name: my-site becomes MySite.
func camel(name string) string {
	var b strings.Builder
	for _, word := range notStack.Split(name, -1) {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// fill makes the files of a directory.
func (p *Project) fill(folder string, in content) error {
	return fs.WalkDir(files, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		t, err := template.New(name).Delims("<<", ">>").Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, in); err != nil {
			return err
		}
		target := strings.TrimSuffix(strings.TrimPrefix(name, folder+"/"), ".tmpl")
		p.files = append(p.files, file{target, out.Bytes()})
		return nil
	})
}

// Name returns the name of the project, which its directory usually has too.
func (p *Project) Name() string { return p.name }

// Files returns the names of the files, with slashes, sorted.
func (p *Project) Files() []string {
	names := make([]string, len(p.files))
	for i, f := range p.files {
		names[i] = f.path
	}
	slices.Sort(names)
	return names
}

// ErrNotEmpty is the error of [Project.Write] for a directory with something in it.
var ErrNotEmpty = errors.New("the directory is not empty")

// Write writes the files into a directory, and creates it if necessary. It never overwrites: it returns [ErrNotEmpty] for a
// directory with entries. After any other error it removes the files it wrote.
func (p *Project) Write(dir string) (err error) {
	entries, err := os.ReadDir(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return err
	case len(entries) > 0:
		return ErrNotEmpty
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		for _, f := range p.files { // the directory was empty
			top, _, _ := strings.Cut(f.path, "/")
			_ = os.RemoveAll(filepath.Join(dir, top)) // the first error counts
		}
		if missing {
			_ = os.Remove(dir) // so it does
		}
	}()
	for _, f := range p.files {
		name := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), create(name, f.text)); err != nil {
			return err
		}
	}
	return nil
}

// create writes a file that is not there yet.
func create(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // source is for others to read
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
