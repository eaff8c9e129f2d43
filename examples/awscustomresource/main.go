// Command awscustomresource is the provider of AWS calls as one AWS Lambda function. It replaces the function that the
// CDK deploys for its AwsCustomResource: build.sh makes its zip file, aws.yaml its stack.
//
// ALLOW lists the calls that templates may make, as rules separated by spaces: "ssm:GetParameter s3:List*". With "all"
// only the role of the function limits them. Without ALLOW no calls are allowed.
package main

import (
	"context"
	"log"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/awscall/customresource"
)

func main() {
	provider, err := newProvider(context.Background(), os.Getenv("ALLOW"))
	if err != nil {
		log.Fatal(err)
	}
	pintle.Main(provider)
}

func newProvider(ctx context.Context, allow string) (pintle.Handler, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client, err := awscall.New(awscall.Config{Region: cfg.Region, Credentials: cfg.Credentials, Endpoint: aws.ToString(cfg.BaseEndpoint)})
	if err != nil {
		return nil, err
	}
	c := customresource.Config{Client: client, AllowAll: allow == "all"}
	for _, calls := range strings.Fields(allow) {
		if !c.AllowAll {
			c.Allow = append(c.Allow, customresource.Rule{Calls: calls})
		}
	}
	return customresource.New(c)
}
