package functionenv_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/functionenv"
)

const here = "http://127.0.0.1:4600"

// everywhere returns the variables of a function if all services are at one URL.
func everywhere(url string, more map[string]string) map[string]string {
	all := map[string]string{
		"AWS_ENDPOINT_URL": url, "AWS_ENDPOINT_URL_CLOUDFORMATION": here, "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS": here, "AWS_ENDPOINT_URL_LAMBDA": here,
		"AWS_ENDPOINT_URL_S3": here, "AWS_ENDPOINT_URL_SFN": here, "AWS_ENDPOINT_URL_SNS": here, "AWS_ENDPOINT_URL_SSM": here, "AWS_ENDPOINT_URL_STS": here,
		"AWS_ENDPOINT_URL_EVENTBRIDGE": here, "AWS_ENDPOINT_URL_SECRETS_MANAGER": here, "AWS_ENDPOINT_URL_CLOUDWATCH_EVENTS": here, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
	}
	maps.Copy(all, more)
	return all
}

// ours returns the keys of the server and the variables that disable the user's.
func ours(more map[string]string) map[string]string {
	all := map[string]string{
		"AWS_ACCESS_KEY_ID": "OURS", "AWS_SECRET_ACCESS_KEY": "our secret", "AWS_CONFIG_FILE": os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	}
	maps.Copy(all, more)
	return all
}

func TestVariables(t *testing.T) {
	type m = map[string]string
	for name, test := range map[string]struct {
		environ []string
		want    m
	}{
		"nothing configured": {[]string{"PATH=/bin", "HOME=/home/u"}, everywhere(here, ours(nil))},
		"keys without an endpoint": {
			[]string{"AWS_ACCESS_KEY_ID=THEIRS", "AWS_SECRET_ACCESS_KEY=theirs", "AWS_SESSION_TOKEN=t", "AWS_PROFILE=work", "AWS_REGION=eu-west-1"},
			everywhere(here, ours(nil)),
		},
		"one endpoint": {
			[]string{"AWS_ENDPOINT_URL=http://moto:5000", "AWS_ACCESS_KEY_ID=THEIRS", "AWS_SECRET_ACCESS_KEY=theirs", "AWS_SESSION_TOKEN=t"},
			everywhere("http://moto:5000", m{"AWS_ACCESS_KEY_ID": "THEIRS", "AWS_SECRET_ACCESS_KEY": "theirs", "AWS_SESSION_TOKEN": "t"}),
		},
		"endpoints of emulated and other services": {
			[]string{"AWS_ENDPOINT_URL_S3=http://minio:9000", "AWS_ENDPOINT_URL_DYNAMODB=https://dynamodb.eu-west-1.amazonaws.com", "AWS_PROFILE=work",
				"AWS_CONFIG_FILE=/etc/aws", "AWS_CA_BUNDLE=/etc/ca.pem"},
			everywhere(here, m{"AWS_ENDPOINT_URL_S3": "http://minio:9000", "AWS_ENDPOINT_URL_DYNAMODB": "https://dynamodb.eu-west-1.amazonaws.com",
				"AWS_PROFILE": "work", "AWS_CONFIG_FILE": "/etc/aws", "AWS_CA_BUNDLE": "/etc/ca.pem"}),
		},
		"an endpoint without keys": {
			[]string{"AWS_ENDPOINT_URL=http://moto:5000", "AWS_ACCESS_KEY_ID=HALF"}, everywhere("http://moto:5000", ours(nil)),
		},
		"ignored endpoints": {
			[]string{"AWS_ENDPOINT_URL=http://moto:5000", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=True", "AWS_ACCESS_KEY_ID=THEIRS", "AWS_SECRET_ACCESS_KEY=theirs"},
			everywhere(here, ours(nil)),
		},
		"last value applies, and empty means unset": {
			[]string{"AWS_ENDPOINT_URL=http://first", "AWS_ENDPOINT_URL=", "AWS_ENDPOINT_URL_S3=", "junk"}, everywhere(here, ours(nil)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := functionenv.Variables(functionenv.Config{Environ: test.environ, URL: here, Key: functionenv.Key{ID: "OURS", Secret: "our secret"}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			own, ok := functionenv.Own(test.environ)
			if id := test.want["AWS_ACCESS_KEY_ID"]; ok != (id == "THEIRS") || ok && own != (functionenv.Key{ID: id, Secret: "theirs", Token: test.want["AWS_SESSION_TOKEN"]}) {
				t.Errorf("their own key: %s, %t", own.ID, ok)
			}
		})
	}
}

func TestConfigured(t *testing.T) {
	home, empty := t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{home: "[default]\n", empty: ""} {
		if err := os.MkdirAll(filepath.Join(dir, ".aws"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".aws", "credentials"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		home    string
		environ []string
		want    string
	}{
		"nothing":            {"", []string{"AWS_REGION=eu-west-1", "AWS_CA_BUNDLE=/etc/ca.pem", "AWS_PROFILE="}, ""},
		"an empty file":      {empty, nil, ""},
		"a file":             {home, nil, "~/.aws/credentials"},
		"a key":              {home, []string{"AWS_ACCESS_KEY_ID=THEIRS"}, "AWS_ACCESS_KEY_ID"},
		"a profile":          {"", []string{"AWS_PROFILE=work", "AWS_ENDPOINT_URL_S3=http://minio"}, "AWS_PROFILE"},
		"a container":        {"", []string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/x"}, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"},
		"an endpoint":        {"", []string{"AWS_ENDPOINT_URL_S3=http://minio"}, "AWS_ENDPOINT_URL_S3"},
		"configuration file": {"", []string{"AWS_CONFIG_FILE=/etc/aws"}, "AWS_CONFIG_FILE"},
	} {
		environ := append(test.environ, "AWS_EC2_METADATA_DISABLED=true") // on any machine
		if got := functionenv.Configured(environ, test.home); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestDecides(t *testing.T) {
	for name := range functionenv.Variables(functionenv.Config{URL: here, Key: functionenv.Key{ID: "OURS", Secret: "s"}}) {
		if !functionenv.Decides(name) {
			t.Errorf("%s is given and inherited", name)
		}
	}
	for name, want := range map[string]bool{
		"AWS_PROFILE": true, "AWS_SESSION_TOKEN": true, "AWS_ENDPOINT_URL_DYNAMODB": true, "AWS_WEB_IDENTITY_TOKEN_FILE": true,
		"AWS_REGION": false, "AWS_CA_BUNDLE": false, "PATH": false,
	} {
		if functionenv.Decides(name) != want {
			t.Errorf("%s: got %t", name, !want)
		}
	}
}

func TestChooses(t *testing.T) {
	for name, want := range map[string]bool{
		"AWS_ACCESS_KEY_ID": true, "AWS_PROFILE": true, "AWS_ENDPOINT_URL": true, "AWS_ENDPOINT_URL_S3": false, "AWS_RETRY_MODE": false, "MODE": false,
	} {
		if functionenv.Chooses(map[string]string{name: "x"}) != want || functionenv.Chooses(map[string]string{name: ""}) {
			t.Errorf("%s: got %t", name, !want)
		}
	}
}
