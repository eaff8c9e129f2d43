package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pintle-dev/pintle/pintletest"
)

func TestLife(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{
			"AmazonSSM.PutParameter": `{"Version":1}`, "AmazonSSM.DeleteParameter": `{}`,
		}[r.Header.Get("X-Amz-Target")]
		if answer == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(service.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": service.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
	} {
		t.Setenv(name, value)
	}
	provider, err := newProvider(t.Context(), "ssm:PutParameter ssm:Delete*")
	if err != nil {
		t.Fatal(err)
	}
	put := `{"service":"SSM","action":"putParameter","parameters":{"Name":"/a","Value":"v"},"physicalResourceId":{"id":"/a"}}`
	pintletest.Lifecycle{
		Handler: provider,
		Steps: []pintletest.Step{
			{Properties: pintletest.Map{"Create": `{"service":"SSM","action":"getParameter"}`}, WantError: "the call ssm:GetParameter in eu-west-1 is not allowed"},
			{Properties: pintletest.Map{"Create": put, "Update": put, "Delete": `{"service":"SSM","action":"deleteParameter","parameters":{"Name":"PHYSICAL:RESOURCEID:"}}`},
				WantID: "/a", WantAttributes: pintletest.Map{"Version": 1, "region": "eu-west-1"}},
		},
	}.Run(t)
	if _, err := newProvider(t.Context(), "ssm:nothing"); err == nil {
		t.Error("a rule for what there is not is taken")
	}
	if _, err := newProvider(t.Context(), "all"); err != nil {
		t.Error(err)
	}
}
