package forward_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
)

// fakeMoto is an endpoint that is recognized as moto. It answers calls with the status and the message of answer.
func fakeMoto(t *testing.T, answer func(action string) (status int, message string)) *httptest.Server {
	t.Helper()
	moto := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && r.URL.Path == "/moto-api/data.json" {
			return
		}
		action := r.FormValue("Action")
		if action == "GetCallerIdentity" {
			fmt.Fprint(w, "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>"+forwardtest.Account+
				"</Account></GetCallerIdentityResult></GetCallerIdentityResponse>")
			return
		}
		status, message := answer(action)
		w.WriteHeader(status)
		fmt.Fprintf(w, "<ErrorResponse><Error><Code>ValidationError</Code><Message>%s</Message></Error></ErrorResponse>", message)
	}))
	t.Cleanup(moto.Close)
	return moto
}

// Moto with cfn-lint complains about the properties that the template of the check leaves out. These types exist.
func TestCheckMotoWithLinter(t *testing.T) {
	message := ""
	moto := fakeMoto(t, func(string) (int, string) { return http.StatusBadRequest, message })
	for text, want := range map[string]string{
		"Stack with id 'KeySchema' is a required property does not exist":                         "",
		"Stack with id Resource type 'AWS::Test::A' does not exist in 'us-east-1' does not exist": "does not accept these resource types: [AWS::Test::A]",
	} {
		message = text
		w := newWorld(t)
		w.config.Rules = []forward.Rule{{Types: []string{"AWS::Test::*"}, Endpoint: moto.URL}}
		f, err := forward.New(w.config)
		w.must(err)
		f.Check(t.Context(), region, []string{"AWS::Test::A"})
		problem, known := f.Checked(w.account, region, []string{"AWS::Test::A"})
		if !known || want == "" && problem != "" || !strings.Contains(problem, want) {
			t.Errorf("%s: problem %q, known %t, want %q", text, problem, known, want)
		}
	}
}

// An internal error of moto comes from the request, so that more tries only take time. The request fails although the
// time for retries is longer than the test.
func TestMotoInternalError(t *testing.T) {
	t.Parallel()
	var created atomic.Bool
	moto := fakeMoto(t, func(action string) (int, string) {
		switch action {
		case "CreateStack":
			created.Store(true)
			return http.StatusInternalServerError, "KeyError"
		case "DescribeStacks":
			return http.StatusBadRequest, "Stack with id x does not exist"
		}
		return http.StatusInternalServerError, ""
	})
	w := newWorldAt(t, moto.URL, forwardtest.Account, "AWS::Test::*")
	w.config.RetryFor, w.config.Within, w.verify = time.Hour, time.Hour, true
	w.open()
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)})), "ROLLBACK_COMPLETE")
	w.wantEvent("s", "A CREATE_FAILED", "CreateStack failed: HTTP 500")
	if !created.Load() {
		t.Error("nothing was created")
	}
}
