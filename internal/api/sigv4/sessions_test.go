package sigv4_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

func newSessions(t *testing.T, key string) *sigv4.Sessions {
	t.Helper()
	s, err := sigv4.NewSessions([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var session = sigv4.Session{Partition: "aws", Account: "111122223333", Role: "deploy", Name: "me@home", Until: noon.Add(15 * time.Minute)}

func TestSessions(t *testing.T) {
	sessions := newSessions(t, "0123456789abcdef")
	issued := newSessions(t, "0123456789abcdef").Issue(session) // issued by another node
	foreign := newSessions(t, "another key of 24 bytes.").Issue(session)
	second := sessions.Issue(session)
	if second.ID == issued.ID || second.Secret == issued.Secret {
		t.Error("two keys are one")
	}
	mine := sigv4.Identity{
		AccessKeyID: issued.ID, Account: "111122223333", Role: "arn:aws:sts::111122223333:assumed-role/deploy/me@home", UserID: session.UserID(),
		ARN: "arn:aws:sts::111122223333:assumed-role/deploy/me@home", Region: "eu-west-1", Service: "sts",
	}
	if !strings.HasPrefix(mine.UserID, "AROA") || len(mine.UserID) != len("AROAEXAMPLEEXAMPLE234:me@home") {
		t.Errorf("the id of the session is %s", mine.UserID)
	}
	anybody := func(id string) sigv4.Identity {
		return sigv4.Identity{AccessKeyID: id, Account: "000000000000", UserID: "000000000000", ARN: "arn:aws:iam::000000000000:root", Region: "eu-west-1", Service: "sts"}
	}
	token := string(issued.Token)
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	forged := func(change func([]byte) []byte) string {
		return base64.StdEncoding.EncodeToString(change(append([]byte(nil), raw...)))
	}
	tests := map[string]struct {
		id, secret, token string
		at                time.Time
		unsigned          bool // the token is added after the signature
		code              string
		dev               sigv4.Identity // if any key is valid; zero if the code is the same
	}{
		"good":           {id: issued.ID, secret: string(issued.Secret), token: token, dev: mine},
		"its last":       {id: issued.ID, secret: string(issued.Secret), token: token, at: session.Until.Add(-time.Second), dev: mine},
		"over":           {id: issued.ID, secret: string(issued.Secret), token: token, at: session.Until, code: "ExpiredToken"},
		"another secret": {id: issued.ID, secret: secret, token: token, code: "SignatureDoesNotMatch"},
		"secret of another session": {
			id: issued.ID, secret: string(second.Secret), token: token, code: "SignatureDoesNotMatch",
		},
		"not signed":               {id: issued.ID, secret: string(issued.Secret), token: token, unsigned: true, code: "AccessDenied"},
		"no token":                 {id: issued.ID, secret: string(issued.Secret), code: "InvalidClientTokenId", dev: anybody(issued.ID)},
		"token of another session": {id: second.ID, secret: string(second.Secret), token: token, code: "InvalidClientTokenId", dev: anybody(second.ID)},
		"token of another server":  {id: foreign.ID, secret: string(foreign.Secret), token: string(foreign.Token), code: "InvalidClientTokenId", dev: anybody(foreign.ID)},
		"cut":                      {id: issued.ID, secret: string(issued.Secret), token: token[:len(token)-4], code: "InvalidClientTokenId", dev: anybody(issued.ID)},
		"no base64":                {id: issued.ID, secret: string(issued.Secret), token: "*" + token, code: "InvalidClientTokenId", dev: anybody(issued.ID)},
		"short":                    {id: issued.ID, secret: string(issued.Secret), token: "AAAA", code: "InvalidClientTokenId", dev: anybody(issued.ID)},
		"long":                     {id: issued.ID, secret: string(issued.Secret), token: strings.Repeat("A", 5000), code: "InvalidClientTokenId", dev: anybody(issued.ID)},
		"forged account": {id: issued.ID, secret: string(issued.Secret), code: "InvalidClientTokenId", dev: anybody(issued.ID),
			token: forged(func(b []byte) []byte { return []byte(strings.Replace(string(b), "111122223333", "444455556666", 1)) })},
		"known key with a token": {id: keyID, secret: secret, token: token, code: "InvalidClientTokenId"},
	}
	for name, test := range tests {
		for _, dev := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, dev %v", name, dev), func(t *testing.T) {
				at := noon
				if !test.at.IsZero() {
					at = test.at
				}
				v, err := sigv4.New(sigv4.Config{Lookup: lookup, Sessions: sessions, Dev: dev, Now: func() time.Time { return at }})
				if err != nil {
					t.Fatal(err)
				}
				d := newDoor(t, v)
				r := request(t, "POST", d.URL, "Action=GetCallerIdentity")
				credentials := aws.Credentials{AccessKeyID: test.id, SecretAccessKey: test.secret, SessionToken: test.token}
				if test.unsigned {
					credentials.SessionToken = ""
				}
				if err := v4.NewSigner().SignHTTP(context.Background(), credentials, r, hashOf("Action=GetCallerIdentity"), "sts", "eu-west-1", at); err != nil {
					t.Fatal(err)
				}
				if test.unsigned {
					r.Header.Set("X-Amz-Security-Token", test.token)
				}
				response, err := d.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				want, wantCode := sigv4.Identity{}, test.code
				if dev && test.dev != want {
					want, wantCode = test.dev, ""
				} else if wantCode == "" {
					want = test.dev
				}
				if diff := cmp.Diff(want, d.identity); code(d.err) != wantCode || diff != "" {
					t.Errorf("%v, want %s; identity (-want +got):\n%s", d.err, wantCode, diff)
				}
				if d.err != nil && strings.Contains(d.err.Error(), test.secret) {
					t.Error("the error shows the secret")
				}
			})
		}
	}
	if printed := fmt.Sprintf("%v %+v %#v", issued, issued, issued); strings.Contains(printed, string(issued.Secret)) || strings.Contains(printed, token) {
		t.Errorf("printed: %s", printed)
	}
	if _, err := sigv4.NewSessions(make([]byte, 15)); err == nil {
		t.Error("a short key is taken")
	}
}

