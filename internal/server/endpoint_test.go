package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

// TestDoor checks which requests a development server accepts, and where they go.
func TestDoor(t *testing.T) {
	w := newWorld(t, nil)
	const list = "Action=ListStacks&Version=2010-05-15"
	const who = "Action=GetCallerIdentity&Version=2011-06-15"
	port := w.url[strings.LastIndex(w.url, ":"):]
	key := func(service string) http.Header { return http.Header{"Authorization": {anyKey(service)}} }
	host := func(name string) http.Header {
		h := key("cloudformation")
		h.Set("Host", name)
		return h
	}
	tests := map[string]struct {
		method, path, body string
		header             http.Header
		status             int
		want               string // in the body
	}{
		"a call":                  {http.MethodPost, "/", list, key("cloudformation"), 200, "<StackSummaries/>"},
		"in the query":            {http.MethodGet, "/?" + list, "", key("cloudformation"), 200, "<StackSummaries/>"},
		"of sts":                  {http.MethodPost, "/", who, key("sts"), 200, "<Account>000000000000</Account>"},
		"by version":              {http.MethodPost, "/", who, key("execute-api"), 200, "<Account>"},
		"by version, in a query":  {http.MethodGet, "/?" + list, "", key("execute-api"), 200, "<StackSummaries/>"},
		"the scope comes first":   {http.MethodPost, "/", who, key("cloudformation"), 400, "<Code>InvalidAction</Code>"},
		"parameters, no key":      {http.MethodPost, "/", "{}", http.Header{"X-Amz-Target": {"AmazonSSM.GetParameter"}}, 403, `"__type":"MissingAuthenticationToken"`},
		"of another service":      {http.MethodPost, "/", "{}", key("sqs"), 400, "serves cloudformation, ssm and sts, not sqs. Set AWS_ENDPOINT_URL_SQS"},
		"in the scope of uploads": {http.MethodPost, "/", list, key("s3"), 400, "serves cloudformation, ssm and sts, not s3."},
		"without a key":           {http.MethodPost, "/", list, nil, 403, "<Code>MissingAuthenticationToken</Code>"},
		"with a bearer's":         {http.MethodPost, "/", list, http.Header{"Authorization": {"Bearer x"}}, 400, "<Code>IncompleteSignature</Code>"},
		"signed in the query":     {http.MethodPost, "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0", list, nil, 400, "AuthorizationQueryParametersError"},
		"from a page":             {http.MethodOptions, "/", "", key("cloudformation"), 403, "<Code>AccessDenied</Code>"},
		"elsewhere":               {http.MethodPost, "/stacks", list, key("cloudformation"), 404, "<Code>NotFound</Code>"},
		"too long":                {http.MethodPost, "/", strings.Repeat("x", 2<<20), key("cloudformation"), 413, "RequestEntityTooLarge"},
		"as localhost":            {http.MethodPost, "/", list, host("localhost" + port), 200, ""},
		"as localhost, no port":   {http.MethodPost, "/", list, host("LOCALHOST."), 200, ""},
		"as 127.1.2.3":            {http.MethodPost, "/", list, host("127.1.2.3" + port), 200, ""},
		"as [::1]":                {http.MethodPost, "/", list, host("[::1]" + port), 200, ""},
		"as [::1], no port":       {http.MethodPost, "/", list, host("[::1]"), 200, ""},
		"as someone else":         {http.MethodPost, "/", list, host("evil.example" + port), 403, "localhost, 127.0.0.1 or [::1] only"},
		"below localhost":         {http.MethodPost, "/", list, host("b.s3.localhost" + port), 200, ""},
		"as evillocalhost":        {http.MethodPost, "/", list, host("evillocalhost"), 403, "AccessDenied"},
		"as localhost.evil":       {http.MethodPost, "/", list, host("localhost.evil.example"), 403, "AccessDenied"},
		"as 0.0.0.0":              {http.MethodPost, "/", list, host("0.0.0.0" + port), 403, "AccessDenied"},
		"operator":                {http.MethodGet, "/pintle/v1/version", "", key("pintle"), 200, `{"version":"test"}`},
		"operator without a key":  {http.MethodGet, "/pintle/v1/version", "", nil, 403, `{"error":"Request is missing Authentication Token"}`},
		"operator from a page":    {http.MethodOptions, "/pintle/v1/version", "", key("pintle"), 403, `{"error":"OPTIONS`},
		"operator, unknown path":  {http.MethodGet, "/pintle/v1/x", "", key("pintle"), 404, `{"error":"there is nothing at GET /pintle/v1/x`},
		"operator, encoded":       {http.MethodGet, "/pintle%2Fv1%2Fversion", "", key("pintle"), 404, `{"error":"there is nothing at GET /pintle/v1/version`},
		"health":                  {http.MethodGet, "/healthz", "", http.Header{"Host": {"lb.example"}}, 200, "ok\n"},
		"readiness":               {http.MethodHead, "/readyz", "", http.Header{"Host": {"lb.example"}}, 200, ""},
		"health, posted":          {http.MethodPost, "/healthz", "", nil, 405, "method not allowed\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.method == http.MethodPost {
				if test.header == nil {
					test.header = http.Header{}
				}
				test.header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			status, header, body := w.send(test.method, w.url+test.path, test.body, test.header)
			if status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("%d %.300s\nwant %d %s", status, body, test.status, test.want)
			}
			if header.Get("X-Amzn-Requestid") == "" {
				t.Error("the reply has no request id")
			}
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("the reply has a header for pages, %s", name)
				}
			}
		})
	}
}

