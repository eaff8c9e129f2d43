package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/awshttp"
)

// scrape returns the series of a server, by name and labels, and the whole text.
func scrape(t *testing.T, at, token string) (series map[string]float64, text string) {
	t.Helper()
	status, text := get(t, at, token)
	if status != http.StatusOK {
		t.Fatalf("scrape: %d %s", status, text)
	}
	series = map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.HasPrefix(line, "#") {
			value, err := strconv.ParseFloat(line[i+1:], 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			series[line[:i]] = value
		}
	}
	return series, text
}

func get(t *testing.T, at, token string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := awshttp.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestMetricsUnderLoad checks that a server under continuous scraping counts all work exactly, and exposes no names.
func TestMetricsUnderLoad(t *testing.T) {
	server := serve(t, filepath.Join(t.TempDir(), "data"))
	at := server.url + "/metrics"
	ledger := newLedger(t)
	work := load(t, ledger, server.url, 4)
	stop := make(chan struct{})
	scraping := make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				scraping <- n
				return
			default:
			}
			response, err := awshttp.Client().Get(at)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("a scrape under load: %v, error %v", response, err)
				continue
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	}()
	ledger.await(200)
	work.end()
	close(stop)
	scrapes := <-scraping
	operations := float64(work.operations.Load())

	secret := "planted-" + strings.Repeat("s3cret", 3)
	refuser := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"Status": "FAILED", "Reason": "it is %s", "PhysicalResourceId": %q}`, secret, secret)
	}))
	t.Cleanup(refuser.Close)
	client := cloudformation.New(cloudformation.Options{
		BaseEndpoint: aws.String(server.url), Region: "us-east-1", HTTPClient: awshttp.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("telltale"), OnFailure: types.OnFailureDoNothing,
		Parameters: []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: &secret}},
		TemplateBody: aws.String(fmt.Sprintf(`{"Parameters": {"P": {"Type": "String", "NoEcho": true}},
			"Resources": {"Teller": {"Type": "Custom::Telling", "Properties": {"ServiceToken": %q, "P": {"Ref": "P"}}}}}`, refuser.URL)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !work.ends("telltale", types.StackStatusCreateFailed) {
		t.Fatal("the stack did not fail")
	}

	var series map[string]float64
	var text string
	server.until("the provider has heard of its last answers, and they are counted", func() bool {
		series, text = scrape(t, at, "")
		return float64(ledger.acknowledged.Load()) == series[`pintle_http_requests_total{code="200",door="answers"}`]
	})
	answers := series[`pintle_answers_total{dialect="cloudformation",outcome="success"}`]
	half := operations / 2 // each stack is created and deleted
	if operations < 4 || scrapes == 0 {
		t.Fatalf("%v operations, %d scrapes: that is no load", operations, scrapes)
	}
	// A request that was delivered twice is answered twice.
	answered := answers + series[`pintle_answers_total{dialect="cloudformation",outcome="duplicate"}`]
	if want := float64(ledger.acknowledged.Load()); answered != want || ledger.repeats() == 0 && answers != want {
		t.Errorf("%v answers, %v of them the first, and %v were acknowledged", answered, answers, want)
	}
	for name, want := range map[string]float64{
		`pintle_operations_started_total{dialect="cloudformation",kind="create"}`:                   half + 1,
		`pintle_operations_started_total{dialect="cloudformation",kind="delete"}`:                   half,
		`pintle_operations_ended_total{dialect="cloudformation",kind="create",outcome="succeeded"}`: half,
		`pintle_operations_ended_total{dialect="cloudformation",kind="create",outcome="failed"}`:    1,
		`pintle_operations_ended_total{dialect="cloudformation",kind="delete",outcome="succeeded"}`: half,
		`pintle_operation_duration_seconds_count{dialect="cloudformation",kind="create"}`:           half + 1,
		`pintle_answers_total{dialect="cloudformation",outcome="failed"}`:                           1,
		`pintle_answers_total{dialect="cloudformation",outcome="late"}`:                             0,
		`pintle_failures_total{cause="provider",dialect="cloudformation"}`:                          1,
		`pintle_failures_total{cause="timeout",dialect="cloudformation"}`:                           0,
		`pintle_members`:  1,
		`pintle_store_up`: 1,
	} {
		if got, ok := series[name]; !ok || got != want {
			t.Errorf("%s is %v (there: %v), want %v", name, got, ok, want)
		}
	}
	if writes := series["pintle_commit_batch_size_sum"]; writes < operations || series["pintle_commit_duration_seconds_count"] == 0 {
		t.Errorf("%v writes in %v commits", writes, series["pintle_commit_duration_seconds_count"])
	}
	for _, never := range []string{secret, "telltale", "Teller", "Telling", "stack-0", "R00", strings.TrimPrefix(refuser.URL, "http://"), "X-Amz"} {
		if strings.Contains(text, never) {
			t.Errorf("metrics tell %q", never)
		}
	}
	t.Logf("%v operations, %d answers, %d scrapes meanwhile, %d series", operations, ledger.acknowledged.Load(), scrapes, len(series))
}

// Without --dev metrics are where they are asked for, and behind the token that they are given.
func TestMetricsAreGuarded(t *testing.T) {
	const token = "0123456789abcdef-the-token"
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	apart := "http://" + freeAddress(t) + "/metrics"
	for _, test := range []struct {
		name   string
		args   []string
		served bool // at the main listener
		own    bool // at a listener of their own
	}{
		{"not at all", nil, false, false},
		{"behind a token", []string{"--metrics-token-file", file}, true, false},
		{"apart", []string{"--metrics", strings.TrimSuffix(strings.TrimPrefix(apart, "http://"), "/metrics")}, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := serve(t, filepath.Join(t.TempDir(), "data"), append(test.args, "--dev=false")...)
			for _, given := range []string{"", token + "x", token} {
				status, text := get(t, server.url+"/metrics", given)
				reported := status == http.StatusOK || strings.Contains(text, "pintle_")
				if reported != (test.served && given == token) || test.served && !reported && status != http.StatusUnauthorized {
					t.Errorf("with the token %q: %d %.200s", given, status, text)
				}
			}
			if test.own {
				if _, text := scrape(t, apart, ""); !strings.Contains(text, "pintle_members 1") {
					t.Errorf("apart: %.500s", text)
				}
				if status, _ := get(t, strings.TrimSuffix(apart, "metrics"), ""); status != http.StatusNotFound {
					t.Errorf("beside the metrics there is something: %d", status)
				}
			}
			if log := server.output(); strings.Contains(log, token) {
				t.Error("the token is in the log")
			}
		})
	}
}
