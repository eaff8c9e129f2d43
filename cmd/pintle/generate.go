package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/author/generate"
	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// generateOptions are the flags of the commands below generate.
type generateOptions struct {
	language, pkg, out, project string
	types                       []string
}

// generateCommands are the commands that write code and documents from the schema of a provider.
type generateCommands struct {
	*targets
}

func (a *generateCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.generateCommand(),
	}
}

func (a *generateCommands) generateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write typed constructs and a reference from a provider's schema, or the schema of pintle.yaml",
		Long: `Write code or a reference from the schema that a provider publishes. TARGET is a name in
pintle.yaml, or what pintle.yaml accepts for a provider: a Go package or an executable.
It can also be a file NAME.json with the schema that the provider prints when it runs
with the argument "schema", or - for standard input.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.generateFrom("cdk", "Write typed constructs for the AWS CDK", `Write a construct for each resource type of the provider, for version 2 of the AWS CDK. Its
properties have types and documentation, and its attributes are tokens. serviceToken
takes the provider's Lambda function, its SNS topic, a Provider of the CDK, or a string.

  pintle generate cdk ./provider --language python --out app/constructs`,
			func(o *generateOptions) (generate.Format, error) { return generate.CDK(o.language) }),
		a.generateFrom("ros-cdk", "Write typed constructs for the ROS CDK", `Write a construct in TypeScript for each resource type of the provider, for version 1 of
the ROS CDK of Alibaba Cloud.

  pintle generate ros-cdk ./provider --out app/lib`,
			func(*generateOptions) (generate.Format, error) { return generate.ROSCDK(), nil }),
		a.generateFrom("schema-docs", "Write a reference of properties and attributes in Markdown", `Write a page in Markdown for each resource type of the provider, with a table of its
properties, one for each object in them, and one of its attributes.

  pintle generate schema-docs ./provider --out docs`,
			func(*generateOptions) (generate.Format, error) { return generate.Markdown(), nil }),
	)
	cmd.AddCommand(&cobra.Command{
		Use:   "project-schema",
		Short: "Print the JSON Schema of pintle.yaml, for editors",
		Long: `Print the JSON Schema (draft 07) of pintle.yaml. Editors with the YAML language server, such
as VS Code with its YAML extension, check and complete the file with it, if the first
line of pintle.yaml names it:

  pintle generate project-schema > .pintle.schema.json
  # yaml-language-server: $schema=.pintle.schema.json`,
		Args: cobra.NoArgs,
		RunE: runE(func(context.Context, []string) error {
			_, err := a.stdout.Write(project.Schema)
			return err
		}),
	})
	return cmd
}

// generateFrom returns the command that writes one format.
func (a *generateCommands) generateFrom(name, short, long string, format func(*generateOptions) (generate.Format, error)) *cobra.Command {
	var o generateOptions
	cmd := &cobra.Command{
		Use: name + " TARGET", Short: short, Long: long, Args: cobra.ExactArgs(1),
		RunE: runE(func(ctx context.Context, args []string) error {
			f, err := format(&o)
			if err != nil {
				return usageError(err)
			}
			return a.generate(ctx, &o, f, args[0])
		}),
	}
	flags := cmd.Flags()
	if name == "cdk" {
		languages := generate.CDKLanguages()
		flags.StringVar(&o.language, "language", languages[0], strings.Join(languages[:len(languages)-1], ", ")+" or "+languages[len(languages)-1])
		flags.StringVar(&o.pkg, "package", "", "`NAME` of the package, for Go and Java (default: constructs)")
		choices(cmd, "language", languages...)
	}
	flags.StringVar(&o.out, "out", "", "`DIR` to write the files to; it is created if it does not exist (default: print the only file)")
	flags.StringSliceVar(&o.types, "resource-type", nil, "only this `NAME`, or the name for a provider without names of its own; repeatable")
	flags.StringVar(&o.project, "project", "", "`DIR` with the pintle.yaml that defines TARGET (default: the current directory)")
	fromEnvironment(flags, "project")
	return cmd
}

// generate writes the files of the resource types, or prints the only one.
func (a *generateCommands) generate(ctx context.Context, o *generateOptions, f generate.Format, target string) error {
	text, err := a.schemaOf(ctx, o, target)
	if err != nil {
		return err
	}
	resources, err := generate.Read(text, o.types)
	if err != nil {
		return failed(fmt.Errorf("%s: %w", target, err))
	}
	if o.out == "" && len(resources) > 1 {
		return usagef("use --out DIR for a file for each, or --resource-type "+resources[0].Type+" for one",
			"%s has %d resource types", target, len(resources))
	}
	files, err := f.Write(resources, o.pkg)
	if err != nil {
		return usageError(err)
	}
	if o.out == "" {
		_, err := a.stdout.Write(files[0].Text)
		return err
	}
	dir := a.path(o.out)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return failed(err)
	}
	for _, file := range files {
		path := filepath.Join(dir, file.Name)
		if err := os.WriteFile(path, file.Text, 0o644); err != nil { //nolint:gosec // source code, which others may read
			return failed(err)
		}
		fmt.Fprintf(a.stdout, "wrote %s\n", a.short(path))
	}
	return nil
}

// schemaOf returns the schema document of a provider, which is asked for it, or of a file.
func (a *generateCommands) schemaOf(ctx context.Context, o *generateOptions, target string) ([]byte, error) {
	if target == "-" || filepath.Ext(target) == ".json" {
		text, err := a.schemaFile(target)
		if err != nil {
			return nil, usageError(err)
		}
		return text, nil
	}
	tried, err := a.tried(&invokeOptions{project: o.project}, target)
	if err != nil {
		return nil, err
	}
	runtime, err := newSchemaRuntime(a.building, a.regionOr(""), nil)
	if err != nil {
		return nil, failed(err)
	}
	defer func() { _ = runtime.Close() }() // leftovers are in the directory for temporary files
	if err := runtime.Set(tried.Framework); err != nil {
		return nil, usageError(err)
	}
	text, err := runtime.Schema(ctx, tried.Framework.Name)
	broken, unbuilt := errors.AsType[*local.BuildError](err)
	switch {
	case unbuilt:
		return nil, failed(fmt.Errorf("%w\n%s", broken, strings.Join(broken.Log, "\n")))
	case local.CannotRun(err):
		return nil, failed(err, "fix the provider: it must print its schema with the argument \"schema\"")
	case err != nil:
		return nil, failed(fmt.Errorf("%s: %w", target, err), "write the document to a file, and use that: pintle generate cdk schema.json")
	}
	return text, nil
}

// schemaFile reads a schema document from a file, or from standard input.
func (a *generateCommands) schemaFile(name string) ([]byte, error) {
	if name == "-" {
		return readAll(a.stdin, "standard input", schema.MaxSize)
	}
	f, err := os.Open(a.path(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	return readAll(f, name, schema.MaxSize)
}
