package awshttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/pintle-dev/pintle/internal/dev/awshttp"
)

// TestResponsesArriveWhole fails for about one call in thirty without this package.
func TestResponsesArriveWhole(t *testing.T) {
	long := `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>` +
		strings.Repeat("x", 1<<16) + `</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.PostForm.Get("Action") != "GetCallerIdentity" {
			t.Errorf("form %v, %v", r.PostForm, err)
		}
		_, _ = w.Write([]byte(long))
	}))
	defer server.Close()
	client := sts.New(sts.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1", RetryMaxAttempts: 1, HTTPClient: awshttp.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	for range 200 {
		out, err := client.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
		if err != nil || len(*out.Arn) != 1<<16 {
			t.Fatal(err)
		}
	}
}
