package responseurl_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/wire"
)

const rosStack = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"

var rosKey = responseurl.ResponseKey{StackID: rosStack, LogicalID: "A[0]", RequestID: "B288A0BE-D927-4888-B0F7-B35EF84B6E6F"}

func newROSSigner(t testing.TB) *responseurl.ROSSigner {
	t.Helper()
	s, err := responseurl.NewROSSigner([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestROSResponseURL(t *testing.T) {
	s := newROSSigner(t)
	base := parseURL(t, "https://Pintle.example/engine/ros/response")
	signed, err := s.Sign(base, rosKey, "my stack", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	bare, signature, _ := strings.Cut(signed, "&signature=")
	want := "https://Pintle.example/engine/ros/response?stackname=my%20stack&stackid=" + rosStack +
		"&resource=A%5B0%5D&requestid=B288A0BE-D927-4888-B0F7-B35EF84B6E6F&expire=1795266000"
	if bare != want || !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(signature) {
		t.Errorf("\n got %s\nwant %s&signature=<40 hex>", signed, want)
	}
	if text := wire.Redact("see " + signed); strings.Contains(text, signature) {
		t.Errorf("not redacted: %s", text)
	}
	if text := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(text, secret) {
		t.Errorf("shows its secret: %s", text)
	}

	query := bare[strings.Index(bare, "?"):] + "&signature=" + signature
	tests := map[string]struct {
		query string
		at    time.Duration
		code  string
	}{
		"as it is":           {query, 0, ""},
		"the last second":    {query, time.Hour, ""},
		"reordered":          {"?signature=" + signature + "&" + strings.TrimSuffix(bare[strings.Index(bare, "?")+1:], ""), 0, ""},
		"encoded otherwise":  {strings.NewReplacer("%5B", "[", "%5D", "]", "%20", "+").Replace(query), 0, ""},
		"signature in caps":  {strings.Replace(query, signature, strings.ToUpper(signature), 1), 0, ""},
		"expired":            {query, time.Hour + time.Second, "AccessDenied"},
		"expiry extended":    {strings.Replace(query, "expire=1", "expire=2", 1), 0, "SignatureDoesNotMatch"},
		"another resource":   {strings.Replace(query, "A%5B0", "A%5B1", 1), 0, "SignatureDoesNotMatch"},
		"another request":    {strings.Replace(query, "B288", "C288", 1), 0, "SignatureDoesNotMatch"},
		"another stack":      {strings.Replace(query, "8acc", "9acc", 1), 0, "SignatureDoesNotMatch"},
		"another stack name": {strings.Replace(query, "my%20", "our%20", 1), 0, "SignatureDoesNotMatch"},
		"one more parameter": {query + "&x=1", 0, "SignatureDoesNotMatch"},
		"no hex":             {strings.Replace(query, "signature=", "signature=x", 1), 0, "SignatureDoesNotMatch"},
		"cut":                {query[:len(query)-2], 0, "SignatureDoesNotMatch"},
		"twice":              {query + "&expire=1795266000", 0, "InvalidQueryParameter"},
		"no signature":       {bare[strings.Index(bare, "?"):], 0, "InvalidQueryParameter"},
		"nothing":            {"", 0, "InvalidQueryParameter"},
		"no query":           {"?%zz", 0, "InvalidQueryParameter"},
		"too long":           {query + "&x=" + strings.Repeat("x", 5000), 0, "InvalidQueryParameter"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// Neither the host nor the path matters: a proxy may have changed them.
			got, err := s.Verify(arrive(t, http.MethodPost, "/ros/response"+test.query, "10.0.0.1"), now.Add(test.at))
			if test.code == "" {
				if err != nil || got != rosKey {
					t.Errorf("%v, %v", got, err)
				}
				return
			}
			var access *responseurl.AccessError
			if !errors.As(err, &access) || access.Code != test.code || strings.Contains(err.Error(), signature) {
				t.Errorf("%v, want %s", err, test.code)
			}
			if malformed := test.code == "InvalidQueryParameter"; (access.Status() == 400) != malformed || (access.Status() == 403) == malformed {
				t.Errorf("status %d", access.Status())
			}
		})
	}

	other, err := responseurl.NewROSSigner([]byte("another secret of some length"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Verify(arrive(t, http.MethodPost, "/"+query, "x"), now); err == nil {
		t.Error("another secret is as good")
	}
}

func TestROSSignerRefuses(t *testing.T) {
	if _, err := responseurl.NewROSSigner([]byte("short")); err == nil {
		t.Error("took a short secret")
	}
	s := newROSSigner(t)
	long := rosKey
	long.LogicalID = wire.LogicalID(strings.Repeat("x", 1100))
	tests := map[string]struct {
		base string
		key  responseurl.ResponseKey
		name string
		life time.Duration
	}{
		"no scheme":         {"//host/ros", rosKey, "s", time.Hour},
		"a query":           {"http://host/ros?x=1", rosKey, "s", time.Hour},
		"no resource":       {"http://host/ros", responseurl.ResponseKey{StackID: rosStack, RequestID: "r"}, "s", time.Hour},
		"a long name":       {"http://host/ros", rosKey, strings.Repeat("s", 256), time.Hour},
		"a long key":        {"http://host/ros", long, "s", time.Hour},
		"no life":           {"http://host/ros", rosKey, "s", 0},
		"lifetime too long": {"http://host/ros", rosKey, "s", responseurl.MaxURLLife + time.Second},
	}
	for name, test := range tests {
		if got, err := s.Sign(parseURL(t, test.base), test.key, test.name, now, test.life); err == nil {
			t.Errorf("%s: signed %s", name, got)
		}
	}
}
