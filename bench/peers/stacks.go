//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

// function is the code behind every custom resource: it acts as a recorder decides.
//
//go:embed function.py
var function string

// template is a template of a stack.
type template map[string]any

// functionTemplate declares the function for a recorder.
func functionTemplate(recorder string) template {
	return template{
		"Resources": map[string]any{
			"Role": map[string]any{"Type": "AWS::IAM::Role", "Properties": map[string]any{
				"RoleName": "relay", "AssumeRolePolicyDocument": map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
					"Effect": "Allow", "Principal": map[string]any{"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole",
				}}},
			}},
			"Relay": map[string]any{"Type": "AWS::Lambda::Function", "Properties": map[string]any{
				"FunctionName": "relay", "Runtime": "python3.12", "Handler": "index.handler", "Timeout": 30,
				"Role": map[string]any{"Fn::GetAtt": []any{"Role", "Arn"}},
				"Code": map[string]any{"ZipFile": strings.ReplaceAll(function, "RECORDER", recorder)},
			}},
		},
		"Outputs": map[string]any{"Token": map[string]any{"Value": map[string]any{"Fn::GetAtt": []any{"Relay", "Arn"}}}},
	}
}

// resources declares custom resources. Each has a service token and the properties that the function properties returns
// for it.
func resources(token string, names []string, properties func(name string) map[string]any) template {
	all := map[string]any{}
	for _, name := range names {
		with := properties(name)
		with["ServiceToken"] = token
		all[name] = map[string]any{"Type": "Custom::Thing", "Properties": with}
	}
	return template{"Resources": all}
}

// after makes a resource depend on another one.
func (t template) after(name, other string) template {
	t["Resources"].(map[string]any)[name].(map[string]any)["DependsOn"] = other //nolint:forcetypeassert // the types come from resources
	return t
}

func (t template) text() *string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // it contains only strings and numbers
	}
	return aws.String(string(text))
}

// stacks calls an emulator of CloudFormation.
type stacks struct{ client *cloudformation.Client }

// gone is the status of a stack that does not exist.
const gone = "not there"

// create creates a stack and returns its ARN.
func (s stacks) create(ctx context.Context, name string, t template) (string, error) {
	out, err := s.client.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: t.text(), Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
	})
	if err != nil {
		return "", fmt.Errorf("create %s: %w", name, err)
	}
	return aws.ToString(out.StackId), nil
}

func (s stacks) update(ctx context.Context, id string, t template) error {
	_, err := s.client.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: &id, TemplateBody: t.text()})
	return err
}

func (s stacks) delete(ctx context.Context, id string) error {
	_, err := s.client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &id})
	return err
}

// settle waits until no operation of a stack is in progress, or patience expires, and returns the stack's last status. An
// error response also ends the wait, because a user would see it.
func (s stacks) settle(ctx context.Context, id string, patience time.Duration) (string, error) {
	last := gone
	for late := time.Now().Add(patience); ; {
		out, err := s.client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &id})
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && strings.Contains(err.Error(), "does not exist"), err == nil && len(out.Stacks) == 0:
			return gone, nil
		case errors.As(err, new(smithy.APIError)):
			return "", err
		case err != nil && time.Now().After(late): // until then, the next poll retries a broken connection
			return "", err
		case err == nil:
			last = string(out.Stacks[0].StackStatus)
		}
		if err == nil && !strings.HasSuffix(last, "_IN_PROGRESS") || time.Now().After(late) {
			return last, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// reaches waits for a status. If the status is another one, it returns an error that names it.
func (s stacks) reaches(ctx context.Context, id, status string, patience time.Duration) error {
	is, err := s.settle(ctx, id, patience)
	if err != nil {
		return err
	}
	if is != status && (status != string(types.StackStatusDeleteComplete) || is != gone) {
		return fmt.Errorf("a stack is %s, not %s%s", is, status, s.why(ctx, id))
	}
	return nil
}

// output returns an output of a stack.
func (s stacks) output(ctx context.Context, id, key string) (string, error) {
	out, err := s.client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &id})
	if err != nil {
		return "", err
	}
	for _, stack := range out.Stacks {
		for _, o := range stack.Outputs {
			if aws.ToString(o.OutputKey) == key {
				return aws.ToString(o.OutputValue), nil
			}
		}
	}
	return "", errors.New("the stack has no output " + key)
}

// why returns the reasons of failed events of a stack, the last ones first, as the end of a sentence.
func (s stacks) why(ctx context.Context, id string) string {
	var reasons []string
	for _, e := range s.failures(ctx, id) {
		reasons = append(reasons, aws.ToString(e.ResourceStatusReason))
	}
	if len(reasons) == 0 {
		return ""
	}
	return ": " + strings.Join(reasons, "; ")
}

// failures returns the events of a stack that report failures and their reasons.
func (s stacks) failures(ctx context.Context, id string) []types.StackEvent {
	out, err := s.client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &id})
	if err != nil {
		return nil // a peer without events has no reasons
	}
	var list []types.StackEvent
	for _, e := range out.StackEvents {
		if strings.HasSuffix(string(e.ResourceStatus), "FAILED") {
			list = append(list, e)
		}
	}
	return list
}

// physical returns the physical ID of a resource, or "".
func (s stacks) physical(ctx context.Context, id, logical string) string {
	out, err := s.client.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &id})
	if err != nil {
		return ""
	}
	for _, r := range out.StackResources {
		if aws.ToString(r.LogicalResourceId) == logical {
			return aws.ToString(r.PhysicalResourceId)
		}
	}
	return ""
}
