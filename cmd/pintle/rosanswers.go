package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/wire"
)

// rosAnswerOptions are how the answers of providers to ROS are taken.
type rosAnswerOptions struct {
	limit   int
	takePut bool
}

func (o *rosAnswerOptions) flags(flags *pflag.FlagSet) {
	flags.IntVar(&o.limit, "ros-response-limit", wire.MaxResponse, fmt.Sprintf("how many `BYTES` the answer of a provider to ROS may have, at most %d",
		wire.MaxROSResponse))
	flags.BoolVar(&o.takePut, "ros-take-put", false, "take answers to ROS that are PUT, as CloudFormation has it, and not only those that are posted")
	fromEnvironment(flags, "ros-response-limit", "ros-take-put")
}

// apply sets them in what a node is opened with.
func (o *rosAnswerOptions) apply(c *node.Config) error {
	if o.limit < 1 || o.limit > wire.MaxROSResponse {
		return usagef(fmt.Sprintf("give a number from 1 to %d", wire.MaxROSResponse), "--ros-response-limit %d is out of range", o.limit)
	}
	c.ROSResponse, c.ROSTakePut = o.limit, o.takePut
	return nil
}
