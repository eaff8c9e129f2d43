package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/fetch"
)

// objects emulates local buckets, and counts unclosed bodies.
type objects struct {
	texts map[string]string // by URL
	open  int
	asked []string
}

func (o *objects) get(_ context.Context, rawURL string) (io.ReadCloser, bool, error) {
	o.asked = append(o.asked, rawURL)
	if text, ok := o.texts[rawURL]; ok {
		o.open++
		return &opened{strings.NewReader(text), o}, true, nil
	}
	switch {
	case strings.Contains(rawURL, "/broken"):
		return nil, true, errors.New("the disk is gone")
	case strings.Contains(rawURL, "here"):
		return nil, true, fmt.Errorf("object: %w", fs.ErrNotExist)
	}
	return nil, false, nil
}

type opened struct {
	io.Reader
	of *objects
}

func (o *opened) Close() error {
	o.of.open--
	return nil
}

// TestLocalObjects checks that an object in a local bucket is read locally, in all forms of its URL, and that
// any other object is read from S3.
func TestLocalObjects(t *testing.T) {
	const own = "http://127.0.0.1:4600"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "of a server") }))
	t.Cleanup(elsewhere.Close)
	configured(t, aS3(t, map[string]string{"/bucket/t": "of S3"}), "AKIDEXAMPLE")
	o := &objects{texts: map[string]string{
		own + "/here/t": "one",
		"s3://here/t":   "two",
		"https://here.s3.eu-west-1.amazonaws.com/t":  "three",
		"https://s3.amazonaws.com/here/t?versionId=": "four",
		own + "/here/long":                           strings.Repeat("x", fetch.MaxBytes+1),
		own + "/here/most":                           strings.Repeat("x", fetch.MaxBytes),
	}}
	for _, s3Only := range []bool{false, true} {
		f := fetch.New(fetch.Config{AllowPrivate: true, S3Only: s3Only, Objects: o.get})
		for url, want := range map[string]string{
			own + "/here/t": "one",
			"s3://here/t":   "two",
			"https://here.s3.eu-west-1.amazonaws.com/t":  "three",
			"https://s3.amazonaws.com/here/t?versionId=": "four",
			own + "/here/most":                           o.texts[own+"/here/most"],
			own + "/here/none":                           "S3 error: The specified key does not exist." + more,
			own + "/here/broken":                         "S3 error: the disk is gone" + more,
			own + "/here/long":                           "Template may not exceed 1000000 bytes in size.",
			"s3://here/../other/t":                       "TemplateURL must be a supported URL.",
			"https://bucket.s3.amazonaws.com/t":          "of S3",
		} {
			got, err := f.Template(t.Context(), url)
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", url, diff)
			}
		}
		_, err := f.Snippet(t.Context(), own+"/here/none")
		if want := "S3 object [none] in bucket [here] does not exist."; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if got, err := f.Snippet(t.Context(), "s3://here/t"); got != "two" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got, err := fetch.New(fetch.Config{AllowPrivate: true, Objects: o.get}).Template(t.Context(), elsewhere.URL+"/x"); got != "of a server" {
		t.Errorf("got %q, %v", got, err)
	}
	if o.open != 0 {
		t.Errorf("%d objects were not closed", o.open)
	}
	for _, url := range o.asked {
		if strings.Contains(url, "..") {
			t.Errorf("%s was asked for", url)
		}
	}
}
