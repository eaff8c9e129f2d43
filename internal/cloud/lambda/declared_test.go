package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

// declarations are two functions in the account of home: User, which runs, and Broken.
type declarations struct{}

func (declarations) Account() string { return home.Account }

func (d declarations) Function(name string) (lambda.Declared, bool) {
	for _, f := range d.Functions() {
		if f.Name == name {
			return f, true
		}
	}
	return lambda.Declared{}, false
}

func (declarations) Functions() []lambda.Declared {
	return []lambda.Declared{
		{Name: "Broken", Program: "Broken", Broken: errors.New("there is no file broken.py")},
		{Name: "User", Program: "arn:aws:lambda:us-east-1:123456789012:function:User", Runtime: "python3.13", Handler: "index.handler"},
	}
}

const echo = `
def handler(event, context):
    print("got", event.get("Secret"))
    return [context.function_name, context.invoked_function_arn, event]
`

func newDeclared(t *testing.T, change func(*lambda.Config)) *world {
	t.Helper()
	require.Tool(t, "python3")
	w := newWorld(t, func(c *lambda.Config) {
		c.Declared = declarations{}
		if change != nil {
			change(c)
		}
	})
	file := filepath.Join(w.dir, "user.py")
	if err := os.WriteFile(file, []byte(echo), 0o600); err != nil {
		t.Fatal(err)
	}
	provider, err := local.ParseProvider("", project.Provider{Name: "arn:aws:lambda:us-east-1:123456789012:function:User", Target: file})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.runtime.Set(provider); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestDeclaredByName checks that a declared function can be called by its name and by any ARN with which its handler
// was invoked.
func TestDeclaredByName(t *testing.T) {
	w := newDeclared(t, nil)
	const own, token = "arn:aws:lambda:us-east-1:000000000000:function:User", "arn:aws:lambda:eu-west-1:123456789012:function:User"
	for name, arn := range map[string]string{
		"User": own, "User:$LATEST": own, "function:User": own, "123456789012:function:User": own, own: own, token: token, token + ":live": token,
	} {
		if got, want := w.invoke(name, `{}`), `["User", "`+arn+`", {}]`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"Nobody": "error: Function not found: arn:aws:lambda:us-east-1:000000000000:function:Nobody",
		"Broken": "error: Function Broken cannot be run: there is no file broken.py",
	} {
		if got := w.invoke(name, "{}"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	stranger := lambda.Call{Scope: registry.Scope{Account: "111111111111", Region: "us-east-1"}, Function: "User"}
	if _, err := w.Invoke(t.Context(), stranger); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("another account calls it: %v", err)
	}
	if _, err := w.Invoke(t.Context(), lambda.Call{Function: token}); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("it is called without a caller as one of another account: %v", err)
	}
	if _, err := w.Invoke(t.Context(), lambda.Call{Function: own}); err != nil {
		t.Errorf("called by its ARN alone: %v", err)
	}
}

// TestDeclaredSecrets checks that the NoEcho values of an event's request do not appear in the log.
func TestDeclaredSecrets(t *testing.T) {
	w := newDeclared(t, func(c *lambda.Config) {
		c.Secrets = func(_ context.Context, id wire.RequestID) []string {
			if id != "r1" {
				t.Errorf("secrets of %q", id)
			}
			return []string{"open-sesame"}
		}
	})
	ended := make(chan struct{})
	if err := w.InvokeEvent(t.Context(), lambda.Call{
		Scope: home, Function: "User", Ended: func() { close(ended) },
		Payload: []byte(`{"RequestId": "r1", "StackId": "s", "ResponseURL": "http://127.0.0.1/", "Secret": "open-sesame"}`),
	}); err != nil {
		t.Fatal(err)
	}
	<-ended
	if diff := cmp.Diff([]string{"r1 User: got *****"}, w.logged()); diff != "" {
		t.Error(diff)
	}
}

// TestDeclaredAmongOthers checks that declared functions are listed, shown and given permissions like those of the
// catalog. They take precedence over one with the same name, and cannot be changed.
func TestDeclaredAmongOthers(t *testing.T) {
	w := newDeclared(t, nil)
	for _, name := range []string{"A", "User", "Z"} {
		w.create(name, python("index.handler"), inline("def handler(e, c): return 1"))
	}
	names := func(after string, limit int) string {
		list, err := w.List(t.Context(), home, after, limit, false)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, i := range list {
			names = append(names, i.Name)
		}
		return strings.Join(names, " ")
	}
	for want, got := range map[string]string{"A Broken User Z": names("", 10), "A Broken": names("", 2), "User Z": names("Broken", 2)} {
		if got != want {
			t.Errorf("listed %s, want %s", got, want)
		}
	}
	shown, err := w.Show(t.Context(), home, "arn:aws:lambda:eu-west-1:123456789012:function:User", "")
	if err != nil || shown.Of.Handler != "index.handler" || shown.Of.Timeout != 900 || shown.Scope != home {
		t.Errorf("shown: %+v, %v", shown, err)
	}
	if err := w.Fixed(home, "User"); err == nil || w.Fixed(home, "A") != nil {
		t.Errorf("changed: %v, %v", err, w.Fixed(home, "A"))
	}
	r, err := w.Reference(home, "User", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddStatement(t.Context(), r, "one", json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
	if err := w.RemoveStatement(t.Context(), r, "one"); err != nil {
		t.Error(err)
	}
}

// TestDeclaredOnly checks that functions of the catalog are neither found nor created, and that their files are kept.
func TestDeclaredOnly(t *testing.T) {
	w := newDeclared(t, nil)
	w.create("A", python("index.handler"), inline("def handler(e, c): return 1"))
	only, err := lambda.New(lambda.Config{Catalog: w.catalog, Runtime: w.runtime, Declared: declarations{}, DeclaredOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { only.Close() })
	_, err = only.Invoke(t.Context(), lambda.Call{Scope: home, Function: "A"})
	if !errors.Is(err, lambda.ErrNotFound) || !strings.Contains(err.Error(), "aws: environment") {
		t.Errorf("called: %v", err)
	}
	if _, err := only.Show(t.Context(), home, "A", ""); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("shown: %v", err)
	}
	if err := only.Fixed(home, "B"); err == nil {
		t.Error("a function can be made")
	}
	list, err := only.List(t.Context(), home, "", 10, false)
	if err != nil || len(list) != 2 {
		t.Errorf("listed %d, %v", len(list), err)
	}
	r := lambda.Reference{Scope: home, Name: "A"}
	if err := only.AddStatement(t.Context(), r, "one", json.RawMessage(`{}`)); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("a permission: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := only.Run(ctx); err != nil {
		t.Error(err)
	}
	if got := w.invoke("A", "{}"); got != "1" {
		t.Errorf("its code is gone: %s", got)
	}
}
