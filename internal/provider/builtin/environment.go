package builtin

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/provider/awsconfig"
)

// configFrom returns the configuration in an environment from [AWS.Env]. If the environment has no access key, the
// credentials come from the SDK's default configuration of this process.
func (a AWS) configFrom(ctx context.Context, env map[string]string) (awscall.Config, error) {
	c := awscall.Config{Region: a.Region, Endpoint: env[awsconfig.EndpointVariable], Endpoints: map[string]string{}, UserAgent: "pintle"}
	if id := env["AWS_ACCESS_KEY_ID"]; id != "" {
		c.Credentials = credentials.NewStaticCredentialsProvider(id, env["AWS_SECRET_ACCESS_KEY"], env["AWS_SESSION_TOKEN"])
	} else {
		loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(a.Region))
		if err != nil {
			return awscall.Config{}, err
		}
		c.Credentials = loaded.Credentials
	}
	client, err := awscall.New(awscall.Config{Region: a.Region, Credentials: aws.AnonymousCredentials{}}) // it knows the services
	if err != nil {
		return awscall.Config{}, err
	}
	for _, name := range client.Services() {
		id, err := client.ServiceID(name)
		if err != nil {
			return awscall.Config{}, err
		}
		if url := env[awsconfig.ServiceVariable(id)]; url != "" {
			c.Endpoints[name] = url
		}
	}
	return c, nil
}
