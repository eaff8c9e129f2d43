package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// TestLife drives a stack with the SDK's client and waiters, and answers at the response URLs.
func TestLife(t *testing.T) {
	w := newWorld(t, nil)
	ctx, client, name := t.Context(), w.client(), aws.String("life")
	describe := &cloudformation.DescribeStacksInput{StackName: name}

	created := w.create("life")
	target := w.responseURL(created)
	if status, _, body := w.put(target, success(created, "one")); status != 200 || body != "" {
		t.Fatalf("answer: %d %s", status, body)
	}
	w.must(cloudformation.NewStackCreateCompleteWaiter(client).Wait(ctx, describe, time.Minute))
	out, err := client.DescribeStacks(ctx, describe)
	w.must(err)
	if got := *out.Stacks[0].Outputs[0].OutputValue; got != "one" {
		t.Errorf("output %q", got)
	}
	if id := *out.Stacks[0].StackId; !strings.HasPrefix(id, "arn:aws:cloudformation:eu-west-1:000000000000:stack/life/") {
		t.Errorf("stack id %s", id)
	}

	_, err = client.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: name, TemplateBody: aws.String(template("2"))})
	w.must(err)
	updated := w.take()
	// The answer to the update also starts the clean-up of the replaced resource.
	if status, _, body := w.put(w.responseURL(updated), success(updated, "two")); status != 200 {
		t.Fatalf("answer: %d %s", status, body)
	}
	cleanup := w.take()
	if cleanup.Body.PhysicalID != "one" {
		t.Errorf("the clean-up is of %q", cleanup.Body.PhysicalID)
	}
	w.put(w.responseURL(cleanup), success(cleanup, "one"))
	w.must(cloudformation.NewStackUpdateCompleteWaiter(client).Wait(ctx, describe, time.Minute))

	// A duplicate and a late answer are accepted, and change nothing.
	if status, _, _ := w.put(target, success(created, "other")); status != 200 {
		t.Errorf("a late answer: %d", status)
	}
	out, err = client.DescribeStacks(ctx, describe)
	w.must(err)
	if got := *out.Stacks[0].Outputs[0].OutputValue; got != "two" {
		t.Errorf("output %q", got)
	}

	_, err = client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: name})
	w.must(err)
	deleted := w.take()
	w.put(w.responseURL(deleted), success(deleted, "two"))
	w.must(cloudformation.NewStackDeleteCompleteWaiter(client).Wait(ctx, describe, time.Minute))

	// Every request is logged without its signature.
	log := w.log.String()
	if !strings.Contains(log, "path=/response/arn:aws:cloudformation") || !strings.Contains(log, "method=PUT") {
		t.Errorf("the answers are not in the log:\n%s", log)
	}
	if strings.Contains(log, "X-Amz-") {
		t.Errorf("a query is in the log:\n%s", log)
	}
}

func TestCallerIdentity(t *testing.T) {
	w := newWorld(t, nil)
	client := sts.New(sts.Options{
		BaseEndpoint: &w.url, Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	out, err := client.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	w.must(err)
	if *out.Account != "000000000000" || *out.Arn != "arn:aws:iam::000000000000:root" || *out.UserId != "000000000000" {
		t.Errorf("%s %s %s", *out.Account, *out.Arn, *out.UserId)
	}
}

// TestRegions checks that a stack is visible only in the region of the signature's scope.
func TestRegions(t *testing.T) {
	w := newWorld(t, nil)
	w.create("here")
	elsewhere := strings.Replace(anyKey("cloudformation"), region, "us-east-1", 1)
	status, _, body := w.send(http.MethodPost, w.url, "Action=DescribeStacks&Version=2010-05-15&StackName=here", http.Header{
		"Authorization": {elsewhere}, "Content-Type": {"application/x-www-form-urlencoded"},
	})
	if status != 400 || !strings.Contains(body, "Stack with id here does not exist") {
		t.Errorf("%d %s", status, body)
	}
}
