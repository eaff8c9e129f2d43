package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/provider/awsconfig"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
)

// SSMAWS is the [Config.SSM] that asks AWS.
const SSMAWS = "aws"

// NewReader returns the reader of parameters and secrets for stacks: parameters from rows, or from where source says as in [Config]. own are the
// server's own secrets, nil if it has none. allowed says whether stacks of an account may use the credentials of the server for a call;
// nil allows everything.
func NewReader(
	rows ssm.Rows, own *secretsmanager.Secrets, source string, resolveSecrets bool, allowed func(account, call string) error, log *slog.Logger,
) (*ssm.Reader, error) {
	configured := ssm.NewRemote(allowed, func(ctx context.Context, region string) (*awscall.Client, error) {
		return builtin.Client(ctx, region)
	})
	config := ssm.Config{
		Parameters: ssm.NewOwn(rows), Secrets: configured, ResolveSecrets: resolveSecrets, ResolveNative: own != nil,
	}
	switch {
	case own == nil || source == SSMAWS:
	case resolveSecrets:
		config.Secrets = ssm.NewOwnSecrets(own, configured)
	default:
		config.Secrets = ssm.NewOwnSecrets(own, nil)
	}
	switch source {
	case "":
	case SSMAWS:
		config.Parameters = configured
	default:
		if u, err := url.Parse(source); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("parameters are read from a URL, or from %s, not from %q", SSMAWS, source)
		}
		config.Parameters = ssm.NewRemote(allowed, func(ctx context.Context, region string) (*awscall.Client, error) {
			return clientAt(ctx, region, source, log)
		})
	}
	return ssm.New(config)
}

func (b *builder) openParameters(context.Context) error {
	var own *secretsmanager.Secrets
	if b.cloud != nil {
		own = secretsmanager.New(b.cloud.catalog.Secrets, nil)
	}
	reader, err := NewReader(b.store, own, b.config.SSM, b.config.ResolveSecrets, b.accounts.allowed, b.log)
	if err != nil {
		return err
	}
	b.references = ssm.NewHidden(reader, b.store)
	return nil
}

// clientAt returns a client of an AWS stand-in at a URL. Keys are those of the AWS SDK's configuration, if it has any:
// most stand-ins take all.
func clientAt(ctx context.Context, region, endpoint string, log *slog.Logger) (*awscall.Client, error) {
	keys, err := awsconfig.Credentials(ctx, region)
	if err != nil {
		return nil, err
	}
	if _, err := keys.Retrieve(ctx); err != nil {
		keys = credentials.NewStaticCredentialsProvider("pintle", "pintle", "")
	}
	return awscall.New(awscall.Config{Region: region, Credentials: keys, Endpoint: endpoint, Log: log, UserAgent: "pintle"})
}
