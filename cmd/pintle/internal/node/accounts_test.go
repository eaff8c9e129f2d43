package node

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/functionenv"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

func TestParseAccountRule(t *testing.T) {
	for text, want := range map[string]AccountRule{
		"111111111111=lambda:Invoke": {"111111111111", "lambda:invoke"},
		"*=s3:*":                     {"*", "s3:*"},
		"111111111111":               {}, "111111111111=lambda": {}, "=s3:*": {}, "1=s3:*": {}, "*=s3:[": {}, "*=s3:": {}, "*=:x": {},
	} {
		got, err := ParseAccountRule(text)
		if got != want || (err == nil) != (want != AccountRule{}) {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
}

// The accounts of the tests here.
const (
	first  = "111111111111"
	second = "222222222222"
)

// deputy is a server with keys for a cloud, which counts the calls that reach it.
type deputy struct {
	*Node
	t     *testing.T
	calls atomic.Int64
}

// newDeputy starts a server whose credentials file has a key for each account.
func newDeputy(t *testing.T, accounts []string, rules ...string) *deputy {
	t.Helper()
	d := &deputy{t: t}
	cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d.calls.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(cloud.Close)
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "SERVERKEY", "AWS_SECRET_ACCESS_KEY": "server-secret", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_ENDPOINT_URL": cloud.URL, "AWS_ENDPOINT_URL_S3": "",
		"AWS_ENDPOINT_URL_SSM": "", "AWS_MAX_ATTEMPTS": "1",
		"ALIBABA_CLOUD_ACCESS_KEY_ID": "SERVERKEY", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "server-secret", "ALIBABA_CLOUD_SECURITY_TOKEN": "",
		"ALIBABA_CLOUD_FC_ENDPOINT": cloud.URL, "ALIBABA_CLOUD_FC3_ENDPOINT": cloud.URL, "ALIBABA_CLOUD_MNS_ENDPOINT": cloud.URL,
	} {
		t.Setenv(name, value)
	}
	var keys strings.Builder
	for _, account := range accounts {
		keys.WriteString("[" + account + "]\naws_access_key_id = AKIA" + account + "\naws_secret_access_key = secret-of-" + account +
			"\naws_account_id = " + account + "\n")
	}
	c := Config{Role: Server, AllowPrivate: true, SSM: SSMAWS, ResolveSecrets: true, CredentialsFile: filepath.Join(t.TempDir(), "keys")}
	if err := os.WriteFile(c.CredentialsFile, []byte(keys.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range rules {
		rule, err := ParseAccountRule(text)
		if err != nil {
			t.Fatal(err)
		}
		c.AccountRules = append(c.AccountRules, rule)
	}
	d.Node = serving(t, c)
	return d
}

// create makes a stack and returns everything that it says.
func (d *deputy) create(account, template string) string {
	d.t.Helper()
	ctx := sigv4.WithIdentity(d.t.Context(), sigv4.Identity{Account: account, Region: "us-east-1"})
	in := engine.CreateStack{Template: template, Name: store.StackName{Account: account, Region: "us-east-1", Name: "s"}}
	in.DisableRollback, in.Capabilities = true, []string{"CAPABILITY_AUTO_EXPAND"}
	if strings.HasPrefix(template, "ROS") {
		in.Dialect, in.Name.Account = engine.ROS, "0000"+account
	}
	started, err := d.engine.Create(ctx, in)
	if err != nil {
		return err.Error()
	}
	r := &running{Node: d.Node, t: d.t}
	s := r.settled(engine.Ref{Account: in.Name.Account, Region: "us-east-1", Stack: string(started.StackID), ByID: true})
	return strings.Join(r.reported(s), "\n")
}

// deputyCalls are templates that have the server make a call with its own credentials.
var deputyCalls = []struct{ name, call, template string }{
	{"function", "lambda:Invoke", custom("arn:aws:lambda:us-east-1:111111111111:function:f", "")},
	{"topic", "sns:Publish", custom("arn:aws:sns:us-east-1:111111111111:t", "")},
	{"parameter", "ssm:GetParameter", custom("https://127.0.0.1:1/", "{{resolve:ssm:/p}}")},
	{"secret", "secretsmanager:GetSecretValue", custom("https://127.0.0.1:1/", "{{resolve:secretsmanager:s}}")},
	{"parameter of a template", "ssm:GetParameter", `Parameters: {P: {Type: "AWS::SSM::Parameter::Value<String>", Default: /p}}
Resources: {W: {Type: AWS::CloudFormation::WaitConditionHandle, Metadata: {P: {Ref: P}}}}`},
	{"nested template", "s3:GetObject", `Resources:
  N: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: "https://bucket.s3.amazonaws.com/t.yaml"}}`},
	{"snippet", "s3:GetObject", `Resources:
  W: {Type: AWS::CloudFormation::WaitConditionHandle}
  "Fn::Transform": {Name: "AWS::Include", Parameters: {Location: "s3://bucket/snippet.yaml"}}`},
	{"function of Function Compute", "fc:InvokeFunction", customROS("acs:fc:cn-beijing:111111111111:services/s/functions/f")},
	{"function of Function Compute 3.0", "fc:InvokeFunction", customROS("acs:fc:cn-beijing:111111111111:functions/f")},
	{"queue", "mns:SendMessage", customROS("acs:mns:cn-beijing:111111111111:/queues/q")},
	{"queue topic", "mns:PublishMessage", customROS("acs:mns:cn-beijing:111111111111:/topics/t")},
}

func custom(token, property string) string {
	return `Resources: {R: {Type: "Custom::R", Properties: {ServiceToken: "` + token + `", ServiceTimeout: 20, P: "` + property + `"}}}`
}

func customROS(token string) string {
	return "ROSTemplateFormatVersion: '2015-09-01'\n" +
		`Resources: {R: {Type: "Custom::R", Properties: {ServiceToken: "` + token + `", Timeout: 20, Parameters: {}}}}`
}

// TestConfusedDeputy: on a server with several accounts no template has the server use its own credentials unless a rule says so.
func TestConfusedDeputy(t *testing.T) {
	for _, test := range deputyCalls {
		t.Run(test.name, func(t *testing.T) {
			refusal := "--allow-account " + second + "=" + test.call
			d := newDeputy(t, []string{first, second}, first+"=*:*", second+"=ec2:*")
			if said := d.create(second, test.template); !strings.Contains(said, refusal) || strings.Contains(said, "server-secret") {
				t.Errorf("the refusal does not name %s:\n%s", refusal, said)
			}
			if got := d.calls.Load(); got != 0 {
				t.Errorf("%d calls were made with the credentials of the server", got)
			}
			if said := d.create(first, test.template); strings.Contains(said, "--allow-account") || d.calls.Load() == 0 {
				t.Errorf("no call was made for the account that a rule allows it:\n%s", said)
			}
		})
	}
}

// TestAccountDefaults: without rules the account of a server with one account has everything, and those of one with several nothing.
func TestAccountDefaults(t *testing.T) {
	for _, test := range []struct {
		name     string
		accounts []string
		rules    []string
		allowed  bool
	}{
		{"one account", []string{first}, nil, true},
		{"one account, twice", []string{first, first}, nil, true},
		{"several accounts", []string{first, second}, nil, false},
		{"one account with a rule", []string{first}, []string{first + "=s3:*"}, false},
		{"rule for every account", []string{first, second}, []string{"*=lambda:*"}, true},
		{"rule for another account", []string{first, second}, []string{second + "=*:*"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var text strings.Builder
			for i, account := range test.accounts {
				text.WriteString("[" + strings.Repeat("k", i+1) + "]\naws_access_key_id = K" + strings.Repeat("K", i) +
					"\naws_secret_access_key = 0123456789abcdef\naws_account_id = " + account + "\n")
			}
			keys, err := sigv4.Parse([]byte(text.String()))
			if err != nil {
				t.Fatal(err)
			}
			var rules []AccountRule
			for _, text := range test.rules {
				rule, err := ParseAccountRule(text)
				if err != nil {
					t.Fatal(err)
				}
				rules = append(rules, rule)
			}
			if err := newAccounts(keys, rules).allowed(first, "lambda:Invoke"); (err == nil) != test.allowed {
				t.Errorf("allowed: %v", err)
			}
		})
	}
}

// TestFunctionsOfAccounts: functions of an account get the server's endpoints and keys only if it may make every call with them.
func TestFunctionsOfAccounts(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
	t.Setenv("AWS_ACCESS_KEY_ID", "SERVERKEY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "server-secret")
	c := &cloud{url: "http://127.0.0.1:4600", root: testRoot(t), accounts: &accounts{rules: []AccountRule{{first, "*:*"}, {second, "s3:*"}}}}
	for account, own := range map[string]bool{first: true, second: false} {
		variables := c.variables(account)
		if got := variables["AWS_ACCESS_KEY_ID"] == "SERVERKEY"; got != own {
			t.Errorf("account %s has the key of the server: %t", account, got)
		}
		if got := variables[functionenv.EndpointPrefix+"S3"] == "http://127.0.0.1:1"; got != own {
			t.Errorf("account %s has the endpoint of the server: %t", account, got)
		}
	}
	n := &Node{cloud: c, account: first, accounts: c.accounts}
	if _, ok := n.ownKey("SERVERKEY"); !ok {
		t.Error("the key that functions of the server's account have is not known")
	}
	n.account = second
	if _, ok := n.ownKey("SERVERKEY"); ok {
		t.Error("the key of the server is known, and no function has it")
	}
}
