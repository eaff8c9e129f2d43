package server_test

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/dev/gatewaytest"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
)

// TestAsS3 compares response URLs, which are presigned S3 URLs, with an independent implementation of S3. A PUT gets
// the same response as that implementation gives to the same URL for one of its own objects. Pintle refuses methods
// other than PUT earlier than S3 does.
func TestAsS3(t *testing.T) {
	const keyID, secret = "PINTLE", "correct horse battery staple"
	s3 := &http.Client{Transport: gatewaytest.New(t, gatewaytest.Config{KeyID: keyID, Secret: secret, Region: region, Buckets: []string{server.ResponsePath}})}
	base, err := url.Parse(gatewaytest.URL + "/" + server.ResponsePath)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := responseurl.NewSigner(responseurl.SignerConfig{KeyID: keyID, Secret: secret, Bases: []*url.URL{base}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil)
	r := w.create("s")
	key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
	now := time.Now()
	type put struct {
		contentType string // "-" for an empty header
		at          time.Time
		life        time.Duration
		change      func(string) string
	}
	replaced := func(old, with string) func(string) string {
		return func(text string) string { return strings.Replace(text, old, with, 1) }
	}
	for _, test := range []struct {
		name string
		put
		status int
		code   string
		alike  string // part of both messages
	}{
		{"without a content type", put{}, 200, "", ""},
		{"an empty content type", put{contentType: "-"}, 200, "", ""},
		{"JSON", put{contentType: "application/json"}, 200, "", ""},
		{"written in another way", put{change: func(text string) string { return strings.ReplaceAll(text, "%3A", ":") }}, 200, "", ""},
		{"a week", put{life: 7 * 24 * time.Hour}, 200, "", ""},
		{"tampered signature", put{change: func(text string) string { return text[:len(text)-4] + "0000" }}, 403, "SignatureDoesNotMatch", ""},
		{"another object", put{change: replaced("%7CR%7C", "%7CX%7C")}, 403, "SignatureDoesNotMatch", ""},
		{"a longer life", put{change: replaced("X-Amz-Expires=7200", "X-Amz-Expires=7201")}, 403, "SignatureDoesNotMatch", ""},
		{"expired", put{at: now.Add(-3 * time.Hour)}, 403, "AccessDenied", "Request has expired"},
		{"expired a second ago", put{at: now.Add(-2 * time.Second), life: time.Second}, 403, "AccessDenied", "Request has expired"},
		{"no signature", put{change: func(text string) string { text, _, _ = strings.Cut(text, "?"); return text }}, 403, "AccessDenied", "Access Denied"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := test.put
			if p.at.IsZero() {
				p.at = now
			}
			ask := func(client *http.Client, signer *responseurl.Signer, base *url.URL) (int, string, string) {
				t.Helper()
				target, err := signer.Sign(base, key, p.at, responseurl.SignOptions{Expires: p.life})
				if err != nil {
					t.Fatal(err)
				}
				if p.change != nil {
					changed := p.change(target)
					if changed == target {
						t.Fatalf("nothing is changed in %s", target)
					}
					target = changed
				}
				return answered(t, client, target, p.contentType, r)
			}
			ourStatus, ourCode, ourMessage := ask(http.DefaultClient, w.signer, w.base)
			status, code, message := ask(s3, signer, base)
			if ourStatus != test.status || ourCode != test.code || !strings.Contains(ourMessage, test.alike) {
				t.Errorf("answered %d %s (%s), want %d %s", ourStatus, ourCode, ourMessage, test.status, test.code)
			}
			if ourStatus != status || ourCode != code || !strings.Contains(message, test.alike) {
				t.Errorf("answered %d %s (%s), and S3 answers %d %s (%s)", ourStatus, ourCode, ourMessage, status, code, message)
			}
		})
	}
}

// answered sends a PUT and returns the status, and the code and message of an error.
func answered(t *testing.T, client *http.Client, target, contentType string, r store.Request) (status int, code, message string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, target, strings.NewReader(success(r, "x")))
	if err != nil {
		t.Fatal(err)
	}
	switch contentType {
	case "":
	case "-":
		req.Header.Set("Content-Type", "")
	default:
		req.Header.Set("Content-Type", contentType)
	}
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode == http.StatusOK {
		if len(body) > 0 {
			t.Errorf("answered %s", body)
		}
		return response.StatusCode, "", ""
	}
	var described struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}
	if err := xml.Unmarshal(body, &described); err != nil {
		t.Fatalf("%d %s: %v", response.StatusCode, body, err)
	}
	return response.StatusCode, described.Code, described.Message
}
