package wire

import (
	"strings"
	"testing"
)

func TestPlanned(t *testing.T) {
	for _, p := range []Planned{
		{Change: InPlace}, {Change: Replace, Reason: "the region changes"}, {Change: Refuse, Reason: "no quota"},
		{Change: Refuse, Reason: strings.Repeat("<", 1024)}, {Error: "panic"},
	} {
		text, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParsePlanned(text); err != nil || got != p {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
	if text, err := (Planned{Change: "Maybe"}).Encode(); err == nil {
		t.Errorf("an unknown change is written: %s", text)
	}
	for _, text := range []string{
		``, `{}`, `null`, `[]`, `{"PintlePlan": null}`, `{"PintlePlan": "InPlace"}`, `{"PintlePlan": {}}`, `{"PintlePlan": {"change": "inplace"}}`,
		`{"PintlePlan": {"change": 1}}`, `{"PintlePlan": {"change": "InPlace", "reason": "` + strings.Repeat("x", MaxResponse) + `"}}`,
	} {
		if got, err := ParsePlanned([]byte(text)); err == nil {
			t.Errorf("%.60s is read as %+v", text, got)
		}
	}
	if got, err := ParsePlanned([]byte(`{"PintlePlan": {"change": "Refuse", "reason": "a\u0001b"}}`)); err != nil || got.Reason != CleanText("a\x01b") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A Plan has no response URL, and no physical ID if nothing exists.
func TestParsePlanRequest(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"RequestType": "Plan", "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/s/1", "RequestId": "r", "LogicalResourceId": "L", "ResourceProperties": {}}`:   true,
		`{"RequestType": "Create", "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/s/1", "RequestId": "r", "LogicalResourceId": "L", "ResourceProperties": {}}`: false,
		`{"RequestType": "Plan", "RequestId": "r", "LogicalResourceId": "L"}`:                                                                                                   false,
	} {
		r, err := ParseRequest([]byte(text))
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		if !ok {
			continue
		}
		again, err := r.Encode()
		if err != nil || strings.Contains(string(again), "ResponseURL") {
			t.Errorf("%s, %v", again, err)
		}
	}
	if Plan.Valid() {
		t.Error("a Plan counts as a request of the services")
	}
}

func FuzzParsePlanned(f *testing.F) {
	f.Add([]byte(`{"PintlePlan": {"change": "Replace", "reason": "r"}}`))
	f.Add([]byte(`{"PintlePlan": {"error": "e"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePlanned(text)
		if err != nil {
			return
		}
		if _, err := p.Encode(); err != nil {
			t.Errorf("%+v is read and cannot be written: %v", p, err)
		}
	})
}
