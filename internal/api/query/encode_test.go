package query

import (
	"encoding/xml"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

type output struct {
	common
	Name     string
	Reason   string `query:"StatusReason,omitempty"`
	Physical *string
	Count    int
	Some     int `query:",omitempty"`
	Enabled  bool
	Extra    bool `query:",omitempty"`
	Created  time.Time
	Deleted  *time.Time
	Tags     []tag
	Outputs  []tag `query:",omitempty"`
	Names    []string
	Rollback struct {
		Minutes int `query:",omitempty"`
	}
	Drift *struct{ Status string }
	Map   []pair `query:"Attributes,entries,omitempty"`
}

func TestEncode(t *testing.T) {
	at := time.Date(2026, 11, 21, 11, 38, 42, 123_999_999, time.FixedZone("", 3600))
	tests := []struct {
		name string
		out  output
		want string
	}{
		{"empty", output{}, "<Name/><Count>0</Count><Enabled>false</Enabled><Tags/><Names/><Rollback/>"},
		{"full", output{
			common: common{Token: new("t")}, Name: "n", Reason: "r", Physical: new(""), Count: -1, Some: 2, Enabled: true, Extra: true,
			Created: at, Deleted: &at, Tags: []tag{{"k", ""}}, Outputs: []tag{{"a", "b"}}, Names: []string{"x", ""},
			Rollback: struct {
				Minutes int `query:",omitempty"`
			}{3}, Drift: &struct{ Status string }{"NOT_CHECKED"}, Map: []pair{{"k", "v"}},
		}, "<ClientRequestToken>t</ClientRequestToken><Name>n</Name><StatusReason>r</StatusReason><Physical/><Count>-1</Count><Some>2</Some>" +
			"<Enabled>true</Enabled><Extra>true</Extra><Created>2026-11-21T10:38:42.123Z</Created><Deleted>2026-11-21T10:38:42.123Z</Deleted>" +
			"<Tags><member><Key>k</Key><Value/></member></Tags><Outputs><member><Key>a</Key><Value>b</Value></member></Outputs>" +
			"<Names><member>x</member><member/></Names><Rollback><Minutes>3</Minutes></Rollback><Drift><Status>NOT_CHECKED</Status></Drift>" +
			"<Attributes><entry><key>k</key><value>v</value></entry></Attributes>"},
		{"escapes", output{Name: "<a href=\"x\">&amp;</a>\r\n\tb\x1b[31m\x00\x7f\ufffe\xff😀"},
			"<Name>&lt;a href=&quot;x&quot;&gt;&amp;amp;&lt;/a&gt;&#xD;\n\tb[31m\x7f\uFFFD😀</Name><Count>0</Count><Enabled>false</Enabled><Tags/><Names/><Rollback/>"},
	}
	s := shapes{}.root(reflect.TypeFor[output]())
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := string(encodeReply("Get", "urn:x&y", "id-1", s, reflect.ValueOf(test.out)))
			want := `<GetResponse xmlns="urn:x&amp;y"><GetResult>` + test.want + `</GetResult><ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></GetResponse>`
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeNoResult(t *testing.T) {
	const metadata = `<ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata></DoResponse>`
	if got := string(encodeReply("Do", "urn:x", "id-1", nil, reflect.Value{})); got != `<DoResponse xmlns="urn:x">`+metadata {
		t.Errorf("no result: %s", got)
	}
	type empty struct{}
	s := shapes{}.root(reflect.TypeFor[empty]())
	if got := string(encodeReply("Do", "urn:x", "id-1", s, reflect.ValueOf(empty{}))); got != `<DoResponse xmlns="urn:x"><DoResult/>`+metadata {
		t.Errorf("empty result: %s", got)
	}
}

// FuzzEncodeText checks that the document is well-formed for any text, and contains the text except characters that XML
// does not allow.
func FuzzEncodeText(f *testing.F) {
	f.Add("a & b <c> ]]> \r\n \x1b[0m \xff \uffff")
	f.Fuzz(func(t *testing.T, text string) {
		document := encodeError("urn:x", "id-1", Validation("%s", text))
		var parsed struct {
			Message string `xml:"Error>Message"`
		}
		if err := xml.Unmarshal(document, &parsed); err != nil {
			t.Fatalf("%v: %s", err, document)
		}
		var want strings.Builder
		for i, c := range text {
			if c == utf8.RuneError {
				want.WriteRune(c) // a replaced byte, or the character itself
			} else if c >= ' ' && c != 0xFFFE && c != 0xFFFF || strings.ContainsRune("\t\n\r", c) {
				want.WriteString(text[i : i+utf8.RuneLen(c)])
			}
		}
		if parsed.Message != want.String() {
			t.Errorf("read back %q, want %q", parsed.Message, want.String())
		}
	})
}
