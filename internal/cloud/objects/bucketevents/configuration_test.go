package bucketevents_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
)

func document(inside string) []byte {
	return []byte(`<NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` + inside + `</NotificationConfiguration>`)
}

// function returns a configuration for a function, with filter rules as pairs of a name and a value.
func function(event string, rules ...string) string {
	text := "<CloudFunctionConfiguration><CloudFunction>arn:aws:lambda:eu-west-1:111122223333:function:f</CloudFunction><Event>" + event + "</Event>"
	if len(rules) > 0 {
		text += "<Filter><S3Key>"
		for i := 0; i < len(rules); i += 2 {
			text += "<FilterRule><Name>" + rules[i] + "</Name><Value>" + rules[i+1] + "</Value></FilterRule>"
		}
		text += "</S3Key></Filter>"
	}
	return text + "</CloudFunctionConfiguration>"
}

func TestValidate(t *testing.T) {
	const created = "s3:ObjectCreated:*"
	for name, test := range map[string]struct{ inside, want string }{
		"empty":                  {"", ""},
		"the event bus":          {"<EventBridgeConfiguration/>", ""},
		"an unknown event":       {function("s3:ObjectEaten"), "The event 's3:ObjectEaten' is not supported for notifications"},
		"no event":               {strings.Replace(function("x"), "<Event>x</Event>", "", 1), "at least one event"},
		"an unknown rule":        {function(created, "infix", "x"), "either prefix or suffix"},
		"two prefixes":           {function(created, "prefix", "a", "prefix", "b"), "more than one prefix rule"},
		"a long value":           {function(created, "prefix", strings.Repeat("x", 1025)), "cannot exceed 1024"},
		"the same":               {function(created) + function(created), "ambiguously defined"},
		"one within the other":   {function(created) + function("s3:ObjectCreated:Put"), "ambiguously defined"},
		"a prefix of the other":  {function(created, "prefix", "a") + function(created, "prefix", "a/b"), "ambiguously defined"},
		"a suffix overlaps":      {function(created, "prefix", "a", "suffix", "g") + function(created, "suffix", ".jpg"), "ambiguously defined"},
		"other prefixes":         {function(created, "prefix", "a") + function(created, "prefix", "b"), ""},
		"other suffixes":         {function(created, "suffix", ".jpg") + function(created, "suffix", ".png"), ""},
		"prefixes, no suffixes":  {function(created, "prefix", "a", "suffix", ".jpg") + function(created, "prefix", "a", "suffix", ".png"), ""},
		"other events":           {function("s3:ObjectCreated:Put") + function("s3:ObjectCreated:Copy"), ""},
		"names in capitals":      {function(created, "Prefix", "a"), ""},
		"an id that is repeated": {strings.Repeat(strings.Replace(function("s3:ObjectAcl:Put"), "<CloudFunction>", "<Id>i</Id><CloudFunction>", 1), 2), "IDs must be unique"},
	} {
		_, err := bucketevents.Parse(document(test.inside))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestXML checks that a written configuration can be parsed, and that destinations get IDs.
func TestXML(t *testing.T) {
	c, err := bucketevents.Parse(document(function("s3:ObjectCreated:*", "prefix", "a&amp;b") + "<EventBridgeConfiguration></EventBridgeConfiguration>"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.XML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := bucketevents.Parse([]byte(text))
	if err != nil || again.EventBridge == nil || len(again.Functions) != 1 || again.Functions[0].ID == "" || again.Functions[0].Filter.Rules[0].Value != "a&b" {
		t.Errorf("%+v, error %v\n%s", again, err, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(document(function("s3:ObjectCreated:*", "prefix", "a")))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := bucketevents.Parse(text)
		if err != nil {
			return
		}
		written, err := c.XML()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bucketevents.Parse([]byte(written)); err != nil {
			t.Errorf("%v\n%s", err, written)
		}
	})
}
