package functionenv_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/base/functionenv"
)

// TestForwarded gives functions the endpoints of forwarded services, and never the keys of the server for them.
func TestForwarded(t *testing.T) {
	const there = "http://127.0.0.1:4566"
	type m = map[string]string
	keys := []string{"AWS_ACCESS_KEY_ID=THEIRS", "AWS_SECRET_ACCESS_KEY=theirs"}
	for name, test := range map[string]struct {
		environ  []string
		function m
		sqs, sns string // "" for no variable
		key      string
	}{
		"nothing configured":                 {nil, nil, there, there, "OURS"},
		"keys without an endpoint":           {keys, nil, there, there, "OURS"},
		"an endpoint for the service":        {append(keys, "AWS_ENDPOINT_URL_SQS=http://mine"), nil, "http://mine", there, "THEIRS"},
		"an endpoint for the emulated one":   {append(keys, "AWS_ENDPOINT_URL_SNS=http://mine"), nil, there, "http://mine", "THEIRS"},
		"an endpoint for all":                {append(keys, "AWS_ENDPOINT_URL=http://mine"), nil, "", there, "THEIRS"},
		"ignored endpoints":                  {append(keys, "AWS_ENDPOINT_URL=http://mine", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true"), nil, there, there, "OURS"},
		"the function's endpoint for all":    {nil, m{"AWS_ENDPOINT_URL": "http://mine"}, "", there, "OURS"},
		"the function's endpoint of another": {nil, m{"AWS_ENDPOINT_URL_DYNAMODB": "http://mine"}, there, there, "OURS"},
	} {
		t.Run(name, func(t *testing.T) {
			got := functionenv.Variables(functionenv.Config{Environ: test.environ, URL: here, Key: functionenv.Key{ID: "OURS", Secret: "our secret"},
				Forwarded: m{"AWS_ENDPOINT_URL_SQS": there, "AWS_ENDPOINT_URL_SNS": there}, Function: test.function})
			if got["AWS_ENDPOINT_URL_SQS"] != test.sqs || got["AWS_ENDPOINT_URL_SNS"] != test.sns || got["AWS_ACCESS_KEY_ID"] != test.key {
				t.Errorf("got SQS %q, SNS %q, key %q", got["AWS_ENDPOINT_URL_SQS"], got["AWS_ENDPOINT_URL_SNS"], got["AWS_ACCESS_KEY_ID"])
			}
			if got["AWS_ENDPOINT_URL_S3"] != here {
				t.Errorf("S3 is at %q", got["AWS_ENDPOINT_URL_S3"])
			}
			if passes := functionenv.Passes(test.environ); passes != (test.key == "THEIRS") {
				t.Errorf("passes keys on: %t", passes)
			}
		})
	}
}
