package main

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// Variables of the function that the CDK's Provider puts in front of a handler. Source: aws-cdk-lib, custom-resources, provider-framework.
const (
	onEventVariable    = "USER_ON_EVENT_FUNCTION_ARN"
	isCompleteVariable = "USER_IS_COMPLETE_FUNCTION_ARN"
)

// lambdaTimeout is the timeout of a function whose template has none. Source: AWS::Lambda::Function, Timeout.
const lambdaTimeout = 3 * time.Second

// isTemplate reports whether a target is a template: a file by its extension.
func isTemplate(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() &&
		slices.Contains([]string{".yaml", ".yml", ".json", ".template"}, strings.ToLower(filepath.Ext(path)))
}

// templated finds the provider of a custom resource that a template declares, in that template.
func (a *checkCommands) templated(o *checkOptions, how *invokeOptions, s *harness.SessionConfig, name string) (err error) {
	if o.template != "" {
		return usagef("omit --template", "the target is a template, and --template names another one")
	}
	o.template = name
	if o.of, err = a.templateResource(o); err != nil {
		return err
	}
	if o.of.language == template.ROS {
		return usagef("check the handler's file, with --template "+quote(name), "functions of ROS templates are not checked by their template")
	}
	if err := os.Mkdir(o.code, 0o700); err != nil {
		return failed(err)
	}
	functions := templateFunctions{templateResource: o.of, file: name, root: filepath.Dir(a.path(name)), dir: o.code, note: func(text string) { a.say("%s", text) }}
	provider, err := functions.provider(how)
	if err != nil {
		return err
	}
	s.Provider, s.Functions, s.Calls = provider.Framework, provider.Functions, provider.Calls
	return withoutServer(provider)
}

// templateFunctions finds the functions of a template that handle a custom resource.
type templateFunctions struct {
	*templateResource

	file string          // the template as the user named it
	root string          // the directory of the template, which paths in it are relative to
	dir  string          // for inline code
	note func(string)    // prints a remark
	p    project.Project // what is found
}

// provider returns the provider of the resource.
func (f *templateFunctions) provider(o *invokeOptions) (node.Apart, error) {
	function, err := f.named(f.resource.Properties.Get("ServiceToken"), "ServiceToken of resource "+f.resource.LogicalID)
	if err != nil {
		return node.Apart{}, err
	}
	variables := function.Properties.Get("Environment").Get("Variables")
	onEvent := variables.Get(onEventVariable)
	if onEvent.IsZero() {
		declared, err := f.declared(function)
		if err != nil {
			return node.Apart{}, err
		}
		provider, err := local.ParseProvider(f.root, declared)
		if err != nil {
			return node.Apart{}, usageError(fmt.Errorf("%s: function %s: %w", f.file, function.LogicalID, err))
		}
		return node.Apart{Framework: provider}, nil
	}
	made := project.Provider{Name: function.LogicalID}
	for _, part := range []struct {
		variable string
		into     **project.Function
	}{{onEventVariable, &made.OnEvent}, {isCompleteVariable, &made.IsComplete}} {
		arn := variables.Get(part.variable)
		if arn.IsZero() {
			continue
		}
		user, err := f.named(arn, part.variable+" of function "+function.LogicalID)
		if err != nil {
			return node.Apart{}, err
		}
		*part.into = &project.Function{Target: user.LogicalID}
		if slices.ContainsFunc(f.p.Providers, func(p project.Provider) bool { return p.Name == user.LogicalID }) {
			continue // one function for both
		}
		declared, err := f.declared(user)
		if err != nil {
			return node.Apart{}, err
		}
		f.p.Providers = append(f.p.Providers, declared)
	}
	f.p.Dir = f.root
	return apart(o, &f.p, made)
}

// named returns the function whose ARN a node is.
func (f *templateFunctions) named(n template.Node, what string) (*template.Resource, error) {
	var found []*template.Resource
	for _, reference := range f.partial.References(n) {
		for _, r := range f.partial.Resources() {
			if r.LogicalID == reference.Resource && (r.Type == "AWS::Lambda::Function" || r.Type == template.ServerlessFunction) {
				found = append(found, r)
			}
		}
	}
	if len(found) != 1 {
		return nil, usagef("check the handler's file, and name the resource with --template and --resource",
			"%s: %s does not name a function of the template", f.file, what)
	}
	return found[0], nil
}

