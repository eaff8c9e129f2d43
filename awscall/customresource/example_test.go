package customresource_test

import (
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/awscall/customresource"
)

// A provider of AwsCustomResources that can only read parameters.
func ExampleNew() {
	client, err := awscall.New(awscall.Config{Region: "eu-west-1", Credentials: aws.AnonymousCredentials{}})
	if err != nil {
		log.Fatal(err)
	}
	handler, err := customresource.New(customresource.Config{Client: client, Allow: []customresource.Rule{{Calls: "ssm:GetParameter"}}})
	if err != nil {
		log.Fatal(err)
	}
	pintle.Main(handler)
}