// TestRawDoor sends requests that no HTTP client would send.
func TestRawDoor(t *testing.T) {
	w := newWorld(t, nil)
	const form = "Action=ListStacks&Version=2010-05-15"
	call := func(line, headers string) string {
		return line + "\r\nAuthorization: " + anyKey("cloudformation") + "\r\nContent-Type: application/x-www-form-urlencoded\r\n" +
			"Content-Length: 36\r\nConnection: close\r\n" + headers + "\r\n" + form
	}
	for name, test := range map[string]struct {
		request string
		status  int
	}{
		"a call":                         {call("POST / HTTP/1.1", "Host: localhost\r\n"), 200},
		"HTTP/1.0":                       {call("POST / HTTP/1.0", "Host: localhost\r\n"), 200},
		"HTTP/1.0 without a host":        {call("POST / HTTP/1.0", ""), 403},
		"an empty host":                  {call("POST / HTTP/1.1", "Host:\r\n"), 403},
		"two hosts":                      {call("POST / HTTP/1.1", "Host: localhost\r\nHost: evil.example\r\n"), 400},
		"another host in the target":     {call("POST http://evil.example/ HTTP/1.1", "Host: localhost\r\n"), 403},
		"a name that begins with 127":    {call("POST / HTTP/1.1", "Host: 127.0.0.1.nip.io\r\n"), 403},
		"another spelling of an address": {call("POST / HTTP/1.1", "Host: 0x7f.1\r\n"), 403},
		"a user in the host":             {call("POST / HTTP/1.1", "Host: localhost@evil.example\r\n"), 400},
		"two keys":                       {call("POST / HTTP/1.1", "Host: localhost\r\nAuthorization: "+anyKey("sts")+"\r\n"), 400},
		"two lengths":                    {call("POST / HTTP/1.1", "Host: localhost\r\nContent-Length: 5\r\n"), 400},
		"another transfer coding":        {call("POST / HTTP/1.1", "Host: localhost\r\nTransfer-Encoding: xchunked\r\n"), 501},
		"OPTIONS *":                      {"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 403},
		"a tunnel":                       {"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\nConnection: close\r\n\r\n", 403},
		"two slashes":                    {"PUT //response/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 403},
		"through the responses":          {"PUT /response/../pintle/v1/providers/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 403},
		"through health":                 {"GET /healthz/../pintle/v1/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 403},
		"a long header":                  {call("POST / HTTP/1.1", "Host: localhost\r\nX: "+strings.Repeat("x", 80_000)+"\r\n"), 431},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
			w.must(err)
			defer conn.Close()
			_, err = io.WriteString(conn, test.request)
			w.must(err)
			reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
			w.must(err)
			defer reply.Body.Close()
			if reply.StatusCode != test.status {
				t.Errorf("%d, want %d", reply.StatusCode, test.status)
			}
		})
	}
}

// TestKeys checks that other servers verify the signature, and that the key determines the account.
func TestKeys(t *testing.T) {
	keys, err := sigv4.Parse([]byte(`[default]
aws_access_key_id = AKIAONE
aws_secret_access_key = 0123456789abcdef0123
aws_account_id = 111111111111
[other]
aws_access_key_id = AKIATWO
aws_secret_access_key = fedcba98765432103210
aws_account_id = 222222222222
pintle_role = deployer
`))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(_ *world, c *server.Config) { c.Dev, c.Keys = false, keys.Lookup })
	list := func(id, secret string) error {
		_, err := cloudformation.New(cloudformation.Options{
			BaseEndpoint: &w.url, Region: region, RetryMaxAttempts: 1, HTTPClient: awshttp.Client(), Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""),
		}).ListStacks(t.Context(), &cloudformation.ListStacksInput{})
		return err
	}
	for _, test := range []struct{ id, secret, code string }{
		{"AKIAONE", "0123456789abcdef0123", ""},
		{"AKIATWO", "fedcba98765432103210", ""},
		{"AKIAONE", "fedcba98765432103210", "SignatureDoesNotMatch"},
		{"AKIATHREE", "0123456789abcdef0123", "InvalidClientTokenId"},
	} {
		err := list(test.id, test.secret)
		refused, _ := errors.AsType[smithy.APIError](err)
		if test.code == "" && err != nil || test.code != "" && (refused == nil || refused.ErrorCode() != test.code) {
			t.Errorf("%s: %v, want %q", test.id, err, test.code)
		}
	}
	// The Host header is not checked here, because the signature covers it.
	status, _, body := w.send(http.MethodPost, w.url, "", http.Header{"Host": {"pintle.example"}, "Authorization": {anyKey("cloudformation")}})
	if status != 403 || !strings.Contains(body, "InvalidClientTokenId") {
		t.Errorf("%d %s", status, body)
	}
	out, err := sts.New(sts.Options{
		BaseEndpoint: &w.url, Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKIATWO", "fedcba98765432103210", ""),
	}).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	w.must(err)
	if *out.Account != "222222222222" || *out.Arn != "arn:aws:sts::222222222222:assumed-role/deployer/pintle" || *out.UserId != "AKIATWO:pintle" {
		t.Errorf("%s %s %s", *out.Account, *out.Arn, *out.UserId)
	}
	if strings.Contains(w.log.String(), "0123456789abcdef0123") {
		t.Error("a secret is in the log")
	}
}

