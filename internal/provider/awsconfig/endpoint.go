package awsconfig

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/pintle-dev/pintle/awscall"
)

// These are the settings that a source of the AWS SDK's configuration (the environment or the shared files) can have.
// Like the SDK, this package asks the sources in order and takes the first value.
type (
	endpointSource interface {
		GetServiceBaseEndpoint(ctx context.Context, sdkID string) (string, bool, error)
	}
	ignoreSource interface {
		GetIgnoreConfiguredEndpoints(ctx context.Context) (bool, bool, error)
	}
	fipsSource interface {
		GetUseFIPSEndpoint(ctx context.Context) (aws.FIPSEndpointState, bool, error)
	}
	dualStackSource interface {
		GetUseDualStackEndpoint(ctx context.Context) (aws.DualStackEndpointState, bool, error)
	}
)

// EndpointVariable is the environment variable with the endpoint of all services.
const EndpointVariable = "AWS_ENDPOINT_URL"

// anyRegion is the region of a client that makes no calls.
const anyRegion = "us-east-1"

// endpoints returns the endpoints that are configured for single services, as the SDK's own clients find them. The
// source is a variable such as AWS_ENDPOINT_URL_API_GATEWAY, or endpoint_url in the services section of the profile. If
// AWS_ENDPOINT_URL is set, it overrides endpoints in files.
func endpoints(ctx context.Context, sources []any) (map[string]string, error) {
	client, err := awscall.New(awscall.Config{Region: anyRegion, Credentials: aws.AnonymousCredentials{}}) // it knows the services
	if err != nil {
		return nil, err
	}
	if ignored, err := first(sources, func(s ignoreSource) (bool, bool, error) { return s.GetIgnoreConfiguredEndpoints(ctx) }); err != nil || ignored {
		return nil, err
	}
	forAll := os.Getenv(EndpointVariable) != ""
	found := map[string]string{}
	for _, name := range client.Services() {
		id, err := client.ServiceID(name)
		if err != nil {
			return nil, err
		}
		own := os.Getenv(ServiceVariable(id))
		if forAll && own == "" {
			continue
		}
		url, err := first(sources, func(s endpointSource) (string, bool, error) { return s.GetServiceBaseEndpoint(ctx, id) })
		if err != nil {
			return nil, fmt.Errorf("the endpoint of %s: %w", name, err)
		}
		if url != "" {
			found[name] = url
		}
	}
	return found, nil
}

// variants reports whether FIPS and dual-stack endpoints are configured.
func variants(ctx context.Context, sources []any) (fips, dualStack bool, err error) {
	f, err := first(sources, func(s fipsSource) (aws.FIPSEndpointState, bool, error) { return s.GetUseFIPSEndpoint(ctx) })
	if err != nil {
		return false, false, err
	}
	d, err := first(sources, func(s dualStackSource) (aws.DualStackEndpointState, bool, error) {
		return s.GetUseDualStackEndpoint(ctx)
	})
	return f == aws.FIPSEndpointStateEnabled, d == aws.DualStackEndpointStateEnabled, err
}

// first returns the value of the first source that has one.
func first[Source, Value any](sources []any, ask func(Source) (Value, bool, error)) (Value, error) {
	var none Value
	for _, s := range sources {
		source, ok := s.(Source)
		if !ok {
			continue
		}
		value, found, err := ask(source)
		if err != nil {
			return none, err
		}
		if found {
			return value, nil
		}
	}
	return none, nil
}
