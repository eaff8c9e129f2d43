// Command provider makes text objects in S3 buckets, and waits for what is in others: the resources S3File and S3Assert
// that the AWS CDK explains its provider framework with. It shows two resource types in one program, names that are given
// or thought up, replacement, and a resource that is nothing but a wait.
//
// Credentials and the region come from where AWS's tools have them. AWS_ENDPOINT_URL_S3, or AWS_ENDPOINT_URL, names
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
	// A region there must be, also where the program is only asked for its schema.
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