func TestNewRefuses(t *testing.T) {
	w := newWorld(t, nil)
	for name, config := range map[string]server.Config{
		"nothing":   {},
		"no keys":   {Engine: w.engine, Store: w.store, Signer: w.signer},
		"negative":  {Engine: w.engine, Store: w.store, Signer: w.signer, Dev: true, Drain: -1},
		"token key": {Engine: w.engine, Store: w.store, Signer: w.signer, Dev: true, TokenKey: []byte("short")},
	} {
		if _, err := server.New(config); err == nil {
			t.Errorf("%s: New took it", name)
		}
	}
}

// FuzzDoor checks that no unsigned request is accepted, and that none makes the server panic.
func FuzzDoor(f *testing.F) {
	s, err := memory.New(memory.Config{})
	if err != nil {
		f.Fatal(err)
	}
	e, err := engine.Open(context.Background(), engine.Config{Store: s, Alone: true})
	if err != nil {
		f.Fatal(err)
	}
	base, err := url.Parse("http://127.0.0.1:1/response")
	if err != nil {
		f.Fatal(err)
	}
	signer, err := responseurl.NewSigner(responseurl.SignerConfig{KeyID: "PINTLE", Secret: "correct horse battery staple", Bases: []*url.URL{base}})
	if err != nil {
		f.Fatal(err)
	}
	door, err := server.New(server.Config{Engine: e, Store: s, Signer: signer, Dev: true})
	if err != nil {
		f.Fatal(err)
	}
	handler := door.Handler()
	f.Add([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + anyKey("cloudformation") +
		"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 36\r\n\r\nAction=ListStacks&Version=2010-05-15"))
	f.Add([]byte("PUT /response/a%7CR%7Cq?X-Amz-Signature=0&X-Amz-Algorithm=AWS4-HMAC-SHA256 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("PUT /pintle/v1/providers/x HTTP/1.1\r\nHost: [::1]:80\r\nAuthorization: " + anyKey("pintle") + "\r\nContent-Length: 2\r\n\r\n{}"))
	f.Add([]byte("GET /pintle/v1/stacks/a%2Fb/requests HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: " + anyKey("pintle") + "\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			t.Skip()
		}
		signed := strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
		health := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		reply := httptest.NewRecorder()
		handler.ServeHTTP(reply, r)
		if reply.Code == http.StatusOK && !signed && !health {
			t.Errorf("an unsigned request got in: %q", raw)
		}
		if reply.Code == http.StatusInternalServerError {
			t.Errorf("%q: %s", raw, reply.Body)
		}
	})
}
