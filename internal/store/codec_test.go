package store_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

func TestCodec(t *testing.T) {
	codec := store.NewCodec(newKeys(t, key("a", 1)))
	row := store.InstanceBody{
		Type: "Custom::Thing", Properties: value.Object(value.Member{Key: "P", Value: value.SecretStr("hunter2\n")}),
		Data: value.Items(value.Num("1e+07"), value.Str("<line\nbreak>")),
	}
	plain, values, err := codec.Encode(&row)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(append(plain, values...), []byte("hunter2")) {
		t.Errorf("a secret is in clear: %s %s", plain, values)
	}
	var got store.InstanceBody
	if err := codec.Decode(&got, plain, values); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(row, got); diff != "" || !got.Properties.HasSecret() || got.Data.HasSecret() {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}

	// A row from before Attempted and the later values were added, and one from a future version with another value.
	first, _, _ := bytes.Cut(values, []byte("\n"))
	got = store.InstanceBody{}
	if err := codec.Decode(&got, plain, first); err != nil || !got.Properties.Equal(row.Properties) || !got.Data.IsNull() {
		t.Errorf("an older row: %+v, error %v", got, err)
	}
	if err := codec.Decode(&got, plain, append(values, "\nnull\nnull\nnull"...)); err == nil || !strings.Contains(err.Error(), "more than the 8 values") {
		t.Errorf("a newer row: error %v", err)
	}
}

