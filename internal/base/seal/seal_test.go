package seal_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/seal"
)

var (
	older = []byte(strings.Repeat("o", seal.MinSecret))
	newer = []byte(strings.Repeat("n", seal.MinSecret))
)

func box(t testing.TB, secrets ...[]byte) *seal.Box {
	b, err := seal.New(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSeal(t *testing.T) {
	record := []byte("hunter2 hunter2 hunter2")
	before, both := box(t, older), box(t, newer, older)
	sealed := before.Seal(record, "here")
	if bytes.Contains(sealed, []byte("hunter2")) || len(sealed) != len(record)+seal.Overhead {
		t.Errorf("sealed: %q", sealed)
	}
	if bytes.Equal(sealed, before.Seal(record, "here")) {
		t.Error("the same record looks the same")
	}
	moved := append([]byte(nil), sealed...)
	moved[len(moved)-1] ^= 1
	for name, c := range map[string]struct {
		box    *seal.Box
		sealed []byte
		place  string
		want   error
	}{
		"opened":                 {before, sealed, "here", nil},
		"opened by an older key": {both, sealed, "here", nil},
		"another place":          {before, sealed, "there", seal.ErrSealed},
		"changed":                {before, moved, "here", seal.ErrSealed},
		"cut":                    {before, sealed[:seal.Overhead-1], "here", seal.ErrSealed},
		"nothing":                {before, nil, "here", seal.ErrSealed},
		"another version":        {before, append([]byte{9}, sealed[1:]...), "here", seal.ErrSealed},
		"a newer key":            {before, both.Seal(record, "here"), "here", seal.ErrKey},
	} {
		got, err := c.box.Open(c.sealed, c.place)
		if !errors.Is(err, c.want) || err == nil && !bytes.Equal(got, record) {
			t.Errorf("%s: %q, %v, want %v", name, got, err, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	for name, secrets := range map[string][][]byte{"none": nil, "short": {older[1:]}, "second short": {older, newer[1:]}} {
		if _, err := seal.New(secrets...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzOpen(f *testing.F) {
	b := box(f, older)
	f.Add([]byte{})
	f.Add(b.Seal([]byte("record"), "elsewhere"))
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if record, err := b.Open(sealed, "here"); err == nil {
			t.Errorf("opened as %q", record)
		}
	})
}
