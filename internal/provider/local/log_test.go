package local_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

func TestLogIsScrubbedEverywhere(t *testing.T) {
	k := newKit(t, "handle", nil)
	secret := "s3cr3t \"quoted\" & <more>\nsecond line of the key"
	printed := []string{
		"PUT https://bucket/key?X-Amz-Expires=7200&X-Amz-Signature=deadbeef0123456789",
		"plain: " + strings.Split(secret, "\n")[0],
		"second line of the key",
		fmt.Sprintf("quoted: %q", secret),
		`json: {"password":"s3cr3t \"quoted\" \u0026 \u003cmore\u003e\nsecond line of the key"}`,
		"query: password=s3cr3t+%22quoted%22+%26+%3Cmore%3E%0Asecond+line+of+the+key",
		"\x1b[1;31mred\x1b[0m and \x1b]0;title\x07bell\x07",
		"tab\tkept, invalid \xff marked",
	}
	got := k.run("1", task{Do: "exit", Code: 1, Print: printed}, secret)
	want := []string{
		"PUT https://bucket/key?X-Amz-Expires=7200&X-Amz-Signature=REDACTED",
		"plain: *****",
		"*****",
		`quoted: "*****"`,
		`json: {"password":"*****"}`,
		"query: password=*****",
		"red and bell",
		"tab\tkept, invalid \uFFFD marked",
	}
	if diff := cmp.Diff(want, got.Log); diff != "" {
		t.Error(diff)
	}
	for i := range want {
		want[i] = "1: " + want[i]
	}
	if diff := cmp.Diff(want, k.logged()); diff != "" {
		t.Error(diff)
	}
}

func TestReportedErrorIsScrubbedOfSecrets(t *testing.T) {
	k := newKit(t, "handle", nil)
	report := `{"errorType":"hunter2","errorMessage":"login with hunter2 refused"}`
	got := k.run("1", task{Do: "error", Answer: report}, "hunter2")
	// The caller gets the unredacted report.
	want := local.Outcome{
		Kind: local.Errored, Delivered: true, Type: "*****", Message: "login with ***** refused", Result: []byte(report),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsOfAProviderAreHidden(t *testing.T) {
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Secrets = []string{"hunter2"} })
	many := make([]string, 1100)
	for i := range many {
		many[i] = fmt.Sprint("secret-", i)
	}
	k.run("1", task{Do: "answer"}, many...)
	got := k.run("2", task{Do: "error", Answer: "x", Print: []string{"it is hunter2"}})
	if diff := cmp.Diff([]string{"it is *****"}, got.Log); diff != "" {
		t.Error(diff)
	}
}

func TestSecretStaysHiddenInALaterEvent(t *testing.T) {
	k := newKit(t, "handle", nil)
	k.run("1", task{Do: "answer"}, "hunter2")
	got := k.run("2", task{Do: "error", Answer: "x", Print: []string{"still hunter2"}})
	if diff := cmp.Diff([]string{"still *****"}, got.Log); diff != "" {
		t.Error(diff)
	}
}

// TestLinesBelongToTheirEvent sends many events to test the mark that synchronizes log and answer. A line that is read
// too late would belong to the wrong event or be missing from the tail.
func TestLinesBelongToTheirEvent(t *testing.T) {
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Concurrency = 1 })
	var want []string
	for i := range 50 {
		id, line := fmt.Sprint("event-", i), fmt.Sprint("line of ", i)
		got := k.run(id, task{Do: "answer", Print: []string{line, "", line}})
		if diff := cmp.Diff([]string{line, line}, got.Log); diff != "" {
			t.Fatalf("%s: %s", id, diff)
		}
		want = append(want, id+": "+line, id+": "+line)
	}
	if diff := cmp.Diff(want, k.logged()); diff != "" {
		t.Error(diff)
	}
}

func TestPanicIsInTheTail(t *testing.T) {
	k := newKit(t, "handle", nil)
	got := k.run("1", task{Do: "panic"})
	if !slices.Contains(got.Log, "panic: the provider's own mistake") {
		t.Errorf("tail without the panic: %q", got.Log)
	}
}

func TestTailIsBounded(t *testing.T) {
	k := newKit(t, "handle", nil)
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprint("line ", i))
	}
	if diff := cmp.Diff(many[30:], k.run("many", task{Do: "answer", Print: many}).Log); diff != "" {
		t.Error(diff)
	}

	long := strings.Repeat("x", 1500)
	got := k.run("long", task{Do: "answer", Print: []string{long, long, long}}).Log
	if diff := cmp.Diff([]string{long, long}, got); diff != "" {
		t.Error(diff)
	}

	huge := strings.Repeat("ü", 1<<20)
	got = k.run("huge", task{Do: "answer", Print: []string{huge, "after"}}).Log
	if diff := cmp.Diff([]string{"after"}, got[len(got)-1:]); diff != "" {
		t.Error(diff)
	}
	got = k.run("huge2", task{Do: "answer", Print: []string{huge}}).Log
	if len(got) != 1 || len(got[0]) > 4<<10 || strings.Trim(strings.TrimSuffix(got[0], "…"), "ü") != "" {
		t.Errorf("a huge line became %d lines: %.40q", len(got), got)
	}
	for _, line := range k.logged() {
		if len(line) > 8<<10+len("huge2: …") {
			t.Errorf("a line of %d bytes was handed on", len(line))
		}
	}
}

func TestTruncatedLineHidesPartialSecret(t *testing.T) {
	k := newKit(t, "handle", nil)
	secret := strings.Repeat("0123456789abcdef", 8)
	line := strings.Repeat("x", 8<<10-64) + secret + " and more"
	k.run("1", task{Do: "answer", Print: []string{line}}, secret)
	want := []string{"1: " + strings.Repeat("x", 8<<10-64) + "…"}
	if diff := cmp.Diff(want, k.logged()); diff != "" {
		t.Error(diff)
	}
}