// declared returns a function as pintle.yaml would declare it.
func (f *templateFunctions) declared(r *template.Resource) (project.Provider, error) {
	made := project.Provider{Name: r.LogicalID, Timeout: lambdaTimeout, Env: map[string]string{}}
	fail := func(format string, args ...any) (project.Provider, error) {
		return made, usagef("check the handler's file, and name the resource with --template and --resource",
			"%s: function %s: %s", f.file, r.LogicalID, fmt.Sprintf(format, args...))
	}
	runtime, err := f.text(r, "Runtime")
	if err != nil {
		return made, err
	}
	if made.Handler, err = f.text(r, "Handler"); err != nil {
		return made, err
	}
	if seconds, err := f.text(r, "Timeout"); err == nil && seconds != "" {
		n, err := strconv.Atoi(seconds)
		if err != nil || n < 1 {
			return fail("Timeout %q is not a number of seconds", seconds)
		}
		made.Timeout = time.Duration(n) * time.Second
	}
	for _, m := range r.Properties.Get("Environment").Get("Variables").Members() {
		v, open, err := settled(f.partial, m.Value, m.Key)
		if err != nil || open != "" || v.Kind() == value.Map || v.Kind() == value.List {
			f.note(fmt.Sprintf("function %s gets no variable %s, because only a stack has its value", r.LogicalID, m.Key))
			continue
		}
		made.Env[m.Key] = v.Text()
	}
	code := []string{"Code", "ZipFile"}
	if r.Type == template.ServerlessFunction {
		code = []string{"InlineCode"}
	}
	inline, err := f.text(r, code...)
	if err != nil {
		return made, err
	}
	if inline != "" {
		name, err := lambda.InlineName(inline, runtime)
		if err != nil {
			return fail("%v", err)
		}
		made.Target = filepath.Join(f.dir, r.LogicalID)
		if err := os.Mkdir(made.Target, 0o700); err != nil {
			return made, failed(err)
		}
		if err := os.WriteFile(filepath.Join(made.Target, name), []byte(inline), 0o600); err != nil {
			return made, failed(err)
		}
		return made, nil
	}
	made.Target, err = f.codeDir(r)
	switch {
	case err != nil:
		return made, err
	case made.Target == "":
		return fail("its code is not in the template, and not in a directory next to it")
	}
	return made, nil
}

// codeDir returns the directory with a function's code: an asset of the CDK, or a path that is packaged before it is deployed.
func (f *templateFunctions) codeDir(r *template.Resource) (string, error) {
	for _, text := range []template.Node{r.Metadata.Get("aws:asset:path"), r.Properties.Get("Code"), r.Properties.Get("CodeUri")} {
		if text.Kind() != value.String || strings.Contains(text.Text(), "://") {
			continue
		}
		code := filepath.Join(f.root, filepath.FromSlash(text.Text()))
		info, err := os.Stat(code)
		if err == nil && info.Mode().IsRegular() && filepath.Ext(code) == ".zip" {
			return f.unpacked(r.LogicalID, code)
		}
		if err != nil || !info.IsDir() {
			return "", usagef("run cdk synth or build the function first", "%s: function %s: there is no directory and no zip file %s", f.file, r.LogicalID, code)
		}
		return code, nil
	}
	return "", nil
}

// unpacked returns the directory into which a zip file is unpacked.
func (f *templateFunctions) unpacked(function, file string) (string, error) {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return "", usageError(fmt.Errorf("%s: function %s: %s: %w", f.file, function, file, err))
	}
	defer func() { _ = archive.Close() }() // it was only read
	dir := filepath.Join(f.dir, function)
	if err := os.CopyFS(dir, archive); err != nil {
		return "", usageError(fmt.Errorf("%s: function %s: unpack %s: %w", f.file, function, file, err))
	}
	return dir, nil
}

// text returns a property of a function, "" if it is not set.
func (f *templateFunctions) text(r *template.Resource, path ...string) (string, error) {
	n := r.Properties
	for _, key := range path {
		if n = n.Get(key); n.IsZero() {
			return "", nil
		}
	}
	v, open, err := settled(f.partial, n, strings.Join(path, "."))
	if err != nil {
		return "", usageError(fmt.Errorf("%s: function %s: %w", f.file, r.LogicalID, err))
	}
	if open != "" || v.Kind() == value.Map || v.Kind() == value.List {
		return "", usagef("set the parameters with --parameter", "%s: %s of function %s depends on values that only a stack has",
			f.file, strings.Join(path, "."), r.LogicalID)
	}
	return v.Text(), nil
}
