package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretIsNotShown(t *testing.T) {
	secret := NewSecret("hunter2")
	type holder struct {
		Public  Secret
		private Secret
		Pointer *Secret
		List    []Secret
		Map     map[string]Secret
	}
	h := holder{secret, secret, &secret, []Secret{secret}, map[string]Secret{"k": secret}}
	var out bytes.Buffer
	for _, v := range []any{secret, &secret, h, &h} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p", "%c", "%U", "%10.3s"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(raw)
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).With("with", v).Info("message", "v", v)
		}
	}
	fmt.Fprint(&out, errors.Join(fmt.Errorf("wrap %v", secret)))
	if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "68756e74657232") {
		t.Errorf("shown:\n%s", &out)
	}
	if h.private.Reveal() != "hunter2" || !secret.Equal(NewSecret("hunter2")) || secret.Equal(Secret{}) || !(Secret{}).IsZero() || (Secret{}).Reveal() != "" {
		t.Error("a secret lost its text")
	}
	var back struct{ S Secret }
	if err := json.Unmarshal([]byte(`{"S":"swordfish"}`), &back); err != nil || back.S.Reveal() != "swordfish" {
		t.Errorf("%v, %v", back.S.Reveal(), err)
	}
}

func TestScrubbedLog(t *testing.T) {
	hide := newSecrets()
	hide.Add("hunter2", `pass"word`, "no", "a b&c")
	for _, inner := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var out bytes.Buffer
		log := slog.New(redactedLog{inner(&out), hide}).With("with", "hunter2").WithGroup("g")
		log.Info("no hunter2", "url", "https://x/?X-Amz-Signature=5ec2e7", "err", fmt.Errorf("as %q", `pass"word`),
			"struct", struct{ A string }{"hunter2"}, "pointer", &struct{ A string }{"hunter2"}, "group", slog.GroupValue(slog.String("k", "hunter2")),
			"query", "a+b%26c", "raw", json.RawMessage(`{"a":"pass\"word"}`), "number", 7, "plain", struct{ B int }{8})
		text := out.String()
		for _, secret := range []string{"hunter2", "word", "5ec2e7", "b%26c"} {
			if strings.Contains(text, secret) {
				t.Errorf("shows %s: %s", secret, text)
			}
		}
		for _, want := range []string{"no ****", "7", "8"} { // "no" is too short to be redacted
			if !strings.Contains(text, want) {
				t.Errorf("lacks %s: %s", want, text)
			}
		}
	}
}

// A log that a wrapping handler sets is also redacted.
func TestWithLogIsRedacted(t *testing.T) {
	var out bytes.Buffer
	disk := New(newDisks())
	w := newWorld(t, HandlerFunc(func(ctx context.Context, r *Request) (Answer, error) {
		own := r.WithLog(slog.New(slog.NewTextHandler(&out, nil)))
		answer, err := disk.Handle(ctx, own)
		own.Log().Info("the key is 5ec2e7-key")
		return answer, err
	}))
	w.ask(t, Create, "", `{"Zone":"a","Key":"5ec2e7-key"}`, "")
	if text := out.String(); strings.Contains(text, "5ec2e7-key") || !strings.Contains(text, "the key is ****") {
		t.Errorf("the log:\n%s", text)
	}
}

func TestHide(t *testing.T) {
	cause := errors.New("dial tcp: user=admin password=x")
	err := fmt.Errorf("connect: %w", Hide(cause))
	if got := err.Error(); got != "connect: the details are in the log of the provider" {
		t.Error(got)
	}
	if got := logText(err); !strings.HasSuffix(got, ": "+cause.Error()) {
		t.Error(got)
	}
	if !errors.Is(err, cause) || Hide(nil) != nil {
		t.Error("the error is lost")
	}
}
