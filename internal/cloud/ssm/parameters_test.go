package ssm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	account = "111122223333"
	region  = "eu-west-1"
)

// filled returns a store with some parameters.
func filled(t *testing.T) *memory.Store {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []store.Parameter{
		{ParameterKey: store.ParameterKey{Name: "/text"}, Type: store.ParameterString, Value: "one"},
		{ParameterKey: store.ParameterKey{Name: "/text"}, Type: store.ParameterString, Value: "two"},
		{ParameterKey: store.ParameterKey{Name: "plain"}, Type: store.ParameterList, Value: "a,b"},
		{ParameterKey: store.ParameterKey{Name: "/secret"}, Type: store.ParameterSecure, Value: "hunter2"},
	} {
		p.Account, p.Region = account, region
		if _, err := rows.PutParameter(t.Context(), p, true); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

func newReader(t *testing.T, config ssm.Config) *ssm.Reader {
	t.Helper()
	r, err := ssm.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestStored(t *testing.T) {
	r := newReader(t, ssm.Config{Parameters: ssm.NewOwn(filled(t))})
	arn := "arn:aws:ssm:" + region + ":" + account + ":parameter"
	names := []string{"/text", "/text:1", "/text:9", "plain", "/secret", "/none", "x:y", arn + "/plain", "arn:aws:ssm:us-east-1:1:parameter/text", ssm.Bootstrap}
	got, err := r.Stored(t.Context(), account, region, names)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) template.Stored { return template.Stored{State: template.StoredText, Value: s} }
	want := map[string]template.Stored{
		"/text": text("two"), "/text:1": text("one"), "/text:9": {}, "plain": text("a,b"), "/secret": {State: template.StoredSecret}, "/none": {}, "x:y": {},
		arn + "/plain": text("a,b"), "arn:aws:ssm:us-east-1:1:parameter/text": {}, ssm.Bootstrap: text("33"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestImages tests public parameters of machine images, which have the same stand-in in every region.
func TestImages(t *testing.T) {
	r := newReader(t, ssm.Config{Parameters: ssm.NewOwn(filled(t))})
	names := []string{
		"/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-6.1-x86_64", "/aws/service/ecs/optimized-ami/amazon-linux-2/recommended/image_id",
		"/aws/service/ecs/optimized-ami/amazon-linux-2/recommended", "/aws/service/global-infrastructure/regions", "/own/ami-amazon-linux-latest/x",
	}
	got, err := r.Stored(t.Context(), account, region, names)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if is := regexp.MustCompile("^ami-[0-9a-f]{17}$").MatchString(got[name].Value); is != (i < 2) {
			t.Errorf("%s is %v", name, got[name])
		}
	}
}

func TestResolve(t *testing.T) {
	r := newReader(t, ssm.Config{Parameters: ssm.NewOwn(filled(t)), ResolveSecrets: true})
	references, err := dynamic.Find("{{resolve:ssm:/text}}{{resolve:ssm:/text:1}}{{resolve:ssm:/none}}{{resolve:ssm:/text:7}}{{resolve:ssm:/secret}}" +
		"{{resolve:ssm-secure:/secret}}{{resolve:ssm-secure:/text}}{{resolve:secretsmanager:db}}")
	if err != nil {
		t.Fatal(err)
	}
	resolved, missing, err := r.Resolve(t.Context(), account, region, references)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"{{resolve:ssm:/none}}":   "there is no parameter /none",
		"{{resolve:ssm:/text:7}}": "there is no parameter /text with version 7",
		"{{resolve:ssm:/secret}}": "parameter /secret is a SecureString, which ssm-secure is for",
	}
	texts := map[string]string{"{{resolve:ssm:/text}}": "two", "{{resolve:ssm:/text:1}}": "one"}
	want["{{resolve:ssm-secure:/text}}"] = "parameter /text is not a SecureString: ssm reads only other types"
	want["{{resolve:secretsmanager:db}}"] = "this server knows no Secrets Manager"
	texts["{{resolve:ssm-secure:/secret}}"] = "hunter2"
	got := map[string]string{}
	for reference, v := range resolved {
		got[reference] = v.Text()
		if v.Secret() != strings.Contains(reference, "secure") {
			t.Errorf("secrecy of %s: %t", reference, v.Secret())
		}
	}
	if diff := cmp.Diff([]any{texts, want}, []any{got, missing}); diff != "" {
		t.Error(diff)
	}
}

func TestWants(t *testing.T) {
	for _, of := range []struct {
		secrets, native bool
		service         dynamic.Service
		custom, own     bool
	}{
		{false, false, dynamic.SSM, true, true},
		{false, false, dynamic.SecretsManager, false, false},
		{true, false, dynamic.SecretsManager, true, true},
		{false, true, dynamic.SecretsManager, false, true},
		{false, true, dynamic.SSMSecure, false, true},
	} {
		r := newReader(t, ssm.Config{Parameters: ssm.NewOwn(filled(t)), ResolveSecrets: of.secrets, ResolveNative: of.native})
		reference := dynamic.Reference{Service: of.service}
		if custom, own := r.Wants(reference, false), r.Wants(reference, true); custom != of.custom || own != of.own {
			t.Errorf("%+v: %t for custom resources, %t for native types", of, custom, own)
		}
	}
}

// broken fails if it is called.
type broken struct{}

func (broken) Secret(context.Context, registry.Scope, dynamic.Reference) (string, error) {
	return "", errors.New("asked elsewhere")
}

func TestOwnSecrets(t *testing.T) {
	own := secretsmanager.New(registry.New(filled(t)).Secrets, nil)
	place := registry.Scope{Account: account, Region: region}
	text := func(s string) secretsmanager.Value { return secretsmanager.Value{Text: &s} }
	made, err := own.Create(t.Context(), secretsmanager.NewSecret{Place: place, Name: "db/a", Value: text(`{"user": "me", "password": "before"}`)})
	if err != nil {
		t.Fatal(err)
	}
	first := made.Of.Versions[0].ID
	if _, _, err := own.Put(t.Context(), place, "db/a", "", text(`{"user": "me", "password": "hunter2"}`), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Create(t.Context(), secretsmanager.NewSecret{Place: place, Name: "binary", Value: secretsmanager.Value{Binary: []byte{1}}}); err != nil {
		t.Fatal(err)
	}
	r := newReader(t, ssm.Config{Parameters: ssm.NewOwn(filled(t)), Secrets: ssm.NewOwnSecrets(own, nil), ResolveNative: true})
	for key, want := range map[string]string{
		"db/a": `{"user": "me", "password": "hunter2"}`, "db/a:SecretString": `{"user": "me", "password": "hunter2"}`,
		"db/a:SecretString:password": "hunter2", "db/a:SecretString:password::": "hunter2",
		secretsmanager.ARN(made) + ":SecretString:password::":                                   "hunter2",
		strings.TrimSuffix(secretsmanager.ARN(made), "-"+made.Of.Suffix) + ":SecretString:user": "me",
		"db/a:SecretString:password:AWSPREVIOUS:":                                               "before", "db/a:SecretString:password::" + first: "before",
		"db/a:SecretString:none":           "Could not find a value associated with JSONKey in SecretString: it has no none",
		"db/a:SecretString:password:OTHER": "Secrets Manager can't find the specified secret value for staging label: OTHER",
		"gone":                             "Secrets Manager can't find the specified secret.",
		"binary":                           "secret binary has no SecretString",
	} {
		references, err := dynamic.Find("{{resolve:secretsmanager:" + key + "}}")
		if err != nil {
			t.Fatal(err)
		}
		resolved, missing, err := r.Resolve(t.Context(), account, region, references)
		if err != nil {
			t.Fatal(err)
		}
		got := missing[references[0].Text]
		if v, ok := resolved[references[0].Text]; ok {
			got = v.Text()
			if !v.Secret() {
				t.Errorf("%s is not marked as a secret", key)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	elsewhere := ssm.NewOwnSecrets(own, broken{})
	if _, err := elsewhere.Secret(t.Context(), place, dynamic.Reference{Name: "gone"}); err == nil || err.Error() != "asked elsewhere" {
		t.Errorf("a secret that is not here: %v", err)
	}
	if _, err := elsewhere.Secret(t.Context(), place, dynamic.Reference{Name: "db/a", Stage: "OTHER"}); err == nil || err.Error() == "asked elsewhere" {
		t.Errorf("a version that is not here: %v", err)
	}
}

// cloud answers as SSM and Secrets Manager do.
func cloud(t *testing.T) *ssm.Remote {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Name, SecretId, VersionStage, VersionId string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		fail := func(status int, code string) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": "m"})
		}
		switch in.Name + in.SecretId + in.VersionStage + in.VersionId {
		case "/p:2":
			_, _ = w.Write([]byte(`{"Parameter": {"Name": "/p", "Type": "SecureString", "Value": "hunter2", "Version": 2}}`))
		case "db":
			_, _ = w.Write([]byte(`{"SecretString": "{\"user\": \"me\", \"port\": 5432, \"nothing\": null}"}`))
		case "dbAWSPREVIOUSv":
			_, _ = w.Write([]byte(`{"SecretString": "before"}`))
		case "binary":
			_, _ = w.Write([]byte(`{"SecretBinary": "aGk="}`))
		case "denied":
			fail(400, "AccessDeniedException")
		case "broken":
			fail(500, "InternalServiceError")
		default:
			code := "ParameterNotFound"
			if in.SecretId != "" {
				code = "ResourceNotFoundException"
			}
			fail(400, code)
		}
	}))
	t.Cleanup(s.Close)
	return ssm.NewRemote(nil, func(_ context.Context, region string) (*awscall.Client, error) {
		return awscall.New(awscall.Config{
			Region: region, Endpoint: s.URL, MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("A", "B", ""),
		})
	})
}

func TestRemote(t *testing.T) {
	remote := cloud(t)
	r := newReader(t, ssm.Config{Parameters: remote, Secrets: remote, ResolveSecrets: true})
	for _, c := range []struct{ reference, want, missing, failure string }{
		{reference: "ssm-secure:/p:2", want: "hunter2"},
		{reference: "ssm:/none", missing: "there is no parameter /none"},
		{reference: "secretsmanager:db:SecretString:user", want: "me"},
		{reference: "secretsmanager:db:SecretString:port", want: "5432"},
		{reference: "secretsmanager:db:SecretString:nothing", missing: "Could not find a value associated with JSONKey in SecretString: it has no nothing"},
		{reference: "secretsmanager:db", want: `{"user": "me", "port": 5432, "nothing": null}`},
		{reference: "secretsmanager:db:SecretString::AWSPREVIOUS:v", want: "before"},
		{reference: "secretsmanager:db:SecretString:a:AWSPREVIOUS:v", missing: "Could not find a value associated with JSONKey in SecretString: the secret is not a JSON object"},
		{reference: "secretsmanager:none", missing: "there is no secret none, or not that version of it"},
		{reference: "secretsmanager:binary", missing: "secret binary has no SecretString"},
		{reference: "secretsmanager:denied", missing: "secretsmanager GetSecretValue: AccessDeniedException: m"},
		{reference: "secretsmanager:broken", failure: "InternalServiceError"},
	} {
		references, err := dynamic.Find("{{resolve:" + c.reference + "}}")
		if err != nil || len(references) != 1 {
			t.Fatal(references, err)
		}
		resolved, missing, err := r.Resolve(t.Context(), account, region, references)
		text := references[0].Text
		if got := resolved[text].Text(); got != c.want || !strings.HasPrefix(missing[text], c.missing) || (missing[text] == "") != (c.missing == "") {
			t.Errorf("%s: %q, missing %q", text, got, missing[text])
		}
		if (err != nil) != (c.failure != "") || err != nil && !strings.Contains(err.Error(), c.failure) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// rows are requests.
type rows map[wire.RequestID]store.Request

func (r rows) Request(_ context.Context, id wire.RequestID) (store.Request, error) {
	if row, ok := r[id]; ok {
		return row, nil
	}
	return store.Request{}, store.ErrNotFound
}

func TestHidden(t *testing.T) {
	asked := func(text string) store.Request {
		return store.Request{Body: &store.RequestBody{
			Region: region, StackID: wire.NewStackID(region, account, "s", "guid"), Token: value.Str("arn:x"),
			Properties: value.Object(value.Member{Key: "K", Value: value.Str(text)}),
		}}
	}
	requests := rows{"a": asked("pass {{resolve:ssm-secure:/secret}}"), "b": asked("{{resolve:ssm:/text}}"), "c": asked("{{resolve:ssm-secure:/gone}}")}
	h := ssm.NewHidden(newReader(t, ssm.Config{Parameters: ssm.NewOwn(filled(t)), ResolveSecrets: true}), requests)
	recall := func(id wire.RequestID, want ...string) {
		t.Helper()
		got, err := h.Recall(t.Context(), id)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", id, err, diff)
		}
	}
	recall("a", "hunter2", "pass hunter2") // read again
	recall("b")
	recall("unknown")
	if _, err := h.Recall(t.Context(), "c"); err == nil {
		t.Error("a secret that is gone is known")
	}
	h.Remember("c", []string{"x"})
	h.Remember("c", []string{"y"})
	recall("c", "x", "y")
	for range 1000 { // it is sent again, and the secret changes in between
		h.Remember("c", []string{"x", "y"})
	}
	h.Remember("c", []string{"z"})
	recall("c", "x", "y", "z")
	h.Remember("d", nil)
	for i := range 1000 {
		h.Remember("d", []string{fmt.Sprint(i)})
	}
	if got, err := h.Recall(t.Context(), "d"); err != nil || len(got) >= 1000 || got[len(got)-1] != "999" {
		t.Errorf("%d secrets are known, %v", len(got), err)
	}
	for range 5000 {
		h.Remember(wire.RequestID(strings.Repeat("z", len("z")+1)), nil)
	}
	recall("c", "x", "y", "z")
	off := ssm.NewHidden(newReader(t, ssm.Config{Parameters: ssm.NewOwn(filled(t))}), requests)
	off.Remember("a", []string{"x"})
	if got, err := off.Recall(t.Context(), "a"); got != nil || err != nil {
		t.Errorf("though nothing is resolved: %q, %v", got, err)
	}
}

func TestNewChecksConfig(t *testing.T) {
	if _, err := ssm.New(ssm.Config{}); err == nil {
		t.Error("without a source")
	}
	failing := ssm.NewRemote(nil, func(context.Context, string) (*awscall.Client, error) { return nil, errors.New("no keys") })
	r := newReader(t, ssm.Config{Parameters: failing})
	if _, err := r.Stored(t.Context(), account, region, []string{"/a"}); err == nil || err.Error() != "read parameter /a: no keys" {
		t.Errorf("error %v", err)
	}
}
