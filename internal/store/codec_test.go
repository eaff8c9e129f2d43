package store_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/value"
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

	// A row from before Attempted and all after it were added, and one from after another value was.
	first, _, _ := bytes.Cut(values, []byte("\n"))
	got = store.InstanceBody{}
	if err := codec.Decode(&got, plain, first); err != nil || !got.Properties.Equal(row.Properties) || !got.Data.IsNull() {
		t.Errorf("an older row: %+v, error %v", got, err)
	}
	if err := codec.Decode(&got, plain, append(values, "\nnull"...)); err == nil || !strings.Contains(err.Error(), "more than the 6 values") {
		t.Errorf("a newer row: error %v", err)
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
