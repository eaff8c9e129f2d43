package sigv4_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pintle-dev/pintle/cdkprovider"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

// TestVerifyProviderSDK checks that the verifier accepts signatures of the provider SDK, which has its own signing code
// to avoid dependencies.
func TestVerifyProviderSDK(t *testing.T) {
	v, err := sigv4.New(sigv4.Config{Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	var problem error
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, problem = v.Verify(r)
	}))
	defer server.Close()
	key, _ := lookup("AKIDEXAMPLE")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", string(key.Secret))
	t.Setenv("AWS_SESSION_TOKEN", "")
	for _, id := range []string{"f", "arn:aws:lambda:us-east-1:123456789012:function:f:$LATEST"} {
		config := cdkprovider.LambdaConfigFromEnvironment()
		config.Region, config.Endpoint = "us-east-1", server.URL
		f, err := cdkprovider.LambdaFunction(id, config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f(t.Context(), []byte(`{"a": "ä"}`)); err != nil || problem != nil {
			t.Errorf("%s: %v, %v", id, err, problem)
		}
	}
}
