package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/base/functionenv"
)

func (a *app) envCommand() *cobra.Command {
	var data, projectDir, shell string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the variables that point clients of AWS and Alibaba Cloud at the running server",
		Long: `Print the variables that point AWS clients at the server that runs on the data
directory. They hold secrets.
PINTLE_WEBHOOK_SECRET is for providers behind a URL: what they check requests by.

Of a server that runs functions they point the CDK and the functions' own services
at it too, and AWS_ENDPOINT_URL everything else, unless that is set already.

  eval "$(pintle env)"
  aws cloudformation list-stacks

Clients of Alibaba Cloud get keys and the region of ROS by them. No variable tells them
where a service is, so that it is given to each:

  aliyun ros ListStacks --RegionId $ALIBABA_CLOUD_REGION_ID \
    --endpoint ${ALIBABA_CLOUD_ROS_ENDPOINT#http://} --insecure
  new RPCClient({endpoint: process.env.ALIBABA_CLOUD_ROS_ENDPOINT, apiVersion: '2019-09-10',
    accessKeyId: process.env.ALIBABA_CLOUD_ACCESS_KEY_ID,
    accessKeySecret: process.env.ALIBABA_CLOUD_ACCESS_KEY_SECRET})`,
		Args: cobra.NoArgs,
		RunE: a.command(func(ctx context.Context, _ []string) error {
			p, err := a.locate(projectDir, data)
			if err != nil {
				return err
			}
			return a.printEnvironment(ctx, p, shell)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", "", "`DIR` of the data (default: .pintle beside pintle.yaml)")
	flags.StringVar(&projectDir, "project", "", "`DIR` of the pintle.yaml (default: the current folder)")
	flags.StringVar(&shell, "shell", "sh", "`SHELL` that they are for: sh, fish or powershell")
	fromEnvironment(flags, "data", "project")
	choices(cmd, "shell", "sh", "fish", "powershell")
	return cmd
}

func (a *app) printEnvironment(ctx context.Context, p place, shell string) error {
	set, unset, ok := shellForms(shell)
	if !ok {
		return usagef("want sh, fish or powershell", "--shell %q is not known", shell)
	}
	hint := "start one with: pintle serve --dev" + p.named()
	if p.dataGiven == "" && p.given == "" {
		hint += "\none that serves another folder is found with --project DIR, or --data DIR"
	}
	if !node.Exists(p.data) {
		return failed(fmt.Errorf("no server runs on %s", a.short(p.data)), hint)
	}
	lock, err := node.Acquire(p.data)
	if err == nil {
		return errors.Join(failed(fmt.Errorf("no server runs on %s", a.short(p.data)), hint), lock.Release())
	}
	held, ok := errors.AsType[*node.HeldError](err)
	if !ok {
		return failed(err)
	}
	record, ok := live(ctx, held)
	if !ok || !record.Serving {
		return failed(fmt.Errorf("%w, but not by a server", held), hint)
	}
	// A session token of another account would make every call fail. Some SDKs, that of the CDK among them, prefer a profile to keys.
	for _, name := range []string{"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", aliyunToken, "ALIBABA_CLOUD_PROFILE"} {
		if a.getenv(name) != "" {
			fmt.Fprintf(a.stdout, unset+"\n", name)
		}
	}
	var variables [][2]string
	services := []string{"CLOUDFORMATION", "SSM", "STS"}
	if record.Cloud {
		services = functionenv.Services()
		// Whoever told another place for everything else means it.
		if a.getenv(functionenv.Endpoint) == "" {
			variables = append(variables, [2]string{functionenv.Endpoint, record.URL})
		}
	}
	for _, service := range services {
		variables = append(variables, [2]string{functionenv.EndpointPrefix + service, record.URL})
	}
	for _, v := range append(variables, [][2]string{
		{"AWS_ACCESS_KEY_ID", record.Client.ID},
		{"AWS_SECRET_ACCESS_KEY", record.Client.Secret},
		{"AWS_REGION", record.Region},
		{"AWS_DEFAULT_REGION", record.Region}, // boto3 and the AWS CLI of version 1 know only this one
		{aliyunKeyID, record.Client.ID},
		{aliyunKeySecret, record.Client.Secret},
		{aliyunRegion, a.rosRegionOr("")},
		{rosEndpoint, record.URL},
		{"PINTLE_WEBHOOK_SECRET", string(record.Webhook)},
	}...) {
		fmt.Fprintf(a.stdout, set+"\n", v[0], quoteFor(shell, v[1]))
	}
	return nil
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