// TestCodecTags checks that an empty list of tags differs from unknown tags, which rows of versions without tags have.
func TestCodecTags(t *testing.T) {
	codec := store.NewCodec(newKeys(t, key("a", 1)))
	for _, tags := range [][]store.Tag{nil, {}, {{Key: "k", Value: "v"}}} {
		plain, values, err := codec.Encode(&store.InstanceBody{Type: "AWS::SNS::Topic", Properties: value.Object(), Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		if stored := bytes.Contains(plain, []byte(`"tags"`)); stored != (tags != nil) {
			t.Errorf("the row of %v is %s", tags, plain)
		}
		var got store.InstanceBody
		if err := codec.Decode(&got, plain, values); err != nil || (got.Tags == nil) != (tags == nil) || len(got.Tags) != len(tags) {
			t.Errorf("%v became %v, %v", tags, got.Tags, err)
		}
	}
}

// TestCodecPending checks that Pending is sealed, and that a request without it is encoded as before the field existed.
func TestCodecPending(t *testing.T) {
	codec := store.NewCodec(newKeys(t, key("a", 1)))
	for _, pending := range []value.Value{{}, value.SecretStr(`{"key":"hunter2"}`)} {
		row := store.RequestBody{Region: "r", Properties: value.Object(), Token: value.Str("t"), Pending: pending}
		plain, values, err := codec.Encode(&row)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(values, []byte("\n")) + 1
		if bytes.Contains(values, []byte("hunter2")) || pending.IsNull() != (lines == 3) {
			t.Errorf("with %d values: %s", lines, values)
		}
		var got store.RequestBody
		if err := codec.Decode(&got, plain, values); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row, got); diff != "" || got.Pending.HasSecret() == pending.IsNull() {
			t.Errorf("decoded (-want +got):\n%s", diff)
		}
	}
}

// TestCodecOutside checks that Outside is sealed, and that a revision without it is encoded as before the field
// existed.
func TestCodecOutside(t *testing.T) {
	codec := store.NewCodec(newKeys(t, key("a", 1)))
	for _, outside := range []value.Value{{}, value.Object(value.Member{Key: "imports", Value: value.SecretStr("hunter2")})} {
		revision := store.Revision{Parameters: value.Object(), Outside: outside}
		for _, pair := range [][2]store.Row{
			{&revision, new(store.Revision)},
			{&store.ChangeSetBody{Revision: revision}, new(store.ChangeSetBody)},
		} {
			plain, values, err := codec.Encode(pair[0])
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.Count(values, []byte("\n")) + 1
			if bytes.Contains(values, []byte("hunter2")) || outside.IsNull() != (lines == 1) {
				t.Errorf("with %d values: %s", lines, values)
			}
			if err := codec.Decode(pair[1], plain, values); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		}
	}
}

// TestCodecRemembers decodes the same bytes again: every reader gets its own body, and does not see items that another
// one appends to a list.
func TestCodecRemembers(t *testing.T) {
	codec := store.NewCodec(newKeys(t, key("a", 1)))
	body := store.InstanceBody{Type: "T", Properties: value.Str("p"), Signals: []store.Signal{{ID: "1"}, {ID: "2"}, {ID: "3"}}}
	plan := store.StepPlan{Type: "T", NewNeeds: []wire.LogicalID{"A", "B", "C"}}
	for _, again := range []bool{false, true, true} {
		var b store.InstanceBody
		var p store.StepPlan
		var r store.RequestBody
		for row, from := range map[store.Row]store.Row{&b: &body, &p: &plan, &r: &store.RequestBody{Region: "r"}} {
			plain, values, err := codec.Encode(from)
			if err != nil {
				t.Fatal(err)
			}
			if err := codec.Decode(row, plain, values); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(body, b) + cmp.Diff(plan, p); diff != "" || r.Region != "r" {
			t.Errorf("decoded again %t (-want +got):\n%s", again, diff)
		}
		b.Type, b.Properties, p.Type, r.Region = "changed", value.Str("changed"), "changed", "changed"
		b.Signals = append(b.Signals, store.Signal{ID: "4"})
		p.NewNeeds = append(p.NewNeeds, "D")
	}
}

// TestCodecMemoryIsBounded decodes more bodies than the cache holds, and then the first one again.
func TestCodecMemoryIsBounded(t *testing.T) {
	codec := store.NewCodec(newKeys(t, key("a", 1)))
	for n := range 300 {
		from := store.RequestBody{Region: fmt.Sprint(n%299, strings.Repeat("x", 64<<10))}
		plain, values, err := codec.Encode(&from)
		if err != nil {
			t.Fatal(err)
		}
		var got store.RequestBody
		if err := codec.Decode(&got, plain, values); err != nil || got.Region != from.Region {
			t.Fatalf("body %d: error %v", n, err)
		}
	}
	if size := store.Remembered(codec); size > 2*store.MaxDecodedBytes {
		t.Errorf("%d bytes are remembered", size)
	}
}

func TestCodecProbe(t *testing.T) {
	old, other := store.NewCodec(newKeys(t, key("a", 1))), store.NewCodec(newKeys(t, key("b", 2)))
	sealed, err := old.Probe()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, sealed string
		codec        store.Codec
		want         string
	}{
		{"same keys", sealed, old, ""},
		{"one more key", sealed, store.NewCodec(newKeys(t, key("b", 2), key("a", 1))), ""},
		{"other keys", sealed, other, `key "a"`},
		{"no keys", sealed, store.Codec{}, "needs keys"},
		{"no probe", "pintle", old, "not the keys"},
	} {
		err := test.codec.Check(test.sealed)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func FuzzCodecDecode(f *testing.F) {
	keys, err := store.NewKeys(key("a", 1))
	if err != nil {
		f.Fatal(err)
	}
	codec := store.NewCodec(keys)
	plain, values, err := codec.Encode(&store.RequestBody{Properties: value.Object(value.Member{Key: "P", Value: value.SecretStr("s")})})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain, values)
	f.Add([]byte(`{"timeout":1}`), []byte("{}\nnull"))
	f.Add([]byte(`{}`), []byte("\n\n"))
	f.Fuzz(func(t *testing.T, plain, values []byte) {
		var row, again store.RequestBody
		if codec.Decode(&row, plain, values) != nil {
			return
		}
		plain, values, err := codec.Encode(&row)
		if err != nil {
			t.Fatal(err)
		}
		if err := codec.Decode(&again, plain, values); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row, again); diff != "" {
			t.Errorf("twice through (-first +second):\n%s", diff)
		}
	})
}
