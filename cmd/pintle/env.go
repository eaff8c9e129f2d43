package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/base/functionenv"
)

func (a *serverCommands) envCommand() *cobra.Command {
	var data, projectDir, shell, output string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the variables that point clients of AWS and Alibaba Cloud at the running server",
		Long: `Print the variables that point AWS clients at the server that runs on the data
directory. Their values are secret. Providers behind a URL use PINTLE_WEBHOOK_SECRET
to verify requests.

If the server runs functions, the variables also point the CDK and the functions' own
services at it. AWS_ENDPOINT_URL covers all other services, unless you have set it.

  eval "$(pintle env)"
  aws cloudformation list-stacks

Alibaba Cloud clients get keys and the ROS region from the variables. No variable
gives them the endpoint of a service, so pass it to each client:

  aliyun ros ListStacks --RegionId $ALIBABA_CLOUD_REGION_ID \
    --endpoint ${ALIBABA_CLOUD_ROS_ENDPOINT#http://} --insecure
  new RPCClient({endpoint: process.env.ALIBABA_CLOUD_ROS_ENDPOINT, apiVersion: '2019-09-10',
    accessKeyId: process.env.ALIBABA_CLOUD_ACCESS_KEY_ID,
    accessKeySecret: process.env.ALIBABA_CLOUD_ACCESS_KEY_SECRET})

With -o json, the command prints an object for programs: "set" has the variables and
their values, "unset" the names of variables that would make clients ignore them.`,
		Args: cobra.NoArgs,
		RunE: runE(func(ctx context.Context, _ []string) error {
			p, err := a.locate(projectDir, data)
			if err != nil {
				return err
			}
			asJSON, err := wantJSON(output)
			if err != nil {
				return err
			}
			set, unset, ok := shellForms(shell)
			if !ok {
				return usagef("use sh, fish or powershell", "--shell %q is unknown", shell)
			}
			e, err := a.environment(ctx, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.document(e)
			}
			for _, name := range e.Unset {
				fmt.Fprintf(a.stdout, unset+"\n", name)
			}
			for _, v := range e.Set {
				fmt.Fprintf(a.stdout, set+"\n", v[0], quoteFor(shell, v[1]))
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", "", "data `DIR` (default: .pintle next to pintle.yaml)")
	flags.StringVar(&projectDir, "project", "", "`DIR` with pintle.yaml (default: the current directory)")
	flags.StringVar(&shell, "shell", "sh", "`SHELL` to print for: sh, fish or powershell")
	outputFlag(cmd, &output)
	fromEnvironment(flags, "data", "project")
	choices(cmd, "shell", "sh", "fish", "powershell")
	return cmd
}

// environment is a change of environment variables.
type environment struct {
	Set   orderedVariables `json:"set"`
	Unset []string         `json:"unset"`
}

// orderedVariables are names with their values, in the order in which a shell gets them. JSON has them as an object.
type orderedVariables [][2]string

func (v orderedVariables) MarshalJSON() ([]byte, error) {
	object := make(map[string]string, len(v))
	for _, variable := range v {
		object[variable[0]] = variable[1]
	}
	return json.Marshal(object)
}

// environment returns the variables for clients of the server that runs on the data directory.
func (a *serverCommands) environment(ctx context.Context, p place) (environment, error) {
	e := environment{Unset: []string{}}
	hint := "start one with: pintle serve --dev" + p.named()
	if p.dataGiven == "" && p.given == "" {
		hint += "\nfor a server of another directory, use --project DIR or --data DIR"
	}
	if !node.Exists(p.data) {
		return e, failed(fmt.Errorf("no server is running on %s", a.short(p.data)), hint)
	}
	lock, err := node.Acquire(p.data)
	if err == nil {
		return e, errors.Join(failed(fmt.Errorf("no server is running on %s", a.short(p.data)), hint), lock.Release())
	}
	held, ok := errors.AsType[*node.HeldError](err)
	if !ok {
		return e, failed(err)
	}
	record, ok := live(ctx, held)
	if !ok || !record.Serving {
		return e, failed(fmt.Errorf("%w, but not by a server", held), hint)
	}
	// A session token of another account would make every call fail. Some SDKs, that of the CDK among them, prefer a profile to keys.
	for _, name := range []string{"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", aliyunToken, "ALIBABA_CLOUD_PROFILE"} {
		if a.getenv(name) != "" {
			e.Unset = append(e.Unset, name)
		}
	}
	services := []string{"CLOUDFORMATION", "SSM", "STS"}
	if record.Cloud {
		services = functionenv.Services()
		// Keep the endpoint that the user has set for all other services.
		if a.getenv(functionenv.Endpoint) == "" {
			e.Set = append(e.Set, [2]string{functionenv.Endpoint, record.URL})
		}
	}
	for _, service := range services {
		e.Set = append(e.Set, [2]string{functionenv.EndpointPrefix + service, record.URL})
	}
	e.Set = append(e.Set, [][2]string{
		{"AWS_ACCESS_KEY_ID", record.Client.ID},
		{"AWS_SECRET_ACCESS_KEY", record.Client.Secret},
		{"AWS_REGION", record.Region},
		{"AWS_DEFAULT_REGION", record.Region}, // boto3 and the AWS CLI of version 1 know only this one
		{aliyunKeyID, record.Client.ID},
		{aliyunKeySecret, record.Client.Secret},
		{aliyunRegion, a.rosRegionOr("")},
		{rosEndpoint, record.URL},
		{"PINTLE_WEBHOOK_SECRET", string(record.Webhook)},
	}...)
	return e, nil
}

// shellForms returns how a shell sets and unsets a variable.
func shellForms(shell string) (set, unset string, ok bool) {
	switch shell {
	case "sh":
		return "export %s=%s", "unset %s", true
	case "fish":
		return "set -gx %s %s", "set -e %s", true
	case "powershell":
		return "$env:%s = %s", "Remove-Item Env:%s", true
	}
	return "", "", false
}

func quoteFor(shell, text string) string {
	if shell == "powershell" {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return quote(text)
}
