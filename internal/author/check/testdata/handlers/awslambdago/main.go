// Command awslambdago is a note, on package cfn of aws-lambda-go.
package main

import (
	"context"
	"fmt"
	"regexp"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"
)

var wanted = regexp.MustCompile("^[a-z0-9-]+$")

func main() { lambda.Start(cfn.LambdaWrap(handle)) }

func handle(_ context.Context, event cfn.Event) (string, map[string]any, error) {
	if event.RequestType == cfn.RequestDelete {
		return event.PhysicalResourceID, nil, nil
	}
	name, _ := event.ResourceProperties["Name"].(string)
	if !wanted.MatchString(name) {
		return event.PhysicalResourceID, nil, fmt.Errorf("Name: want lower-case letters, got %s", name)
	}
	return "note-" + name, map[string]any{"Path": "/notes/" + name}, nil
}
