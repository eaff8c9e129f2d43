package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// rosAnswerOptions configures the handling of answers and requests where the documentation of ROS is silent.
type rosAnswerOptions struct {
	base64   bool
	innerURL bool
	limit    int
	takePut  bool
	idChange string
}

func (o *rosAnswerOptions) flags(flags *pflag.FlagSet) {
	flags.IntVar(&o.limit, "ros-response-limit", wire.MaxResponse, fmt.Sprintf("size limit of a provider's answer to ROS in `BYTES`, at most %d",
		wire.MaxROSResponse))
	flags.BoolVar(&o.takePut, "ros-take-put", false, "accept answers to ROS that are sent with PUT, as in CloudFormation, in addition to POST")
	flags.StringVar(&o.idChange, "ros-id-change", string(engine.IDChangeRefused), "how to handle an answer to a ROS Update whose id differs from the "+
		"resource's: refuse or ignore (`WAY`)")
	flags.BoolVar(&o.base64, "ros-message-base64", false, "send ROS requests to Alibaba Cloud queues and topics in base64")
	flags.BoolVar(&o.innerURL, "ros-inner-response-url", false, "add InnerResponseURL to ROS requests: some pages use this name for IntranetResponseURL")
	fromEnvironment(flags, "ros-response-limit", "ros-take-put", "ros-id-change", "ros-message-base64", "ros-inner-response-url")
}

// apply sets the options in the configuration of a node.
func (o *rosAnswerOptions) apply(c *node.Config) error {
	if o.limit < 1 || o.limit > wire.MaxROSResponse {
		return usagef(fmt.Sprintf("use a number from 1 to %d", wire.MaxROSResponse), "--ros-response-limit %d is out of range", o.limit)
	}
	way := engine.IDChange(o.idChange)
	if way != engine.IDChangeRefused && way != engine.IDChangeIgnored {
		return usagef("use refuse or ignore", "--ros-id-change %q is unknown", o.idChange)
	}
	c.ROSResponse, c.ROSTakePut, c.ROSIDChange = o.limit, o.takePut, way
	c.ROSBase64, c.ROSInnerURL = o.base64, o.innerURL
	return nil
}
