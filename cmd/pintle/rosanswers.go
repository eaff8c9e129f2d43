package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// rosAnswerOptions are how the answers of providers to ROS are taken, and how some are asked: what its pages leave open.
type rosAnswerOptions struct {
	base64   bool
	innerURL bool
	limit    int
	takePut  bool
	idChange string
}

func (o *rosAnswerOptions) flags(flags *pflag.FlagSet) {
	flags.IntVar(&o.limit, "ros-response-limit", wire.MaxResponse, fmt.Sprintf("how many `BYTES` the answer of a provider to ROS may have, at most %d",
		wire.MaxROSResponse))
	flags.BoolVar(&o.takePut, "ros-take-put", false, "take answers to ROS that are PUT, as CloudFormation has it, and not only those that are posted")
	flags.StringVar(&o.idChange, "ros-id-change", string(engine.IDChangeRefused), "what becomes of an answer to an Update of ROS that has another id than the "+
		"resource: refuse or ignore (`WAY`)")
	flags.BoolVar(&o.base64, "ros-message-base64", false, "send requests of ROS to queues and topics of Alibaba Cloud in base64")
	flags.BoolVar(&o.innerURL, "ros-inner-response-url", false, "add InnerResponseURL to requests of ROS: some pages call IntranetResponseURL so")
	fromEnvironment(flags, "ros-response-limit", "ros-take-put", "ros-id-change", "ros-message-base64", "ros-inner-response-url")
}

// apply sets them in what a node is opened with.
func (o *rosAnswerOptions) apply(c *node.Config) error {
	if o.limit < 1 || o.limit > wire.MaxROSResponse {
		return usagef(fmt.Sprintf("give a number from 1 to %d", wire.MaxROSResponse), "--ros-response-limit %d is out of range", o.limit)
	}
	way := engine.IDChange(o.idChange)
	if way != engine.IDChangeRefused && way != engine.IDChangeIgnored {
		return usagef("give refuse or ignore", "--ros-id-change %q is neither", o.idChange)
	}
	c.ROSResponse, c.ROSTakePut, c.ROSIDChange = o.limit, o.takePut, way
	c.ROSBase64, c.ROSInnerURL = o.base64, o.innerURL
	return nil
}
