// Command provider makes text objects in S3 buckets, and waits for the contents of others. These are the resources S3File
// and S3Assert from the AWS CDK's documentation of its provider framework. It shows two resource types in one program,
// given and generated names, replacement, and a resource that only waits.
//
// Credentials and the region come from the usual AWS configuration. AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL selects
// another S3 than AWS's.
package main

import (
	"cmp"
	"context"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
)

func main() {
	// A region is required even if the program only prints its schema.
	aws, err := config.LoadDefaultConfig(context.Background(), config.WithDefaultRegion("us-east-1"))
	if err != nil {
		log.Fatal(err)
	}
	store, err := newStore(awscall.Config{
		Region:      aws.Region,
		Credentials: aws.Credentials,
		Endpoint:    cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")),
	})
	if err != nil {
		log.Fatal(err)
	}
	pintle.Main(handlers(store)...)
}

func handlers(s *store) []pintle.Handler {
	return []pintle.Handler{
		pintle.For("Custom::S3File", pintle.New(files{s})),
		pintle.For("Custom::S3Assert", pintle.New(asserts{s}, pintle.WithPollPolicy(assertPolicy))),
	}
}
