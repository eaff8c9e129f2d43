package node

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/functionenv"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// TestAWSRule: where the AWS calls of a local provider go.
func TestAWSRule(t *testing.T) {
	own := map[string]string{"AWS_PROFILE": "work"}
	one := map[string]string{"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9000"}
	for name, test := range map[string]struct {
		dev        bool
		configured string
		d          Definition
		want       bool
	}{
		"no credentials configured":            {false, "", Definition{}, true},
		"AWS is configured":                    {false, "~/.aws/credentials", Definition{}, false},
		"AWS is configured, aws: local":        {false, "AWS_PROFILE", Definition{AWS: "local"}, true},
		"nothing configured, environment":      {false, "", Definition{AWS: "environment"}, false},
		"--dev":                                {true, "AWS_PROFILE", Definition{}, true},
		"--dev, environment":                   {true, "", Definition{AWS: "environment"}, false},
		"--dev, keys of its own":               {true, "", Definition{Env: own}, false},
		"own keys, aws: local":                 {false, "", Definition{Env: own, AWS: "local"}, true},
		"an endpoint of one service":           {false, "", Definition{Env: one}, true},
		"--dev, a function of Alibaba Cloud's": {true, "", Definition{Runtime: "fc"}, false},
	} {
		r := awsRule{dev: test.dev, configured: test.configured, variables: func([]string, sigv4.Key, map[string]string) map[string]string { return nil }}
		if got := r.local(test.d); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
		if (awsRule{dev: true}).local(test.d) {
			t.Errorf("%s: a rule without variables changes an environment", name)
		}
	}
}

// TestAWSApply: a provider whose calls come here gets a key of its own, hidden in its log, and inherits no other.
func TestAWSApply(t *testing.T) {
	t.Setenv("AWS_PROFILE", "work")
	t.Setenv("AWS_REGION", "eu-west-1")
	keys := newProcessKeys(testRoot(t), time.Now)
	r := awsRule{dev: true, account: "000000000000", issue: keys.issue, issueForwarded: keys.issue, variables: func(environ []string, key sigv4.Key, forwarded map[string]string) map[string]string {
		return awsVariables(functionenv.Config{Environ: environ, URL: "http://127.0.0.1:4600", Forwarded: forwarded}, key)
	}, forwarded: func(string, []string, bool) map[string]string {
		return map[string]string{"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:4566"}
	}}
	p := local.Provider{Name: "User", Secrets: []string{"before"}}
	r.apply(&p, Definition{})
	key := keys.issue("000000000000", "User")
	if p.Given["AWS_ACCESS_KEY_ID"] != key.ID || p.Given["AWS_ENDPOINT_URL_EVENTBRIDGE"] != "http://127.0.0.1:4600" {
		t.Errorf("given %v", p.Given["AWS_ACCESS_KEY_ID"])
	}
	if diff := cmp.Diff([]string{"before", string(key.Secret)}, p.Secrets); diff != "" {
		t.Error(diff)
	}
	if got := p.Given["AWS_ENDPOINT_URL_SQS"]; got != "http://127.0.0.1:4566" {
		t.Errorf("SQS is at %q", got)
	}
	if !slices.Contains(p.Without, "AWS_PROFILE") || slices.Contains(p.Without, "AWS_REGION") {
		t.Errorf("without %q", p.Without)
	}
}

// TestAWSApplyForwarded: a provider finds the services of forwarded types at their endpoint, unless its configuration says otherwise.
func TestAWSApplyForwarded(t *testing.T) {
	const forwarded = "http://127.0.0.1:4566"
	inherits := false
	keys := newProcessKeys(testRoot(t), time.Now)
	r := awsRule{configured: "AWS_ACCESS_KEY_ID", issue: keys.issue, issueForwarded: keys.issue,
		variables: func(environ []string, key sigv4.Key, forwarded map[string]string) map[string]string {
			return awsVariables(functionenv.Config{Environ: environ, URL: "http://127.0.0.1:4600", Forwarded: forwarded}, key)
		},
		forwarded: func(_ string, _ []string, uses bool) map[string]string {
			inherits = uses
			return map[string]string{"AWS_ENDPOINT_URL_SQS": forwarded, "AWS_ENDPOINT_URL_SNS": forwarded}
		}}
	for name, test := range map[string]struct {
		environ  map[string]string
		d        Definition
		sqs, sns string
	}{
		"inherits":              {nil, Definition{}, forwarded, forwarded},
		"endpoint of a service": {map[string]string{"AWS_ENDPOINT_URL_SNS": "http://other"}, Definition{}, forwarded, ""},
		"endpoint of all":       {map[string]string{"AWS_ENDPOINT_URL": "http://other"}, Definition{}, "", ""},
		"ignored endpoint":      {map[string]string{"AWS_ENDPOINT_URL_SQS": "http://other", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, Definition{}, forwarded, forwarded},
		"environment":           {nil, Definition{AWS: project.AWSEnvironment}, "", ""},
		"own key":               {nil, Definition{Env: map[string]string{"AWS_ACCESS_KEY_ID": "X"}}, "", ""},
		"Function Compute":      {nil, Definition{Runtime: project.RuntimeFC}, "", ""},
		"local":                 {nil, Definition{AWS: project.AWSLocal}, "", "http://127.0.0.1:4600"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", "THEIRS")
			for name, text := range test.environ {
				t.Setenv(name, text)
			}
			p := local.Provider{Name: "User"}
			r.apply(&p, test.d)
			if sqs, sns := p.Given["AWS_ENDPOINT_URL_SQS"], p.Given["AWS_ENDPOINT_URL_SNS"]; sqs != test.sqs || sns != test.sns {
				t.Errorf("SQS is at %q and SNS at %q", sqs, sns)
			}
			if test.d.AWS != project.AWSLocal && p.Given["AWS_ACCESS_KEY_ID"] != "" {
				t.Error("the provider does not inherit its key")
			}
			if test.sqs == forwarded && !inherits {
				t.Error("the provider inherits keys, and the endpoints do not depend on them")
			}
		})
	}
}

