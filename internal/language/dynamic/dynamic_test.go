package dynamic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/value"
)

func TestFind(t *testing.T) {
	const arn = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:db-AbCdEf"
	for _, c := range []struct {
		text string
		want []dynamic.Reference
		err  string
	}{
		{text: "plain"},
		{text: "{{resolve:ssm:/a"},
		{text: "{{resolve:other:/a}}"},
		{text: "{{resolve:ssm:${Name}}}"},
		{text: "{{resolve:ssm:/a/b}}", want: []dynamic.Reference{{Service: "ssm", Name: "/a/b"}}},
		{text: "x{{resolve:ssm:a:12}}y{{resolve:ssm-secure:b:1}}", want: []dynamic.Reference{
			{Text: "{{resolve:ssm:a:12}}", Service: "ssm", Name: "a", Version: 12},
			{Text: "{{resolve:ssm-secure:b:1}}", Service: "ssm-secure", Name: "b", Version: 1},
		}},
		{text: "{{resolve:ssm:a:}}", err: "Incorrect format is used in the following SSM reference: [{{resolve:ssm:a:}}]"},
		{text: "{{resolve:ssm:a:0}}", err: "Incorrect format is used in the following SSM reference: [{{resolve:ssm:a:0}}]"},
		{text: "{{resolve:ssm:a:label}}", err: "Incorrect format is used in the following SSM reference: [{{resolve:ssm:a:label}}]"},
		{text: `{{resolve:ssm:a\}}`, err: `Incorrect format is used in the following SSM reference: [{{resolve:ssm:a\}}]`},
		{text: "{{resolve:secretsmanager:db}}", want: []dynamic.Reference{{Service: "secretsmanager", Name: "db"}}},
		{text: "{{resolve:secretsmanager:db:SecretString:user}}", want: []dynamic.Reference{{Service: "secretsmanager", Name: "db", Key: "user"}}},
		{text: "{{resolve:secretsmanager:db:SecretString:::}}", want: []dynamic.Reference{{Service: "secretsmanager", Name: "db"}}},
		{text: "{{resolve:secretsmanager:" + arn + ":SecretString:user:AWSPREVIOUS:v-1}}", want: []dynamic.Reference{
			{Service: "secretsmanager", Name: arn, Key: "user", Stage: "AWSPREVIOUS", VersionID: "v-1"},
		}},
		{text: "{{resolve:secretsmanager:" + arn + "}}", want: []dynamic.Reference{{Service: "secretsmanager", Name: arn}}},
		{text: "{{resolve:secretsmanager::SecretString}}", err: "it names no secret"},
		{text: "{{resolve:secretsmanager:arn:aws}}", err: "it names no secret"},
		{text: "{{resolve:secretsmanager:db:SecretBinary}}", err: "only be read as SecretString"},
		{text: `{{resolve:secretsmanager:db:SecretString:a\}}`, err: "backslash"},
		{text: "{{resolve:secretsmanager:db:SecretString:a:b:c:d}}", err: "more parts"},
	} {
		got, err := dynamic.Find(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %s", c.text, err, c.err)
			}
			continue
		}
		if len(c.want) == 1 {
			c.want[0].Text = c.text
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.text, err, diff)
		}
	}
}

func TestReplace(t *testing.T) {
	v := value.Object(
		value.Member{Key: "{{resolve:ssm:a}}", Value: value.Str("a {{resolve:ssm:a}} b {{resolve:ssm:a}}")},
		value.Member{Key: "list", Value: value.Items(value.Num("1"), value.Str("{{resolve:ssm-secure:b}}!"), value.Str("{{resolve:ssm:c}}"))},
	)
	found, err := dynamic.In(v)
	if err != nil || len(found) != 3 || !dynamic.Has(v) {
		t.Fatalf("found %v, error %v", found, err)
	}
	got := dynamic.Replace(v, map[string]value.Value{
		"{{resolve:ssm:a}}": value.Str("{{resolve:ssm:c}}"), "{{resolve:ssm-secure:b}}": value.SecretStr("hunter2"),
	})
	want := `{"{{resolve:ssm:a}}":"a {{resolve:ssm:c}} b {{resolve:ssm:c}}","list":[1,"hunter2!","{{resolve:ssm:c}}"]}`
	if string(got.JSON()) != want {
		t.Errorf("got %s, want %s", got.JSON(), want)
	}
	if diff := cmp.Diff([]string{"hunter2!"}, got.Secrets()); diff != "" {
		t.Error(diff)
	}
	if dynamic.Has(value.Items(value.Str("{{resolve"))) {
		t.Error("there is no reference in a text that only begins like one")
	}
}

func FuzzFind(f *testing.F) {
	for _, seed := range []string{"{{resolve:ssm:a:1}}", "{{resolve:secretsmanager:arn:aws:x:y:z:secret:n:SecretString:k:s:v}}", "{{resolve:{{resolve:ssm:a}}}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := dynamic.Find(text)
		if err != nil {
			return
		}
		for _, r := range found {
			if r.Name == "" || !strings.Contains(text, r.Text) {
				t.Errorf("%+v in %q", r, text)
			}
			again, err := dynamic.Find(r.Text)
			if err != nil || len(again) != 1 || again[0] != r {
				t.Errorf("%+v is read as %+v, %v", r, again, err)
			}
		}
	})
}
