package customresource

import (
	"encoding/json"
	"fmt"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
)

// Need is what one call of a resource needs in order to be made.
type Need struct {
	// Request is the request that makes the call. A Create that makes the Update's is not told on its own.
	Request pintle.RequestType
	// Service and Action are as in the models, e.g. "ssm" and "GetParameter".
	Service, Action string
	// Region and Role are the call's own; empty if it has none.
	Region, Role string
	// Permissions are the IAM actions, as [awscall.Client.Permissions] tells them: of the role if there is one.
	Permissions []string
}

// Needs returns what the calls of a resource need, by its properties Create, Update and Delete. Needs makes no calls.
// The error names the request whose call is wrong, and quotes no parameter.
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
