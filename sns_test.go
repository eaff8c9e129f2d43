package pintle_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
)

const topic = "arn:aws:sns:us-east-1:123456789012:Sites"

// sns simulates SNS: it signs, serves its certificate, and confirms subscriptions.
type sns struct {
	key    *rsa.PrivateKey
	client *http.Client // dials it under its host names

	certificate []byte // DER
	confirmed   chan string
	away        bool
}

func newSNS(t *testing.T) *sns {
	t.Helper()
	s := &sns{confirmed: make(chan string, 10)}
	var err error
	if s.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sns.amazonaws.com"}, DNSNames: []string{"sns.us-east-1.amazonaws.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, s.key.Public(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	s.certificate = der
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /cert.pem", func(w http.ResponseWriter, _ *http.Request) {
		if s.away {
			w.WriteHeader(500)
			return
		}
		_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	})
	mux.HandleFunc("GET /{$}", func(_ http.ResponseWriter, r *http.Request) {
		s.confirmed <- r.URL.Query().Get("Action") + " " + r.URL.Query().Get("TopicArn") + " " + r.URL.Query().Get("Token")
	})
	server := httptest.NewUnstartedServer(mux)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: s.key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	s.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "127.0.0.1:") { // the response URL
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}
			if address != "sns.us-east-1.amazonaws.com:443" {
				return nil, fmt.Errorf("%s was dialled", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// message returns a message signed as the documentation of SNS describes; edit changes it after that.
func (s *sns) message(t *testing.T, kind, version string, m, edit map[string]any) string {
	t.Helper()
	full := map[string]any{
		"Type": kind, "MessageId": "m-1", "TopicArn": topic, "Timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"SignatureVersion": version, "SigningCertURL": "https://sns.us-east-1.amazonaws.com/cert.pem",
	}
	for k, v := range m {
		full[k] = v
	}
	names := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if kind != "Notification" {
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	var text string
	for _, name := range names {
		if v, ok := full[name]; ok {
			text += name + "\n" + v.(string) + "\n"
		}
	}
	hash, sum := crypto.SHA256, sha256.Sum256([]byte(text))
	digest := sum[:]
	if version == "1" {
		old := sha1.Sum([]byte(text))
		hash, digest = crypto.SHA1, old[:]
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, hash, digest)
	if err != nil {
		t.Fatal(err)
	}
	full["Signature"] = base64.StdEncoding.EncodeToString(signature)
	for k, v := range edit {
		full[k] = v
	}
	raw, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSNS(t *testing.T) {
	l, aws := newLambda(t), newSNS(t)
	server, log := provide(t, pintle.ServerConfig{
		Handlers: []pintle.Handler{pintle.HandlerFunc(site)},
		Topics:   []string{topic},
		Client:   aws.client,
	})
	send := func(kind, body string) (int, string) {
		return post(t, server.URL, "", body, func(h http.Header) { h.Set("x-amz-sns-message-type", kind) })
	}
	confirmation := map[string]any{
		"Message": "You have chosen to subscribe", "Token": "t0k3n",
		"SubscribeURL": "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" + topic + "&Token=t0k3n",
	}
	request := map[string]any{"Message": l.event(t, pintle.Create, "", "", ""), "Subject": "AWS CloudFormation custom resource request"}

	aws.away = true
	if status, text := send("Notification", aws.message(t, "Notification", "2", request, nil)); status != 503 || text != "get the certificate of SNS: 500 Internal Server Error" {
		t.Errorf("without the certificate: %d %s", status, text)
	}
	aws.away = false
	if status, text := send("SubscriptionConfirmation", aws.message(t, "SubscriptionConfirmation", "1", confirmation, nil)); status != 200 {
		t.Errorf("confirmation: %d %s", status, text)
	}
	if got := <-aws.confirmed; got != "ConfirmSubscription "+topic+" t0k3n" {
		t.Errorf("confirmed %s", got)
	}
	for _, version := range []string{"1", "2"} { // the second is another delivery of the first
		if status, text := send("Notification", aws.message(t, "Notification", version, request, nil)); status != 200 {
			t.Errorf("version %s: %d %s", version, status, text)
		}
		if body := <-l.puts; !strings.Contains(string(body), `"SUCCESS","PhysicalResourceId":"site-1"`) {
			t.Errorf("version %s: answer %s", version, body)
		}
	}
	if n := strings.Count(log.String(), `msg="at work"`); n != 1 {
		t.Errorf("the handler was at work %d times, want once", n)
	}
	delete(request, "Subject") // a missing subject is not signed
	request["Message"] = l.event(t, pintle.Create, "", "fail", "")
	if status, _ := send("Notification", aws.message(t, "Notification", "2", request, nil)); status != 200 || !strings.Contains(string(<-l.puts), "disk full") {
		t.Errorf("without a subject: %d", status)
	}
	request["Message"] = l.event(t, pintle.Create, "", "", "&refuse=1")
	if status, text := send("Notification", aws.message(t, "Notification", "2", request, nil)); status != 502 || strings.Contains(text, "5ec2e7") {
		t.Errorf("an answer that did not arrive: %d %s", status, text)
	}
	<-l.puts

	old := time.Now().Add(-3 * time.Hour).UTC().Format(time.RFC3339)
	for _, tt := range []struct {
		name    string
		m, edit map[string]any
		version string
		want    string
	}{
		{"changed", nil, map[string]any{"Message": "{}"}, "2", "the Signature of the message does not fit"},
		{"another subject", nil, map[string]any{"Subject": "x"}, "2", "the Signature of the message does not fit"},
		{"version 1 for 2", nil, map[string]any{"SignatureVersion": "1"}, "2", "the Signature of the message does not fit"},
		{"unknown version", nil, nil, "3", "the SignatureVersion \"3\" is not known"},
		{"no base64", nil, map[string]any{"Signature": "*"}, "2", "is not base64"},
		{"old", map[string]any{"Timestamp": old}, nil, "2", "too old"},
		{"no time", map[string]any{"Timestamp": "today"}, nil, "2", "the Timestamp of the message is missing"},
		{"another topic", map[string]any{"TopicArn": topic + "2"}, nil, "2", "is not allowed: add it to PINTLE_PROVIDER_TOPICS"},
		{"certificate of another host", map[string]any{"SigningCertURL": "https://sns.us-east-1.amazonaws.com.evil.test/cert.pem"}, nil, "2", "SigningCertURL of the message is refused"},
		{"a bucket", map[string]any{"SigningCertURL": "https://evil.s3.us-east-1.amazonaws.com/cert.pem"}, nil, "2", "SigningCertURL of the message is refused"},
		{"another region", map[string]any{"SigningCertURL": "https://sns.eu-west-1.amazonaws.com/cert.pem"}, nil, "2", "SigningCertURL of the message is refused"},
		{"with a user", map[string]any{"SigningCertURL": "https://sns.us-east-1.amazonaws.com@evil.test/cert.pem"}, nil, "2", "SigningCertURL of the message is refused"},
		{"with a port", map[string]any{"SigningCertURL": "https://sns.us-east-1.amazonaws.com:444/cert.pem"}, nil, "2", "SigningCertURL of the message is refused"},
		{"not secure", map[string]any{"SigningCertURL": "http://sns.us-east-1.amazonaws.com/cert.pem"}, nil, "2", "SigningCertURL of the message is refused"},
		{"no certificate", map[string]any{"SigningCertURL": "https://sns.us-east-1.amazonaws.com/?Action=x.pem"}, nil, "2", "it names no certificate"},
	} {
		request["Message"] = l.event(t, pintle.Delete, "site-1", "", "")
		m := map[string]any{"Message": request["Message"]}
		for k, v := range tt.m {
			m[k] = v
		}
		if status, text := send("Notification", aws.message(t, "Notification", tt.version, m, tt.edit)); status != 403 || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %d %s, want 403 %s", tt.name, status, text, tt.want)
		}
	}
	evil := map[string]any{"Message": "", "Token": "t", "SubscribeURL": "https://evil.test/"}
	if status, text := send("SubscriptionConfirmation", aws.message(t, "SubscriptionConfirmation", "2", evil, nil)); status == 200 {
		t.Errorf("a subscription elsewhere: %d %s", status, text)
	}
	if status, text := post(t, server.URL, "", "{}", func(h http.Header) {
		h.Set("x-amz-sns-message-type", "Notification")
		h.Set("x-amz-sns-rawdelivery", "true")
	}); status != 403 || !strings.Contains(text, "turn raw message delivery off") {
		t.Errorf("raw: %d %s", status, text)
	}
	if len(l.puts) != 0 || len(aws.confirmed) != 0 {
		t.Errorf("a refused message was answered (%d) or confirmed (%d)", len(l.puts), len(aws.confirmed))
	}
}

// TestSNSElsewhere checks that an SNS in the configuration of the AWS SDKs is trusted like Amazon's, and no other.
func TestSNSElsewhere(t *testing.T) {
	l, aws := newLambda(t), newSNS(t)
	confirmed := make(chan string, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/base/" {
			confirmed <- r.URL.Query().Get("Action") + " " + r.URL.Query().Get("Token")
			return
		}
		_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: aws.certificate})
	}))
	defer elsewhere.Close()
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	t.Setenv("AWS_ENDPOINT_URL_SNS", elsewhere.URL+"/base")
	config, err := pintle.RunConfigFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	server, _ := provide(t, pintle.ServerConfig{
		Handlers: []pintle.Handler{pintle.HandlerFunc(site)},
		Topics:   []string{topic},
		Client:   aws.client, SNSEndpoint: config.SNSEndpoint,
	})
	send := func(kind, body string) (int, string) {
		return post(t, server.URL, "", body, func(h http.Header) { h.Set("x-amz-sns-message-type", kind) })
	}
	m := map[string]any{"Message": "m", "Token": "t0k3n", "SubscribeURL": elsewhere.URL + "/base/?Action=x", "SigningCertURL": elsewhere.URL + "/base/c.pem"}
	if status, text := send("SubscriptionConfirmation", aws.message(t, "SubscriptionConfirmation", "1", m, nil)); status != 200 {
		t.Fatalf("confirmation: %d %s", status, text)
	}
	if got := <-confirmed; got != "ConfirmSubscription t0k3n" {
		t.Errorf("confirmed %s", got)
	}
	m = map[string]any{"Message": l.event(t, pintle.Create, "", "", "")}
	for url, want := range map[string]int{
		"https://sns.us-east-1.amazonaws.com/cert.pem": 200, elsewhere.URL + "/base/c.pem": 200,
		elsewhere.URL + "/c.pem": 403, elsewhere.URL + "/based/c.pem": 403, "http://127.0.0.1:1/c.pem": 403,
		strings.Replace(elsewhere.URL, "http:", "https:", 1) + "/base/c.pem": 403,
	} {
		m["SigningCertURL"] = url
		status, text := send("Notification", aws.message(t, "Notification", "2", m, nil))
		if status != want {
			t.Errorf("a certificate at %s: %d %s, want %d", url, status, text, want)
		}
		if status == 200 {
			<-l.puts
		}
	}
	_, err = pintle.NewServer(pintle.ServerConfig{
		Handlers: []pintle.Handler{pintle.HandlerFunc(site)}, Topics: []string{topic}, SNSEndpoint: "sns:hunter2",
	})
	if err == nil || !strings.Contains(err.Error(), "the endpoint of SNS is not an http(s) URL") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("no URL: %v", err)
	}
}
