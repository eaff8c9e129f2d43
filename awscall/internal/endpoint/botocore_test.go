package endpoint_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall/internal/endpoint"
	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

func open(t testing.TB) (*model.Bundle, *endpoint.Partitions) {
	t.Helper()
	bundle, err := model.Open()
	if err != nil {
		t.Fatal(err)
	}
	partitions, err := endpoint.ParsePartitions(bundle.Partitions())
	if err != nil {
		t.Fatal(err)
	}
	return bundle, partitions
}

func TestResolvesAsBotocore(t *testing.T) {
	python := require.Python(t, "botocore")
	bundle, partitions := open(t)
	rules := map[string]*endpoint.Rules{}
	for _, e := range bundle.Entries() {
		text, err := bundle.Rules(e)
		if err != nil {
			t.Fatal(err)
		}
		if rules[e.Name], err = endpoint.Parse(text); err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
	}
	out, err := exec.CommandContext(t.Context(), python, "testdata/resolve.py").Output()
	if err != nil {
		t.Fatal(err)
	}
	count, failed := 0, 0
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var want struct {
			Service string
			Params  map[string]any
			URL     string
			Error   bool
			Headers map[string][]string
			Schemes []struct{ Name, SigningName, SigningRegion string }
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if rules[want.Service] == nil {
			t.Skipf("the installed botocore has the service %s, which the bundle has not: it is another version", want.Service)
		}
		count++
		got, err := rules[want.Service].Resolve(partitions, want.Params)
		expect := endpoint.Endpoint{URL: want.URL}
		for name, values := range want.Headers {
			if expect.Headers == nil {
				expect.Headers = map[string][]string{}
			}
			expect.Headers[name] = values
		}
		for _, s := range want.Schemes {
			if expect.Scheme == "" || s.Name == "sigv4" {
				expect.Scheme, expect.SigningName, expect.SigningRegion = s.Name, s.SigningName, s.SigningRegion
			}
			if s.Name == "sigv4" {
				break
			}
		}
		diff := cmp.Diff(expect, got)
		if err != nil {
			diff = err.Error()
		}
		if want.Error && err != nil {
			diff = ""
		}
		if want.Error && err == nil {
			diff = "botocore refuses it"
		}
		if diff != "" {
			if failed++; failed < 20 {
				t.Errorf("%s %v (-botocore +ours):\n%s", want.Service, want.Params, diff)
			}
		}
	}
	if count < 10000 {
		t.Errorf("only %d endpoints were compared", count)
	}
	t.Logf("%d endpoints compared, %d differ", count, failed)
}
