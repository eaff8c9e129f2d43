package customresource

import (
	"encoding/json"
	"fmt"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
)

// Need lists the requirements of one call of a resource.
type Need struct {
	// Request is the request that makes the call. If Create makes the call of Update, it has no Need of its own.
	Request pintle.RequestType
	// Service and Action are the names in the models, e.g. "ssm" and "GetParameter".
	Service, Action string
	// Region and Role are set by the call; they may be empty.
	Region, Role string
	// Permissions are the IAM actions from [awscall.Client.Permissions]. The role needs them if there is one.
	Permissions []string
}

// Needs returns the requirements of the calls of a resource, from its properties Create, Update and Delete. Needs makes
// no calls. The error names the request whose call is invalid, and quotes no parameter.
func Needs(client *awscall.Client, properties json.RawMessage) ([]Need, error) {
	calls, err := parse(properties)
	if err != nil {
		return nil, err
	}
	var needs []Need
	for _, t := range []pintle.RequestType{pintle.Create, pintle.Update, pintle.Delete} {
		c := calls.byType[t]
		if c == nil {
			continue
		}
		n := Need{Request: t, Region: c.Region, Role: c.AssumedRoleARN}
		if n.Service, n.Action, err = client.Name(c.Service, c.Action); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		if n.Permissions, err = client.Permissions(n.Service, n.Action); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		needs = append(needs, n)
	}
	return needs, nil
}
