package s3api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/objects/s3api"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// destinations exist only if their names say so. It records tests.
type destinations struct{ tested []string }

func (d *destinations) Check(_ context.Context, owner registry.Scope, c bucketevents.Configuration) error {
	for _, f := range c.Functions {
		if owner.Account != account || !strings.HasSuffix(f.Function, ":there") {
			return &bucketevents.Error{Message: "Unable to validate the following destination configurations"}
		}
	}
	return nil
}

func (d *destinations) Test(_ context.Context, bucket string, _ registry.Scope, _ bucketevents.Configuration) {
	d.tested = append(d.tested, bucket)
}

var _ s3api.Notifications = (*destinations)(nil)

func configuration(function string) string {
	return `<NotificationConfiguration><CloudFunctionConfiguration><CloudFunction>arn:aws:lambda:eu-west-1:` + account + `:function:` + function +
		`</CloudFunction><Event>s3:ObjectCreated:*</Event></CloudFunctionConfiguration></NotificationConfiguration>`
}

func TestNotificationConfiguration(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "things", account)
	put := func(text string) answered {
		t.Helper()
		return d.do(t, asked{method: http.MethodPut, path: "/things?notification", body: text})
	}
	for text, want := range map[string]string{
		configuration("missing"): "Unable to validate the following destination configurations",
		strings.Replace(configuration("there"), "ObjectCreated", "ObjectEaten", 1): "is not supported for notifications",
		strings.Replace(configuration("there"), "<Event>", "<Event", 1):            "MalformedXML",
	} {
		if got := put(text); got.status != http.StatusBadRequest || !strings.Contains(got.body, want) {
			t.Errorf("%d %s, want %s", got.status, got.body, want)
		}
	}
	if len(d.tested) > 0 {
		t.Errorf("%q was tested", d.tested)
	}
	get := func() string {
		t.Helper()
		return d.do(t, asked{method: http.MethodGet, path: "/things?notification"}).body
	}
	if got := put(configuration("there")); got.status != http.StatusOK || len(d.tested) != 1 {
		t.Errorf("%d %s, tested %q", got.status, got.body, d.tested)
	}
	if text := get(); !strings.Contains(text, ":there</CloudFunction>") || !strings.Contains(text, "<Id>") {
		t.Error(text)
	}
	if got := put("<NotificationConfiguration/>"); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	if text := get(); strings.Contains(text, "CloudFunction") || !strings.Contains(text, "NotificationConfiguration") {
		t.Error(text)
	}
}
