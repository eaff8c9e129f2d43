package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/wire"
)

const signedURL = "https://h.example/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEX%2F20261121%2Fus-east-1%2Fs3%2Faws4_request" +
	"&X-Amz-Signature=5ec2e7&X-Amz-SignedHeaders=host"

// rosMAC has the length of a signature of ROS.
const rosMAC = "5ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2"

func TestNothingPrintsTheSignature(t *testing.T) {
	request := wire.Request{RequestType: wire.Update, ResponseURL: signedURL, LogicalResourceID: "Site",
		ResourceProperties: json.RawMessage(`{"p":"hunter2"}`)}
	response := wire.Response{Status: wire.Failed, Reason: "put " + signedURL, LogicalResourceID: "Site",
		Data: json.RawMessage(`{"p":"hunter2"}`)}
	refused := &wire.ResponseError{Text: wire.TextTooLong, Reason: "put " + signedURL}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "request", request, "response", response, "error", refused)
	texts := []string{log.String(), refused.Error()}
	for _, v := range []any{request, &request, response, &response} {
		texts = append(texts, fmt.Sprintf("%v", v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v), fmt.Sprintf("%s", v))
	}
	for _, text := range texts {
		if strings.Contains(text, "5ec2e7") || strings.Contains(text, "hunter2") {
			t.Errorf("shows a secret: %s", text)
		}
	}
	if !strings.Contains(texts[0], "Site") {
		t.Errorf("log lacks the resource: %s", texts[0])
	}
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "a plain reason: X-Amz-Signature is missing", "a plain reason: X-Amz-Signature is missing"},
		{"url", "PUT " + signedURL + " failed", "PUT https://h.example/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=REDACTED" +
			"&X-Amz-Signature=REDACTED&X-Amz-SignedHeaders=host failed"},
		{"token", "x-amz-security-token=IQoJ%2Bab%3D%3D&a=1", "x-amz-security-token=REDACTED&a=1"},
		{"json escapes", `"u\u0026X-Amz-Signature=5ec2e7\u0026a=1"`, `"u\u0026X-Amz-Signature=REDACTED\u0026a=1"`},
		{"encoded", "next=http%3A%2F%2Fh%3FX-Amz-Signature%3D5ec2e7%26X-Amz-Credential%3DAK%252F2026%26a", "next=http%3A%2F%2Fh%3FX-Amz-Signature%3DREDACTED%26X-Amz-Credential%3DREDACTED%26a"},
		{"encoded twice", "X-Amz-Signature%253D5ec2e7%2526a", "X-Amz-Signature%253DREDACTED%2526a"},
		{"python", "{'X-Amz-Signature': ['5ec2e7'], 'a': 1}", "{'X-Amz-Signature': ['REDACTED'], 'a': 1}"},
		{"python, pairs", "[('X-Amz-Signature', '5ec2e7'), ('a', '1')]", "[('X-Amz-Signature', 'REDACTED'), ('a', '1')]"},
		{"python, bytes", "{'X-Amz-Signature': [b'5ec2e7']}", "{'X-Amz-Signature': [b'REDACTED']}"},
		{"node", "URLSearchParams { 'X-Amz-Signature' => '5ec2e7', 'a' => '1' }", "URLSearchParams { 'X-Amz-Signature' => 'REDACTED', 'a' => '1' }"},
		{"node, in colour", "\x1b[32m'X-Amz-Signature'\x1b[39m => \x1b[32m'5ec2e7'\x1b[39m", "\x1b[32m'X-Amz-Signature'\x1b[39m => \x1b[32m'REDACTED'\x1b[39m"},
		{"node, its colours cleaned", "'X-Amz-Signature'[39m => [32m'5ec2e7'[39m", "'X-Amz-Signature'[39m => [32m'REDACTED'[39m"},
		{"node, its colours in json", `'X-Amz-Signature'\u001b[39m => \u001b[32m'5ec2e7'`, `'X-Amz-Signature'\u001b[39m => \u001b[32m'REDACTED'`},
		{"control characters", "X-Amz-Signature\x00=\x015ec2e7", "X-Amz-Signature\x00=\x01REDACTED"},
		{"ruby", `{"X-Amz-Signature"=>["5ec2e7"], "a"=>["1"]}`, `{"X-Amz-Signature"=>["REDACTED"], "a"=>["1"]}`},
		{"ruby in json", `{\"X-Amz-Signature\"=\u003e\"5ec2e7\"}`, `{\"X-Amz-Signature\"=\u003e\"REDACTED\"}`},
		{"php", "[X-Amz-Signature] => 5ec2e7\n[a] => 1", "[X-Amz-Signature] => REDACTED\n[a] => 1"},
		{"php, dumped", `["X-Amz-Signature"]=> string(6) "5ec2e7"`, `["X-Amz-Signature"]=> string(6) "REDACTED"`},
		{"archive", `{"name":"X-Amz-Signature","value":"5ec2e7"}`, `{"name":"X-Amz-Signature","value":"REDACTED"}`},
		{"html, numeric", "X-Amz-Signature&#x3D;5ec2e7&amp;a", "X-Amz-Signature&#x3D;REDACTED&amp;a"},
		{"names alone", "requires X-Amz-Signature, X-Amz-Date and X-Amz-Expires", "requires X-Amz-Signature, X-Amz-Date and X-Amz-Expires"},
		{"json in json", `{\"X-Amz-Signature\":\"5ec2e7\"}`, `{\"X-Amz-Signature\":\"REDACTED\"}`},
		{"html", "&amp;X-Amz-Signature=5ec2e7&amp;a", "&amp;X-Amz-Signature=REDACTED&amp;a"},
		{"ros", "POST http://100.100.100.110/cb?stackname=a&expire=1&signature=5ec2e7: refused", "POST http://100.100.100.110/cb?stackname=a&expire=1&signature=REDACTED: refused"},
		{"ros, first", `{"u":"http:\/\/h\/cb?signature=5ec2e7\u0026a=1"}`, `{"u":"http:\/\/h\/cb?signature=REDACTED\u0026a=1"}`},
		{"ros, json escapes", `\u0026signature=5ec2e7\u0026a`, `\u0026signature=REDACTED\u0026a`},
		{"ros, encoded", "http%3A%2F%2Fh%3Fa%3D1%26signature%3D5ec2e7%26b", "http%3A%2F%2Fh%3Fa%3D1%26signature%3DREDACTED%26b"},
		{"ros, python", "{'signature': ['5ec2e7'], 'a': 1}", "{'signature': ['REDACTED'], 'a': 1}"},
		{"ros, node's objects", "{ expire: '1', signature: '" + rosMAC + "' }", "{ expire: '1', signature: 'REDACTED' }"},
		{"ros, go's values", "map[expire:[1] signature:[" + rosMAC + "]]", "map[expire:[1] signature:[REDACTED]]"},
		{"ros, php", "[expire] => 1\n[signature] => " + rosMAC, "[expire] => 1\n[signature] => REDACTED"},
		{"ros only", "signature=" + rosMAC + " is wrong", "signature=REDACTED is wrong"},
		{"a longer one", "signature: " + rosMAC + "5ec2", "signature: " + rosMAC + "5ec2"},
		{"the word", "no signature: it is missing", "no signature: it is missing"},
		{"letters that are s and k where case does not matter", "X-Amz-\u017fignature=5ec2e7&x-AMZ-\u017fecurity-To\u212aen=5ec2e7",
			"X-Amz-\u017fignature=REDACTED&x-AMZ-\u017fecurity-To\u212aen=REDACTED"},
		{"scope only", "X-AMZ-CREDENTIAL=AKIDEX", "X-AMZ-CREDENTIAL=REDACTED"},
		{"again", "X-Amz-Signature=REDACTED&a", "X-Amz-Signature=REDACTED&a"},
	} {
		if got := wire.Redact(tt.in); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestCleanText(t *testing.T) {
	if got, want := wire.CleanText("a\x00\x1b[1m\t\r\n\x7f\uFFFE\uFFFFé\xff😀"), "a[1m\t\r\n\x7fé\uFFFD😀"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("see ", " end", "1234567890abcdef/+=")
	f.Fuzz(func(t *testing.T, before, after, secret string) {
		secret = "S3CR" + url.QueryEscape(secret) + "T"
		plain := "https://h/?X-Amz-Signature=" + secret + "&a=b"
		quoted, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{plain, string(quoted), url.QueryEscape(plain), fmt.Sprintf("%q", plain)} {
			once := wire.Redact(before + form + after)
			if strings.Contains(once, "S3CR") && !strings.Contains(before+after, "S3CR") {
				t.Errorf("kept the secret: %q", once)
			}
			if twice := wire.Redact(once); twice != once {
				t.Errorf("changes twice: %q, %q", once, twice)
			}
		}
	})
}
