package native_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
)

func TestParseSignal(t *testing.T) {
	long := strings.Repeat("é", native.MaxSignalData)
	for _, test := range []struct {
		name, body string
		want       store.Signal
	}{
		{"success", `{"Status": "SUCCESS", "Reason": "done", "UniqueId": "ID1", "Data": "Application has completed."}`,
			store.Signal{ID: "ID1", Reason: "done", Data: "Application has completed."}},
		{"failure", `{"Status": "FAILURE", "UniqueId": "ID1"}`, store.Signal{ID: "ID1", Failed: true}},
		{"scalars", `{"Status": "SUCCESS", "UniqueId": 10000000, "Data": true, "Reason": null, "More": []}`, store.Signal{ID: "10000000", Data: "true"}},
		{"control characters", `{"Status": "SUCCESS", "UniqueId": "a\u0000b", "Reason": "\u001b[31mred\n"}`, store.Signal{ID: "ab", Reason: "[31mred\n"}},
		{"longest", `{"Status": "SUCCESS", "UniqueId": "` + strings.Repeat("i", native.MaxSignalID) + `", "Data": "` + long + `"}`,
			store.Signal{ID: strings.Repeat("i", native.MaxSignalID), Data: long}},
	} {
		got, err := native.ParseSignal([]byte(test.body))
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, (-want +got):\n%s", test.name, err, diff)
		}
	}
}

func TestParseSignalRefuses(t *testing.T) {
	const lengths = "is longer than it may be: UniqueId has at most 256 characters, Reason and Data have 4096"
	for body, want := range map[string]string{
		`SUCCESS`:                                `the signal must be a JSON object as {"Status": "SUCCESS", "UniqueId": "…", "Reason": "…", "Data": "…"}`,
		`[]`:                                     `the signal must be a JSON object as {"Status": "SUCCESS", "UniqueId": "…", "Reason": "…", "Data": "…"}`,
		`{"Status": "success", "UniqueId": "a"}`: "the signal's Status must be SUCCESS or FAILURE",
		`{"UniqueId": "a"}`:                      "the signal's Status must be SUCCESS or FAILURE",
		`{"Status": "SUCCESS"}`:                  "the signal needs a UniqueId, which distinguishes it from other signals to this URL",
		`{"Status": "SUCCESS", "UniqueId": "\u0000"}`:                                         "the signal needs a UniqueId, which distinguishes it from other signals to this URL",
		`{"Status": "SUCCESS", "UniqueId": "a", "Data": {}}`:                                  "the signal's Data must be a string",
		`{"Status": "SUCCESS", "UniqueId": "` + strings.Repeat("i", 257) + `"}`:               "the signal's UniqueId " + lengths,
		`{"Status": "SUCCESS", "UniqueId": "a", "Data": "` + strings.Repeat("x", 4097) + `"}`: "the signal's Data " + lengths,
		strings.Repeat(" ", native.MaxSignal+1):                                               "the signal is longer than 16384 bytes",
	} {
		if _, err := native.ParseSignal([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("%.60s: error %v, want %s", body, err, want)
		}
	}
}

func FuzzParseSignal(f *testing.F) {
	f.Add([]byte(`{"Status": "SUCCESS", "Reason": "done", "UniqueId": "ID1", "Data": "x"}`))
	f.Add([]byte(`{"Status": "FAILURE", "UniqueId": "\u0000\ud800"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := native.ParseSignal(body)
		if err != nil {
			return
		}
		for _, text := range []string{s.ID, s.Reason, s.Data} {
			if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b") || utf8.RuneCountInString(text) > native.MaxSignalData {
				t.Errorf("%q was let in", text)
			}
		}
		if s.ID == "" || !native.Room(nil, s) {
			t.Errorf("%+v was let in", s)
		}
	})
}