// FuzzSessionToken checks that no token makes Verify panic or succeed.
func FuzzSessionToken(f *testing.F) {
	sessions, err := sigv4.NewSessions([]byte("0123456789abcdef"))
	if err != nil {
		f.Fatal(err)
	}
	issued := sessions.Issue(session)
	f.Add(string(issued.Token))
	f.Add("AAAA")
	v, err := sigv4.New(sigv4.Config{Lookup: lookup, Sessions: sessions, Now: func() time.Time { return noon }})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		r, err := http.NewRequest("GET", "http://127.0.0.1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header["Authorization"] = []string{"AWS4-HMAC-SHA256 " + strings.Replace(scope, "test", issued.ID, 1) + ", SignedHeaders=host;x-amz-security-token, " + signature}
		r.Header["X-Amz-Security-Token"] = []string{token}
		r.Header.Set("X-Amz-Date", "20261121T120000Z")
		if _, err := v.Verify(r); err == nil {
			t.Errorf("the token %q is good without a signature", token)
		}
	})
}

// TestPresignedBySession checks that a presigned URL is valid only as long as its key.
func TestPresignedBySession(t *testing.T) {
	sessions := newSessions(t, "0123456789abcdef")
	issued := sessions.Issue(session)
	now := noon
	for _, dev := range []bool{false, true} {
		v, err := sigv4.New(sigv4.Config{Lookup: lookup, Sessions: sessions, Dev: dev, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		d := newDoor(t, v)
		for name, test := range map[string]struct {
			credentials aws.Credentials
			at          time.Time
			code        string
		}{
			"good":              {aws.Credentials{AccessKeyID: issued.ID, SecretAccessKey: string(issued.Secret), SessionToken: string(issued.Token)}, noon, ""},
			"over":              {aws.Credentials{AccessKeyID: issued.ID, SecretAccessKey: string(issued.Secret), SessionToken: string(issued.Token)}, session.Until, "ExpiredToken"},
			"another secret":    {aws.Credentials{AccessKeyID: issued.ID, SecretAccessKey: secret, SessionToken: string(issued.Token)}, noon, "SignatureDoesNotMatch"},
			"without its token": {aws.Credentials{AccessKeyID: issued.ID, SecretAccessKey: string(issued.Secret)}, noon, "InvalidAccessKeyId"},
			"a known key's":     {aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret, SessionToken: string(issued.Token)}, noon, "InvalidToken"},
		} {
			now = test.at
			r := request(t, "GET", d.URL+"/bucket/key?X-Amz-Expires=3600", "")
			signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
			url, _, err := signer.PresignHTTP(context.Background(), test.credentials, r, "UNSIGNED-PAYLOAD", "s3", "eu-west-1", noon)
			if err != nil {
				t.Fatal(err)
			}
			response, err := d.Client().Get(url)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if code(d.err) != test.code || test.code == "" && (d.identity.Account != "111122223333" || d.identity.UserID != session.UserID()) {
				t.Errorf("%s, dev %v: %v, want %s; %+v", name, dev, d.err, test.code, d.identity)
			}
		}
	}
}
