// Package snstest verifies SNS notifications in tests, independently of the SNS stand-in, as the SNS developer guide
// specifies.
package snstest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Verify checks the signature of a notification with the certificate at its SigningCertURL, and returns its fields.
// Source: SNS developer guide, "Verifying the signatures of Amazon SNS messages". The signed text has a line for each
// name and value of these fields, in byte order.
func Verify(t *testing.T, body []byte) map[string]string {
	t.Helper()
	var document map[string]string
	if err := json.Unmarshal(body, &document); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	response, err := http.Get(document["SigningCertURL"])
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	block, _ := pem.Decode(text)
	if err != nil || response.StatusCode != http.StatusOK || block == nil {
		t.Fatalf("the certificate: %s %v", response.Status, err)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	var canonical strings.Builder
	for _, name := range []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"} {
		if value, ok := document[name]; ok {
			canonical.WriteString(name + "\n" + value + "\n")
		}
	}
	signature, err := base64.StdEncoding.DecodeString(document["Signature"])
	if err != nil {
		t.Fatal(err)
	}
	hash, sum1, sum2 := crypto.SHA1, sha1.Sum([]byte(canonical.String())), sha256.Sum256([]byte(canonical.String()))
	sum := sum1[:]
	if document["SignatureVersion"] == "2" {
		hash, sum = crypto.SHA256, sum2[:]
	}
	if err := rsa.VerifyPKCS1v15(certificate.PublicKey.(*rsa.PublicKey), hash, sum, signature); err != nil {
		t.Errorf("the signature: %v", err)
	}
	return document
}
