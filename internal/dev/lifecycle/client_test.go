package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/smithy-go"

	"github.com/pintle-dev/pintle/internal/dev/awshttp"
)

// client is a client of CloudFormation's API.
type client interface {
	// call makes a call by its name in the API, and returns the result as JSON. An API error is a [refusal].
	call(ctx context.Context, operation string, parameters map[string]any) ([]byte, error)
}

// refusal is an error of the API.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.code + ": " + r.message }

// goClient is the AWS SDK for Go.
type goClient struct{ api *cloudformation.Client }

func newGoClient(_ *testing.T, url string) client {
	return goClient{cloudformation.New(cloudformation.Options{
		BaseEndpoint: &url, Region: region, RetryMaxAttempts: 1, HTTPClient: awshttp.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})}
}

func (c goClient) call(ctx context.Context, operation string, parameters map[string]any) ([]byte, error) {
	text, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	switch operation {
	case "CancelUpdateStack":
		return invoke(ctx, text, c.api.CancelUpdateStack)
	case "ContinueUpdateRollback":
		return invoke(ctx, text, c.api.ContinueUpdateRollback)
	case "CreateChangeSet":
		return invoke(ctx, text, c.api.CreateChangeSet)
	case "CreateStack":
		return invoke(ctx, text, c.api.CreateStack)
	case "DeleteChangeSet":
		return invoke(ctx, text, c.api.DeleteChangeSet)
	case "DeleteStack":
		return invoke(ctx, text, c.api.DeleteStack)
	case "DescribeChangeSet":
		return invoke(ctx, text, c.api.DescribeChangeSet)
	case "DescribeStackEvents":
		return invoke(ctx, text, c.api.DescribeStackEvents)
	case "DescribeStackResources":
		return invoke(ctx, text, c.api.DescribeStackResources)
	case "DescribeStacks":
		return invoke(ctx, text, c.api.DescribeStacks)
	case "ExecuteChangeSet":
		return invoke(ctx, text, c.api.ExecuteChangeSet)
	case "RollbackStack":
		return invoke(ctx, text, c.api.RollbackStack)
	case "SetStackPolicy":
		return invoke(ctx, text, c.api.SetStackPolicy)
	case "UpdateStack":
		return invoke(ctx, text, c.api.UpdateStack)
	case "UpdateTerminationProtection":
		return invoke(ctx, text, c.api.UpdateTerminationProtection)
	}
	return nil, fmt.Errorf("no transcript has called %s before", operation)
}

// invoke makes a call with the SDK. Its inputs and outputs have the field names of the API.
func invoke[In, Out any](
	ctx context.Context, parameters []byte, method func(context.Context, *In, ...func(*cloudformation.Options)) (*Out, error),
) ([]byte, error) {
	var in In
	if err := json.Unmarshal(parameters, &in); err != nil {
		return nil, err
	}
	out, err := method(ctx, &in)
	if fault, ok := errors.AsType[smithy.APIError](err); ok {
		return nil, &refusal{fault.ErrorCode(), fault.ErrorMessage()}
	} else if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// parseCall parses a call in the syntax of the AWS CLI.
func parseCall(line string, templates map[string]string) (operation string, parameters map[string]any, err error) {
	words := strings.Fields(line)
	parameters = map[string]any{}
	var name string
	for _, word := range words[1:] {
		option, isOption := strings.CutPrefix(word, "--")
		switch {
		case isOption:
			negated, isNegation := strings.CutPrefix(option, "no-")
			name = pascal(negated)
			parameters[name] = !isNegation
		case name == "":
			return "", nil, fmt.Errorf("%s: %s is no option", line, word)
		case strings.HasSuffix(name, "Body"):
			text, ok := templates[word]
			if !ok {
				return "", nil, fmt.Errorf("%s: there is no %s", line, word)
			}
			parameters[name] = text
		case name == "RetainResources" || name == "ResourcesToSkip":
			list, _ := parameters[name].([]string)
			parameters[name] = append(list, word)
		case name == "ResourcesToImport":
			list, _ := parameters[name].([]any)
			resource, err := parseImport(word)
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", line, err)
			}
			parameters[name] = append(list, resource)
		default:
			parameters[name] = word
		}
	}
	return pascal(words[0]), parameters, nil
}

// importShorthand matches a resource to import in the shorthand syntax of the AWS CLI.
var importShorthand = regexp.MustCompile(`^ResourceType=([\w:]+),LogicalResourceId=(\w+),ResourceIdentifier=\{(\w+)=([\w-]+)\}$`)

func parseImport(word string) (map[string]any, error) {
	parts := importShorthand.FindStringSubmatch(word)
	if parts == nil {
		return nil, fmt.Errorf("%s is not a resource to import", word)
	}
	return map[string]any{
		"ResourceType": parts[1], "LogicalResourceId": parts[2], "ResourceIdentifier": map[string]string{parts[3]: parts[4]},
	}, nil
}

// pascal converts a name of the AWS CLI to the API's.
func pascal(name string) string {
	var b strings.Builder
	for _, part := range strings.Split(name, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
