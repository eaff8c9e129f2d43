package fetch_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/fetch"
)

// aS3 is a server with objects by path. Its other responses are those of S3.
func aS3(t *testing.T, objects map[string]string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := objects[r.URL.RequestURI()]
		bucket, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		refuse := func(status int, code, message string) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
		}
		switch {
		case bucket == "nobucket":
			refuse(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
		case bucket == "locked" && r.Header.Get("Authorization") == "":
			refuse(http.StatusForbidden, "AccessDenied", "Access Denied")
		case !ok:
			refuse(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
		default:
			fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// configured sets the configuration of the AWS SDK. An empty key means none.
func configured(t *testing.T, endpoint, key string) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, key)
	}
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, t.TempDir()+"/none")
	}
	for _, name := range []string{"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", endpoint)
}

const more = "\nFor more information check http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"

func TestTemplateFromS3(t *testing.T) {
	endpoint := aS3(t, map[string]string{
		"/bucket/dir/t.yaml":     "Resources: {}",
		"/bucket/long":           strings.Repeat("x", fetch.MaxBytes+1),
		"/bucket/most":           strings.Repeat("x", fetch.MaxBytes),
		"/locked/t":              "secret",
		"/bucket/v?versionId=v1": "the first",
	})
	configured(t, endpoint, "AKIDEXAMPLE")
	f := fetch.New(fetch.Config{S3Only: true})
	for url, want := range map[string]string{
		"https://bucket.s3.eu-west-1.amazonaws.com/dir/t.yaml": "Resources: {}",
		"https://s3.amazonaws.com/bucket/dir/t.yaml":           "Resources: {}",
		"s3://bucket/dir/t.yaml":                               "Resources: {}",
		endpoint + "/bucket/dir/t.yaml":                        "Resources: {}",
		"https://s3.amazonaws.com/bucket/v?versionId=v1":       "the first",
		"https://s3.amazonaws.com/locked/t":                    "secret",
		"https://s3.amazonaws.com/bucket/most":                 strings.Repeat("x", fetch.MaxBytes),
	} {
		if got, err := f.Template(t.Context(), url); err != nil || got != want {
			t.Errorf("%s: got %.20q, %v", url, got, err)
		}
	}
	for url, want := range map[string]string{
		"https://s3.amazonaws.com/bucket/none": "S3 error: The specified key does not exist." + more,
		"https://s3.amazonaws.com/bucket/":     "S3 error: The specified key does not exist." + more,
		"https://s3.amazonaws.com/nobucket/t":  "S3 error: The specified bucket does not exist" + more,
		"https://s3.amazonaws.com/bucket/long": "Template may not exceed 1000000 bytes in size.",
		"https://example.com/bucket/t":         "S3 error: Domain name specified in bucket is not a valid S3 domain",
		"ftp://example.com/t":                  "TemplateURL must be a supported URL.",
		"s3://bucket/../../admin":              "TemplateURL must be a supported URL.",
		"s3://bucket/%2e%2e/%2E%2E/admin":      "TemplateURL must be a supported URL.",
		"https://s3.amazonaws.com/../admin":    "TemplateURL must be a supported URL.",
		"https://s3.amazonaws.com/_health/x":   "TemplateURL must be a supported URL.",
		"https://s3.amazonaws.com/a%23/k":      "TemplateURL must be a supported URL.",
		endpoint + "/bucket/../admin":          "TemplateURL must be a supported URL.",
		"t.yaml":                               "TemplateURL must be a supported URL.",
		"https://u:p@s3.amazonaws.com/b/k":     "TemplateURL must be a supported URL.",
		"":                                     "TemplateURL must be a supported URL.",
	} {
		text, err := f.Template(t.Context(), url)
		var problem *fetch.Error
		if !errors.As(err, &problem) {
			t.Errorf("%s: got %.20q, %v, want an Error", url, text, err)
			continue
		}
		if diff := cmp.Diff(want, problem.Text); diff != "" {
			t.Errorf("%s: %s", url, diff)
		}
	}
}

func TestWithoutCredentials(t *testing.T) {
	endpoint := aS3(t, map[string]string{"/bucket/t": "public", "/locked/t": "secret"})
	configured(t, endpoint, "")
	f := fetch.New(fetch.Config{})
	if got, err := f.Template(t.Context(), "s3://bucket/t"); err != nil || got != "public" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err := f.Template(t.Context(), "s3://locked/t")
	if want := "S3 error: Access Denied" + more; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSnippet(t *testing.T) {
	configured(t, aS3(t, map[string]string{"/bucket/s": "a: b"}), "AKIDEXAMPLE")
	f := fetch.New(fetch.Config{})
	if got, err := f.Snippet(t.Context(), "s3://bucket/s"); err != nil || got != "a: b" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := f.Snippet(t.Context(), fetch.Inline([]byte("c: d"))); err != nil || got != "c: d" {
		t.Errorf("got %q, %v", got, err)
	}
	for location, want := range map[string]string{
		fetch.Inline(make([]byte, fetch.MaxBytes+1)): "the snippet is longer than 1000000 bytes.",
		"data:application/octet-stream;base64,?":     "The location parameter is not a valid S3 uri.",
		"data:text/plain,x":                          "The location parameter is not a valid S3 uri.",
		"s3://nobucket/s":                            "S3 bucket [nobucket] does not exist.",
		"s3://bucket/no":                             "S3 object [no] in bucket [bucket] does not exist.",
		"./snippet.yaml":                             "The location parameter is not a valid S3 uri.",
		"":                                           "The location parameter is not a valid S3 uri.",
	} {
		if _, err := f.Snippet(t.Context(), location); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", location, err, want)
		}
	}
}

func TestWebServer(t *testing.T) {
	configured(t, "", "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/t":
			fmt.Fprint(w, "Resources: {}")
		case "/long":
			fmt.Fprint(w, strings.Repeat("x", fetch.MaxBytes+1))
		case "/moved":
			http.Redirect(w, r, "/t", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	open := fetch.New(fetch.Config{AllowPrivate: true})
	if got, err := open.Template(t.Context(), server.URL+"/t"); err != nil || got != "Resources: {}" {
		t.Errorf("got %q, %v", got, err)
	}
	for path, want := range map[string]string{
		"/none?key=secret": "TemplateURL: GET " + server.URL + "/none: 404 Not Found",
		"/moved":           "TemplateURL: GET " + server.URL + "/moved: 302 Found, and redirects are not followed: use the target URL",
		"/long":            "Template may not exceed 1000000 bytes in size.",
	} {
		if _, err := open.Template(t.Context(), server.URL+path); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	guarded := fetch.New(fetch.Config{})
	if _, err := guarded.Template(t.Context(), server.URL+"/t"); err == nil || !strings.Contains(err.Error(), "is not a public address") {
		t.Errorf("a private network can be reached: %v", err)
	}
}
