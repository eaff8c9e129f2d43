package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/provider/awsconfig"
)

// aws is the S3 that the AWS SDK's configuration selects.
type aws struct {
	region string

	mu     sync.Mutex
	client *awscall.Client
}

// Endpoint implements [S3]. It ignores endpoints in configuration files: their URLs are treated like those of any
// server.
func (a *aws) Endpoint() string {
	if strings.EqualFold(os.Getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true") {
		return ""
	}
	if endpoint := os.Getenv("AWS_ENDPOINT_URL_S3"); endpoint != "" {
		return endpoint
	}
	return os.Getenv("AWS_ENDPOINT_URL")
}

// Object implements [S3].
func (a *aws) Object(ctx context.Context, region, bucket, key, version string) (string, error) {
	problem := func(p Problem, text string) error { return &Error{Problem: p, Bucket: bucket, Key: key, Text: text} }
	client, err := a.open(ctx)
	if err != nil {
		return "", problem(Failed, err.Error())
	}
	parameters := map[string]any{"Bucket": bucket, "Key": key}
	if version != "" {
		parameters["VersionId"] = version
	}
	out, err := client.WithRegion(region).Call(ctx, "s3", "GetObject", parameters)
	if err == nil {
		text, _ := out["Body"].(string)
		if len(text) > MaxBytes {
			return "", problem(TooLong, "too long")
		}
		return text, nil
	}
	if _, ok := errors.AsType[*awscall.ResponseTooLargeError](err); ok {
		return "", problem(TooLong, "too long")
	}
	apiErr, ok := errors.AsType[*awscall.Error](err)
	switch {
	case !ok:
		return "", problem(Failed, err.Error())
	case apiErr.Code == "NoSuchBucket":
		return "", problem(NoBucket, apiErr.Message)
	case apiErr.Code == "NoSuchKey" || apiErr.Code == "NoSuchVersion":
		return "", problem(NoKey, apiErr.Message)
	case apiErr.Status == http.StatusForbidden && apiErr.Message == "":
		return "", problem(Failed, "Access Denied")
	case apiErr.Message == "":
		return "", problem(Failed, fmt.Sprintf("%s (status %d)", apiErr.Code, apiErr.Status))
	}
	return "", problem(Failed, apiErr.Message)
}

// open returns the client. It loads the configuration of the AWS SDK on the first call. Without credentials, calls are
// not signed, which is enough for public buckets.
func (a *aws) open(ctx context.Context) (*awscall.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client != nil {
		return a.client, nil
	}
	credentials, err := awsconfig.Credentials(ctx, a.region)
	if err != nil {
		return nil, err
	}
	keep := true
	if credentials == nil {
		credentials = awssdk.AnonymousCredentials{}
	} else if _, err := credentials.Retrieve(ctx); err != nil {
		credentials, keep = awssdk.AnonymousCredentials{}, false // the next call may find credentials
	}
	client, err := awscall.New(awscall.Config{
		Region: a.region, Credentials: credentials, Endpoint: a.Endpoint(), MaxAttempts: 2, UserAgent: "pintle",
		MaxResponse: MaxBytes + 1,
	})
	if err == nil && keep {
		a.client = client
	}
	return client, err
}
