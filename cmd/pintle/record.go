package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// recordOptions are the flags of record.
type recordOptions struct {
	out, requestID string
	secrets        []string
}

func (a *authorCommands) recordCommand() *cobra.Command {
	var o recordOptions
	cmd := &cobra.Command{
		Use:   "record [FILE]",
		Short: "Save a real request from a log or a message, without its secrets",
		Long: `Find the request of CloudFormation or ROS in FILE or on standard input, and print it
without its response URLs. The values of properties whose names look like a password,
and of those named with --secret, are masked wherever they occur in the request. The
input is the request itself, a log line of Lambda that contains it as JSON or as Python
prints it, an SNS message, or a Lambda event with such a message.

  aws logs tail /aws/lambda/F --format short | pintle record --out request.json
  pintle invoke ./provider --event request.json
  pintle check ./provider --event request.json

Check the file before you share it: a secret in a property with an ordinary name is
not recognized.`,
		Args: cobra.MaximumNArgs(1),
		RunE: runE(func(_ context.Context, args []string) error { return a.record(&o, args) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.out, "out", "", "write to `FILE`, which must not exist (default: standard output)")
	flags.StringVar(&o.requestID, "request-id", "", "the request with this `ID` (default: the only one)")
	flags.StringArrayVar(&o.secrets, "secret", nil, "`NAME` of a property whose value is secret; may be repeated")
	return cmd
}

// maxRecording bounds the text in which a request is looked for.
const maxRecording = 16 << 20

func (a *authorCommands) record(o *recordOptions, args []string) error {
	text, name := []byte(nil), "standard input"
	var err error
	if len(args) == 1 && args[0] != "-" {
		name = args[0]
		text, err = readFile(a.path(name), maxRecording)
	} else {
		text, err = readAll(a.stdin, name, maxRecording)
	}
	if err != nil {
		return usageError(err)
	}
	found, err := check.Record(text, o.secrets)
	if err != nil {
		return failed(fmt.Errorf("%s: %w", name, err))
	}
	var ids []string
	for _, document := range found {
		var r struct{ RequestID string }
		if err := json.Unmarshal(document, &r); err != nil {
			return failed(err)
		}
		ids = append(ids, r.RequestID)
	}
	i := 0
	if o.requestID != "" {
		i = slices.Index(ids, o.requestID)
	}
	switch {
	case i < 0:
		return failed(fmt.Errorf("%s: no request with the ID %s", name, o.requestID))
	case o.requestID == "" && len(found) > 1:
		return failed(fmt.Errorf("%s: %d requests", name, len(found)), fmt.Sprintf("choose one with --request-id, for example %s", ids[0]))
	case o.out == "":
		_, err = a.stdout.Write(found[i])
		return err
	}
	file, err := os.OpenFile(a.path(o.out), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return failed(err)
	}
	_, err = file.Write(found[i])
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return failed(err)
	}
	a.say("recorded the request in %s", filepath.Base(o.out))
	return nil
}

// checkEvent reads the request of --event, if there is one. A request of ROS sets --ros and its region.
func (a *checkCommands) checkEvent(o *checkOptions) (r wire.Request, err error) {
	if o.event == "" {
		return r, nil
	}
	if o.properties != "" || o.template != "" {
		return r, usagef("give one of them", "the properties are in --event, and also in --properties or --template")
	}
	if r, err = a.recorded(&invokeOptions{event: o.event}); err != nil {
		return r, err
	}
	switch {
	case r.Dialect == wire.ROS:
		o.ros, o.region = true, cmp.Or(o.region, r.RegionID)
	case o.ros:
		return r, usagef("omit --ros", "the request of --event is one of CloudFormation")
	}
	return r, nil
}

// replayed takes the properties and the type of a recorded request.
func replayed(r wire.Request, c *check.Config) error {
	if r.Dialect != c.Dialect {
		return usagef("record a request that ROS sent", "the request of --event is one of CloudFormation, and the provider has runtime: fc")
	}
	if c.ResourceType == "" {
		c.ResourceType = r.ResourceType
	}
	own := func(raw json.RawMessage) json.RawMessage {
		v, err := value.Parse(raw)
		if err != nil {
			return raw // it was parsed before
		}
		return providersOwn(v).JSON()
	}
	c.Properties = own(r.ResourceProperties)
	if len(r.OldResourceProperties) > 0 {
		c.Properties = own(r.OldResourceProperties)
		if c.Update == nil {
			c.Update, c.MayReplace = own(r.ResourceProperties), true
		}
	}
	return nil
}
