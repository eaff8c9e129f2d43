package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/provider/bucketdeployment"
	"github.com/pintle-dev/pintle/internal/provider/cdkframework"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// deploymentFunction is part of the logical ID of the functions that the CDK creates for the BucketDeployments of a
// stack. Functions with another memory size, storage or VPC have a suffix after it. It is the same in versions 2.100.0
// and 2.276.0 of aws-cdk-lib.
const deploymentFunction = "CustomCDKBucketDeployment8693BB64968944B69AAFB0CC9EB8756C"

// hotswapURL is the response URL in a call of cdk deploy --hotswap, which expects no answer there.
const hotswapURL = "required-to-be-present-by-cfn"

// IsDeployment reports whether a logical ID is that of a function that the CDK creates for BucketDeployments.
func IsDeployment(logical string) bool { return strings.Contains(logical, deploymentFunction) }

// Deployments answers the requests of BucketDeployments of the CDK. It is safe for concurrent use. Make one with
// [NewDeployments].
type Deployments struct{ handler *handler }

// NewDeployments returns deployments with the endpoints and credentials of a. Allow and All are ignored: the calls are
// those of package bucketdeployment.
func NewDeployments(a AWS) *Deployments {
	if a.Region == "" {
		a.Region = local.DefaultRegion
	}
	if a.Timeout == 0 {
		a.Timeout = bucketdeployment.DefaultTimeout
	}
	return &Deployments{&handler{aws: a, of: func(client *awscall.Client) (pintle.Handler, error) {
		return bucketdeployment.Handler{AWS: client.WithRegionCheck(nil)}, nil
	}}}
}

// Provider returns the provider with a name for [local.Config].
func (d *Deployments) Provider(name string) (local.Provider, error) {
	memory, err := pintle.NewMemoryStore(0)
	if err != nil {
		return local.Provider{}, err
	}
	return local.Provider{
		Name: name, Serve: cdkframework.Serve(pintle.HandlerFunc(d.handler.handle), memory, cdkframework.Whole),
		Concurrency: d.handler.aws.Concurrency, Timeout: d.handler.aws.Timeout,
	}, nil
}

// Invoke handles an event that a client sends to the function of an account and region, as cdk deploy --hotswap does.
// It sends no answer to a response URL and rejects an event with a real one. Like the function, it returns null.
func (d *Deployments) Invoke(ctx context.Context, account, region string, event []byte) ([]byte, error) {
	var e struct {
		RequestType                               pintle.RequestType
		ResponseURL, PhysicalResourceID           string
		ResourceProperties, OldResourceProperties json.RawMessage
	}
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, fmt.Errorf("invalid event: %w", err)
	}
	if e.RequestType != pintle.Update || e.ResponseURL != hotswapURL {
		return nil, errors.New("invalid event: Pintle answers for this function, and handles requests of stacks and the event of " +
			"cdk deploy --hotswap: RequestType Update and ResponseURL " + hotswapURL)
	}
	ctx, cancel := context.WithTimeout(ctx, d.handler.aws.Timeout)
	defer cancel()
	handler, err := d.handler.get(ctx, account, region)
	if err != nil {
		return nil, err
	}
	_, err = handler.Handle(ctx, &pintle.Request{
		Type: e.RequestType, Account: account, Region: region, ID: pintle.PhysicalID(e.PhysicalResourceID),
		RawProperties: e.ResourceProperties, RawOldProperties: e.OldResourceProperties,
	})
	return []byte("null"), err
}
