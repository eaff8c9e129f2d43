// Package awsconfig makes clients of AWS from the AWS SDK's configuration of this process: environment variables and
// shared files. No setting comes from a template.
package awsconfig

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/pintle-dev/pintle/awscall"
)

// Load returns the configuration of a client for a region: credentials, endpoints other than AWS's own, FIPS and
// dual-stack settings, and an HTTP client. The HTTP client trusts the certificates of AWS_CA_BUNDLE and limits each
// call to two minutes. Load returns an error if the environment or the files are invalid. Missing credentials are an
// error only when they are retrieved.
func Load(ctx context.Context, region string, options ...func(*config.LoadOptions) error) (awscall.Config, error) {
	loaded, err := config.LoadDefaultConfig(ctx, append([]func(*config.LoadOptions) error{config.WithRegion(region)}, options...)...)
	if err != nil {
		return awscall.Config{}, err
	}
	c := awscall.Config{
		HTTP:   &http.Client{Transport: transport(loaded.HTTPClient), Timeout: callTimeout},
		Region: region, Credentials: loaded.Credentials, Endpoint: aws.ToString(loaded.BaseEndpoint), UserAgent: "pintle",
	}
	if c.FIPS, c.DualStack, err = variants(ctx, loaded.ConfigSources); err != nil {
		return awscall.Config{}, err
	}
	c.Endpoints, err = endpoints(ctx, loaded.ConfigSources)
	return c, err
}

// callTimeout limits a call whose context has no earlier deadline. Clients of package awscall have the same default.
const callTimeout = 2 * time.Minute

// transport returns the transport of the SDK's client, which trusts the certificates of AWS_CA_BUNDLE.
func transport(client aws.HTTPClient) http.RoundTripper {
	if built, ok := client.(*awshttp.BuildableClient); ok {
		return built.GetTransport()
	}
	return http.DefaultTransport
}

// MetadataIfAsked is an option of [Load]. It uses the credentials of an EC2 instance's role only if
// AWS_EC2_METADATA_DISABLED=false is set. On other machines, that lookup waits for a host that does not exist.
func MetadataIfAsked(o *config.LoadOptions) error {
	if !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "false") {
		o.EC2IMDSClientEnableState = imds.ClientDisabled
	}
	return nil
}

// Credentials returns the credentials for a region, with [MetadataIfAsked]. Missing credentials are an error only when
// they are retrieved.
func Credentials(ctx context.Context, region string) (aws.CredentialsProvider, error) {
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), MetadataIfAsked)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	return loaded.Credentials, nil
}

// ServiceVariable returns the environment variable with the endpoint of one service, e.g. AWS_ENDPOINT_URL_API_GATEWAY
// for the service whose SDK ID is "API Gateway".
func ServiceVariable(id string) string {
	return EndpointVariable + "_" + strings.ToUpper(strings.ReplaceAll(id, " ", "_"))
}
