package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/base/guard"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/provider/awsconfig"
)

// openForward makes the types that are forwarded to other endpoints, and checks that those have the account of this node. A Reader sends
// nothing, so it checks nothing.
func (b *builder) openForward(ctx context.Context) error {
	if len(b.config.Forward) == 0 {
		return nil
	}
	made, err := forward.New(forward.Config{
		Rules: b.config.Forward, Catalog: registry.New(b.store), Key: b.store.Root().Derive("digests of forwarded resources"), Account: b.account,
		AccountHint: "set aws_account_id in " + b.credentialsPath() + ", or use the endpoint's credentials of that account",
		Own:         b.record.URL, Client: forwardClient, HTTP: &http.Client{Transport: guard.Transport(true)}, Allowed: b.accounts.allowed, Log: b.log,
	})
	if err != nil {
		return err
	}
	b.forward = made
	if b.config.Role == Reader {
		return nil
	}
	return made.Verify(ctx, b.config.Region)
}

// forwarding is the native.Forward of the node, nil for none.
func (b *builder) forwarding() native.Forward {
	if b.forward == nil {
		return nil
	}
	return b.forward
}

// credentialsWithin bounds the search for credentials.
const credentialsWithin = 10 * time.Second

// forwardClient makes a client for an endpoint, with the configuration of the AWS SDK in the environment of this process.
func forwardClient(ctx context.Context, r forward.Rule, region string) (*awscall.Client, error) {
	options := []func(*config.LoadOptions) error{awsconfig.MetadataIfAsked}
	if r.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(r.Profile))
	}
	c, err := awsconfig.Load(ctx, region, options...)
	if err != nil {
		return nil, err
	}
	c.MaxAttempts = 1 // the caller retries
	if r.Endpoint != forward.AWS {
		c.Endpoint, c.Endpoints = r.Endpoint, nil
		c.HTTP = &http.Client{Transport: guard.Transport(true), Timeout: c.HTTP.Timeout}
	}
	if c.Credentials == nil {
		return nil, errNoForwardKeys
	}
	bounded, cancel := context.WithTimeout(ctx, credentialsWithin)
	defer cancel()
	if _, err := c.Credentials.Retrieve(bounded); err != nil {
		return nil, errNoForwardKeys
	}
	client, err := awscall.New(c)
	if err != nil {
		return nil, fmt.Errorf("the AWS configuration is invalid: %w", err)
	}
	return client, nil
}

var errNoForwardKeys = errors.New("there are no AWS credentials for it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile")
