package secretsmanager_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

var home = registry.Scope{Account: "123456789012", Region: "eu-west-1"}

type world struct {
	*testing.T
	*secretsmanager.Secrets
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, now: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)}
	w.Secrets = secretsmanager.New(registry.New(rows).Secrets, func() time.Time { return w.now })
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) refused(err error, code string) {
	w.Helper()
	reported, ok := errors.AsType[*secretsmanager.Error](err)
	if !ok || reported.Code != code {
		w.Errorf("got %v, want %s", err, code)
	}
}

func text(s string) secretsmanager.Value { return secretsmanager.Value{Text: &s} }

// labels formats the versions of a secret with their labels.
func (w *world) labels(id string) string {
	w.Helper()
	i, err := w.Find(w.Context(), home, id)
	w.must(err)
	var list []string
	for _, v := range i.Of.Versions {
		list = append(list, *v.Text+strings.Join(append([]string{""}, v.Stages...), " "))
	}
	return strings.Join(list, ", ")
}

func TestVersions(t *testing.T) {
	w := newWorld(t)
	token := func(n int) string { return fmt.Sprintf("%032d", n) }
	_, err := w.Create(t.Context(), secretsmanager.NewSecret{Place: home, Name: "a", Value: text("1"), Token: token(1)})
	w.must(err)
	put := func(n int, stages ...string) {
		t.Helper()
		_, _, err := w.Put(t.Context(), home, "a", token(n), text(fmt.Sprint(n)), stages)
		w.must(err)
	}
	want := func(labels string) {
		t.Helper()
		if got := w.labels("a"); got != labels {
			t.Errorf("got %s, want %s", got, labels)
		}
	}
	want("1 AWSCURRENT")
	put(2)
	want("1 AWSPREVIOUS, 2 AWSCURRENT")
	put(2) // a repeated call
	want("1 AWSPREVIOUS, 2 AWSCURRENT")
	_, _, err = w.Put(t.Context(), home, "a", token(2), text("other"), nil)
	w.refused(err, secretsmanager.CodeExists)
	put(3, "AWSPENDING")
	want("1 AWSPREVIOUS, 2 AWSCURRENT, 3 AWSPENDING")
	// Like the end of a rotation function.
	_, err = w.MoveStage(t.Context(), home, "a", secretsmanager.Current, token(1), token(3))
	w.refused(err, secretsmanager.CodeParameter)
	_, err = w.MoveStage(t.Context(), home, "a", secretsmanager.Current, token(2), token(3))
	w.must(err)
	want("1, 2 AWSPREVIOUS, 3 AWSPENDING AWSCURRENT")
	_, err = w.MoveStage(t.Context(), home, "a", "AWSPENDING", token(3), "")
	w.must(err)
	want("1, 2 AWSPREVIOUS, 3 AWSCURRENT")
	_, err = w.MoveStage(t.Context(), home, "a", secretsmanager.Current, token(3), token(2))
	w.must(err)
	want("1, 2 AWSCURRENT, 3 AWSPREVIOUS")
	for n := 4; n < 30; n++ {
		put(n)
	}
	if got := strings.Count(w.labels("a"), ",") + 1; got != 12 {
		t.Errorf("%d versions are kept: %s", got, w.labels("a"))
	}
	for _, of := range []struct{ version, stage, want, code string }{
		{"", "", "29", ""}, {"", secretsmanager.Previous, "28", ""}, {token(28), "", "28", ""}, {token(28), secretsmanager.Previous, "28", ""},
		{token(28), secretsmanager.Current, "", secretsmanager.CodeRequest}, {token(1), "", "", secretsmanager.CodeNotFound}, {"", "NONE", "", secretsmanager.CodeNotFound},
	} {
		_, v, err := w.Version(t.Context(), home, "a", of.version, of.stage)
		if of.code != "" {
			w.refused(err, of.code)
		} else if w.must(err); *v.Text != of.want {
			t.Errorf("%+v: %s", of, *v.Text)
		}
	}
}

func TestFind(t *testing.T) {
	w := newWorld(t)
	made := map[string]secretsmanager.Item{}
	for _, name := range []string{"a", "a-abcdef", "path/to/a"} {
		var err error
		made[name], err = w.Create(t.Context(), secretsmanager.NewSecret{Place: home, Name: name})
		w.must(err)
	}
	for name, i := range made {
		for _, id := range []string{name, secretsmanager.ARN(i), "arn:aws:secretsmanager:eu-west-1:123456789012:secret:" + name} {
			found, err := w.Find(t.Context(), home, id)
			if err != nil || found.Name != name {
				t.Errorf("%s: %s, %v", id, found.Name, err)
			}
		}
	}
	for _, id := range []string{
		"b", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:a-ABCDEF", "arn:aws:secretsmanager:us-east-1:123456789012:secret:a",
		"arn:aws:secretsmanager:eu-west-1:000000000000:secret:a",
	} {
		_, err := w.Find(t.Context(), home, id)
		w.refused(err, secretsmanager.CodeNotFound)
	}
	_, err := w.Find(t.Context(), home, "arn:aws:sns:eu-west-1:123456789012:a")
	w.refused(err, secretsmanager.CodeParameter)
}

