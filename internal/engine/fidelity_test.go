package engine_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
)

var fidelities = []engine.Fidelity{engine.FidelityPintle, engine.FidelityAWS}

// TestReasonsAreCleaned checks that no reason contains a response URL, or a character that would make all events
// unreadable, in both modes and from any source.
func TestReasonsAreCleaned(t *testing.T) {
	const url = "https://h/response/k?X-Amz-Signature=abcdef0123456789"
	const said = "\x1b[31mred\x1b[0m\x00: " + url
	for _, fidelity := range fidelities {
		for name, outcome := range map[string]engine.Outcome{
			"refused": {Kind: engine.Refused, Text: said},
			"died":    {Kind: engine.Died, Text: "provider exited", Log: []string{said}, Delivered: true},
			"failed": {Kind: engine.Answered, Delivered: true, Body: []byte(
				`{"Status": "FAILED", "PhysicalResourceId": "c", "Reason": "\u001b[31mred\u001b[0m\u0000: ` + url + `"}`)},
			"invalid": {Kind: engine.Answered, Delivered: true, Body: []byte(
				`{"Status": "\u001b[31mred\u001b[0m ` + url + `", "PhysicalResourceId": "c"}`)},
		} {
			w := newWorld(t, fidelity)
			w.must(w.create(one("")))
			w.must(w.engine.Report(w.ctx, w.take("C").ID, outcome))
			shown := w.shown()
			if !strings.Contains(shown, "CREATE_FAILED") || !strings.Contains(shown, "red") {
				t.Errorf("%s, %s: what was said is not shown:\n%s", fidelity, name, shown)
			}
			if strings.ContainsAny(shown, "\x1b\x00") || strings.Contains(shown, `\x1b`) || strings.Contains(shown, "abcdef") {
				t.Errorf("%s, %s: unfit for people:\n%s", fidelity, name, shown)
			}
		}
	}
}

// TestSecretsAreMaskedInBothModes checks that a value derived from a secret is masked in properties, outputs and
// reasons in both modes.
func TestSecretsAreMaskedInBothModes(t *testing.T) {
	template := body(map[string]string{"C": resource(`"Login": {"Fn::Sub": "user:${P}"}`)}, noEchoP,
		`"Outputs": {"Login": {"Value": {"Fn::Sub": "p=${P}"}}, "Key": {"Value": {"Fn::GetAtt": ["C", "key"]}}}`)
	for _, fidelity := range fidelities {
		w := newWorld(t, fidelity)
		w.must(w.create(template, engine.Parameter{Key: "P", Value: "battery"}))
		w.answer(w.take("C"), success("c")+`, "NoEcho": true, "Data": {"key": "staple"}`)
		shown := w.shown()
		if strings.Contains(shown, "battery") || strings.Contains(shown, "staple") {
			t.Errorf("%s: a secret is shown:\n%s", fidelity, shown)
		}
		if got := w.properties("C")["Login"]; got != "****" {
			t.Errorf("%s: the property is shown as %v", fidelity, got)
		}
		if text := w.stack().OutputValues.String(); !strings.Contains(text, `"Login":"****"`) || !strings.Contains(text, `"Key":"*****"`) {
			t.Errorf("%s: the outputs are shown as %s", fidelity, text)
		}
	}
}
