package objects_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// begin begins an upload of things/big.
func (w *world) begin(t *testing.T, u objects.Upload) objects.Upload {
	t.Helper()
	u.Key = "big"
	u, err := w.Begin(t.Context(), "things", u)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (w *world) putPart(t *testing.T, u objects.Upload, number int, text string) objects.Given {
	t.Helper()
	info, err := w.PutPart(t.Context(), "things", u.Key, u.ID, number, strings.NewReader(text), objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return objects.Given{Number: number, ETag: info.ETag, Checksum: info.Checksum.Value}
}

func TestUpload(t *testing.T) {
	five := strings.Repeat("5", objects.MinPart)
	tests := []struct {
		name string
		objects.Upload
		want objects.Checksum
	}{
		{name: "plain"},
		{name: "checksum of checksums", Upload: objects.Upload{Algorithm: objects.SHA256},
			want: objects.Checksum{Algorithm: objects.SHA256, Value: "EruqOGfV/Jl2qk2zKraEreh2jDATY4up4OUmLohOuoQ=-2", Composite: true}},
		{name: "checksum of the whole", Upload: objects.Upload{Algorithm: objects.CRC64NVME, Whole: true},
			want: objects.Checksum{Algorithm: objects.CRC64NVME, Value: "AiNnp/HpNNw="}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.make(t, "things")
			test.Attributes = objects.Attributes{ContentType: "text/x", Metadata: map[string]string{"a": "b"}}
			u := w.begin(t, test.Upload)
			w.putPart(t, u, 7, "replaced")
			second := w.putPart(t, u, 7, "end")
			first := w.putPart(t, u, 2, five)
			w.open(t, nil) // another process continues
			list, err := w.Uploads(t.Context(), "things")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]objects.Upload{u}, list); diff != "" {
				t.Error(diff)
			}
			got, err := w.Complete(t.Context(), "things", "big", u.ID, []objects.Given{first, second}, objects.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := objects.Info{Key: "big", Size: objects.MinPart + 3, ETag: `"1f95a52e099ae838e97d33e0956bf137-2"`, Modified: got.Modified,
				Checksum: test.want, Upload: u.ID, Parts: 2, Attributes: test.Attributes}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if text, err := w.read(t, "things", "big"); text != five+"end" || err != nil {
				t.Errorf("%d bytes, %v", len(text), err)
			}
			again, err := w.Complete(t.Context(), "things", "big", u.ID, []objects.Given{first, second}, objects.Options{})
			if diff := cmp.Diff(got, again); diff != "" || err != nil {
				t.Error(diff, err)
			}
			if left := w.files(t, "."); left != 1 {
				t.Errorf("there are %d files, want the object's alone", left)
			}
			if err := w.Abort(t.Context(), "things", "big", u.ID); !errors.Is(err, objects.ErrNoUpload) {
				t.Errorf("aborted what is complete: %v", err)
			}
		})
	}
}

func TestUploadRefused(t *testing.T) {
	w := newWorld(t, func(c *objects.Config) { c.MaxObject = objects.MinPart + 10 })
	w.make(t, "things")
	u := w.begin(t, objects.Upload{Algorithm: objects.CRC32})
	big := w.putPart(t, u, 1, strings.Repeat("x", objects.MinPart+5))
	small, last := w.putPart(t, u, 2, "small"), w.putPart(t, u, 3, "last")
	wrong := objects.Given{Number: 2, ETag: small.ETag, Checksum: "AAAAAA=="}
	refused := errors.New("refused")
	tests := []struct {
		name    string
		id, key string
		given   []objects.Given
		options objects.Options
		want    error
	}{
		{name: "no parts", want: objects.ErrPart},
		{name: "order", given: []objects.Given{small, big}, want: objects.ErrPartOrder},
		{name: "twice", given: []objects.Given{small, small}, want: objects.ErrPartOrder},
		{name: "missing", given: []objects.Given{{Number: 9, ETag: small.ETag}}, want: objects.ErrPart},
		{name: "another tag", given: []objects.Given{{Number: 2, ETag: big.ETag}}, want: objects.ErrPart},
		{name: "another checksum", given: []objects.Given{wrong}, want: objects.ErrPart},
		{name: "too small", given: []objects.Given{small, last}, want: objects.ErrTooSmall},
		{name: "too large", given: []objects.Given{big, last, {Number: 4, ETag: big.ETag}}, want: objects.ErrPart},
		{name: "another key", key: "other", given: []objects.Given{small}, want: objects.ErrNoUpload},
		{name: "another id", id: "../uploads", given: []objects.Given{small}, want: objects.ErrNoUpload},
		{name: "a long id", id: strings.Repeat("i", 5000), given: []objects.Given{small}, want: objects.ErrNoUpload},
		{name: "rejected by Verify", given: []objects.Given{small}, want: refused, options: objects.Options{Verify: func(objects.Sums) error { return refused }}},
		{name: "condition", given: []objects.Given{small}, want: objects.ErrNoObject, options: objects.Options{Condition: objects.Condition{IfMatch: "*"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			key, id := "big", u.ID
			if test.key != "" {
				key = test.key
			}
			if test.id != "" {
				id = test.id
			}
			if _, err := w.Complete(t.Context(), "things", key, id, test.given, test.options); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	w.putPart(t, u, 4, strings.Repeat("y", 6))
	_, parts, err := w.Parts("things", "big", u.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Complete(t.Context(), "things", "big", u.ID, []objects.Given{big, {Number: 4, ETag: parts[3].ETag}}, objects.Options{}); !errors.Is(err, objects.ErrTooLarge) {
		t.Errorf("too large in all: %v", err)
	}
	for _, number := range []int{0, -1, objects.MaxParts + 1} {
		if _, err := w.PutPart(t.Context(), "things", "big", u.ID, number, strings.NewReader(""), objects.Options{}); !errors.Is(err, objects.ErrPart) {
			t.Errorf("part %d: %v", number, err)
		}
	}
	if err := w.Abort(t.Context(), "things", "big", u.ID); err != nil {
		t.Error(err)
	}
	if left := w.files(t, "."); left != 0 {
		t.Errorf("%d files are left", left)
	}
	if _, err := w.PutPart(t.Context(), "things", "big", u.ID, 1, strings.NewReader(""), objects.Options{}); !errors.Is(err, objects.ErrNoUpload) {
		t.Errorf("a part of what is aborted: %v", err)
	}
}