// TestDeclarations: local providers are functions by the names that their processes have.
func TestDeclarations(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"user.py", "site.mjs"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newProviders(nil, newNotes(), local.DefaultRegion, slog.New(slog.DiscardHandler))
	defer p.close()
	p.aws.account = "000000000000"
	user, site := filepath.Join(dir, "user.py"), filepath.Join(dir, "site.mjs")
	for name, d := range map[string]Definition{
		"User": {Target: user, Timeout: "2m0s"},
		"arn:aws:lambda:us-east-1:123456789012:function:Site": {Target: site, Handler: "site.run"},
		"Pair":   {OnEvent: &Function{Target: user, Handler: "on"}},
		"Hook":   {Target: "http://127.0.0.1:8080/hook"},
		"Disk":   {Target: user, Runtime: "fc"},
		"Broken": {Target: filepath.Join(dir, "none.py")},
	} {
		if err := p.use(name, d); (err != nil) != (name == "Broken") {
			t.Fatal(name, err)
		}
	}
	var got []string
	for _, f := range (declarations{p}).Functions() {
		got = append(got, strings.Join([]string{f.Name, f.Program, f.Runtime, f.Handler, f.Timeout.String()}, " "))
	}
	want := []string{
		"Pair-onEvent Pair/onEvent python3.13 on 15m0s",
		"Site arn:aws:lambda:us-east-1:123456789012:function:Site nodejs22.x site.run 15m0s",
		"User User python3.13  2m0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, ok := (declarations{p}).Function("Hook"); ok {
		t.Error("a URL is a function")
	}
	if !p.awsElsewhere("User") || !p.awsElsewhere("Pair/onEvent") || p.awsElsewhere("Nobody") {
		t.Error("where their AWS calls go")
	}
}

// TestPolling: a provider that polls is refused where its calls would go to AWS, and only there.
func TestPolling(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"poll.py":         "from crhelper import CfnResource\nhelper = CfnResource()\n@helper.poll_create\ndef poll(e, c): pass\n",
		"once.py":         "from crhelper import CfnResource\nhelper = CfnResource()\n@helper.create\ndef create(e, c): pass\n",
		"long.js":         "const CfnLambda = require('cfn-lambda')\nexports.handler = CfnLambda({LongRunning: {}})\n",
		"folder/index.py": "import helper\n",
		"folder/more.py":  "import crhelper\n@helper.poll_delete\ndef poll(e, c): pass\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(file string) Definition { return Definition{Target: filepath.Join(dir, file)} }
	local, environment := at("poll.py"), at("poll.py")
	local.AWS, environment.AWS = "local", "environment"
	for name, test := range map[string]struct {
		configured string
		d          Definition
		want       string
	}{
		"crhelper":           {"AWS_PROFILE", at("poll.py"), "poll.py polls with crhelper, whose calls of EventBridge and Lambda go to AWS, as configured by AWS_PROFILE,"},
		"cfn-lambda":         {"~/.aws/config", at("long.js"), "long.js polls with cfn-lambda, whose calls of Lambda go to AWS, as configured by ~/.aws/config,"},
		"a folder":           {"AWS_PROFILE", at("folder"), "more.py polls with crhelper,"},
		"without polls":      {"AWS_PROFILE", at("once.py"), ""},
		"nothing configured": {"", at("poll.py"), ""},
		"aws: local":         {"AWS_PROFILE", local, ""},
		"aws: environment":   {"AWS_PROFILE", environment, ""},
	} {
		r := awsRule{configured: test.configured, variables: func([]string, sigv4.Key, map[string]string) map[string]string { return nil }}
		programs, err := test.d.Programs("P")
		if err != nil {
			t.Fatal(name, err)
		}
		for _, elsewhere := range []bool{false, true} {
			alone := Apart{Framework: programs[0], Elsewhere: elsewhere}.NeedsServer()
			if want := !elsewhere && name != "without polls"; (alone != nil) != want {
				t.Errorf("%s, elsewhere %t: needs a server: got %v, want %t", name, elsewhere, alone, want)
			}
		}
		err = r.polling(test.d, programs)
		if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}