func TestRecoveryWindow(t *testing.T) {
	w := newWorld(t)
	create := func() error {
		_, err := w.Create(t.Context(), secretsmanager.NewSecret{Place: home, Name: "a", Value: text("1")})
		return err
	}
	w.must(create())
	w.refused(create(), secretsmanager.CodeExists)
	for _, days := range []int{-1, 0, 6, 31} {
		_, err := w.Delete(t.Context(), home, "a", &days)
		w.refused(err, secretsmanager.CodeParameter)
	}
	days := 7
	deleted, err := w.Delete(t.Context(), home, "a", &days)
	w.must(err)
	if want := w.now.AddDate(0, 0, 7); !deleted.Of.Due.Equal(want) {
		t.Errorf("it is removed at %s, want %s", deleted.Of.Due, want)
	}
	_, _, err = w.Version(t.Context(), home, "a", "", "")
	w.refused(err, secretsmanager.CodeRequest)
	_, _, err = w.Put(t.Context(), home, "a", "", text("2"), nil)
	w.refused(err, secretsmanager.CodeRequest)
	w.refused(create(), secretsmanager.CodeRequest)
	_, err = w.Restore(t.Context(), home, "a")
	w.must(err)
	if got := w.labels("a"); got != "1 AWSCURRENT" {
		t.Errorf("restored it is %s", got)
	}
	_, err = w.Delete(t.Context(), home, "a", nil)
	w.must(err)
	w.now = w.now.AddDate(0, 0, 31)
	_, err = w.Find(t.Context(), home, "a")
	w.refused(err, secretsmanager.CodeNotFound)
	w.must(create())
	_, _, err = w.Remove(t.Context(), home, "a")
	w.must(err)
	w.must(create())
}

func TestList(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		_, err := w.Create(t.Context(), secretsmanager.NewSecret{Place: home, Name: name})
		w.must(err)
	}
	days := 7
	_, err := w.Delete(t.Context(), home, "c", &days)
	w.must(err)
	w.now = w.now.AddDate(0, 0, 8)
	var pages []string
	for after, more := "", true; more; {
		var list []secretsmanager.Item
		list, more, err = w.List(t.Context(), home, after, 2)
		w.must(err)
		page := ""
		for _, i := range list {
			page, after = page+i.Name, i.Name
		}
		pages = append(pages, page)
	}
	if diff := cmp.Diff([]string{"ab", "d"}, pages); diff != "" {
		t.Error(diff)
	}
}

func TestBounds(t *testing.T) {
	w := newWorld(t)
	many := map[string]string{}
	for i := range 51 {
		many[fmt.Sprint(i)] = ""
	}
	for code, list := range map[string][]secretsmanager.NewSecret{
		secretsmanager.CodeValidation: {
			{Name: ""}, {Name: "a b"}, {Name: strings.Repeat("a", 513)}, {Name: "a", Value: text(strings.Repeat("x", 65537))},
			{Name: "a", Description: strings.Repeat("x", 2049)},
		},
		secretsmanager.CodeParameter: {
			{Name: "a", Token: "short", Value: text("1")}, {Name: "a", Value: secretsmanager.Value{Text: new(string), Binary: []byte{1}}},
			{Name: "a", Value: secretsmanager.Value{Text: new(string)}}, {Name: "a", Tags: map[string]string{"": "v"}}, {Name: "a", Tags: map[string]string{"aws:x": "v"}},
		},
		secretsmanager.CodeLimit: {{Name: "a", Tags: many}},
	} {
		for _, in := range list {
			in.Place = home
			_, err := w.Create(t.Context(), in)
			w.refused(err, code)
		}
	}
}

func TestPassword(t *testing.T) {
	length := func(n int) *int { return &n }
	for name, of := range map[string]struct {
		p               secretsmanager.Password
		length          int
		only, each, not string
	}{
		"default":              {secretsmanager.Password{}, 32, "", "a A 0 !", " "},
		"short":                {secretsmanager.Password{Length: length(4)}, 4, "", "a A 0 !", ""},
		"longest":              {secretsmanager.Password{Length: length(4096)}, 4096, "", "a A 0 !", " "},
		"digits":               {secretsmanager.Password{NoLowercase: true, NoUppercase: true, NoPunctuation: true}, 32, "0123456789", "0", ""},
		"excluded":             {secretsmanager.Password{Exclude: `"@/\`, Length: length(500)}, 500, "", "a A 0 !", `"@/\`},
		"a type excluded":      {secretsmanager.Password{Exclude: "0123456789", Length: length(3)}, 3, "", "a A !", "0123456789"},
		"one of a type":        {secretsmanager.Password{NoLowercase: true, NoUppercase: true, NoNumbers: true, Exclude: "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}"}, 32, "~", "", ""},
		"not one of each type": {secretsmanager.Password{Length: length(1), NotEach: true}, 1, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := of.p.Generate()
			if err != nil || len(got) != of.length {
				t.Fatalf("%d characters, %v", len(got), err)
			}
			if of.only != "" && strings.Trim(got, of.only) != "" || of.not != "" && strings.ContainsAny(got, of.not) {
				t.Error("there is a character that must not be")
			}
			for _, class := range strings.Fields(of.each) {
				from := map[string]string{"a": "abcdefghijklmnopqrstuvwxyz", "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0": "0123456789", "!": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"}[class]
				if !strings.ContainsAny(got, from) {
					t.Errorf("there is none of %s", from)
				}
			}
		})
	}
	if got, err := (secretsmanager.Password{Space: true, Length: length(5)}).Generate(); err != nil || !strings.Contains(got, " ") {
		t.Errorf("no space: %v", err)
	}
	for _, p := range []secretsmanager.Password{
		{Length: length(0)}, {Length: length(4097)}, {Length: length(3)}, {NoLowercase: true, NoUppercase: true, NoNumbers: true, NoPunctuation: true},
		{Exclude: strings.Repeat("a", 4097)},
	} {
		_, err := p.Generate()
		reported, ok := errors.AsType[*secretsmanager.Error](err)
		if !ok || reported.Code != secretsmanager.CodeParameter {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
