package store_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
)

func key(id string, fill byte) store.Key {
	return store.Key{ID: id, Secret: bytes.Repeat([]byte{fill}, store.KeySize)}
}

func newKeys(t *testing.T, keys ...store.Key) *store.Keys {
	t.Helper()
	k, err := store.NewKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeysSeal(t *testing.T) {
	old, both := newKeys(t, key("old", 1)), newKeys(t, key("new", 2), key("old", 1))
	for _, clear := range []string{"", "hunter2", strings.Repeat("é\x00", 5000)} {
		for name, sealer := range map[string]*store.Keys{"v1.old.": old, "v1.new.": both} {
			box, err := sealer.Seal(clear)
			if err != nil || !strings.HasPrefix(box, name) || clear != "" && strings.Contains(box, clear) {
				t.Fatalf("sealed as %q, error %v", box, err)
			}
			if again, _ := sealer.Seal(clear); again == box {
				t.Error("two seals of one text are the same")
			}
			if got, err := both.Open(box); err != nil || got != clear {
				t.Errorf("opened as %q, error %v", got, err)
			}
		}
	}
}

func TestKeysOpenErrors(t *testing.T) {
	keys, other, forged := newKeys(t, key("a", 1)), newKeys(t, key("b", 2)), newKeys(t, key("a", 3))
	box := func(k *store.Keys) string { s, _ := k.Seal("hunter2"); return s }
	for _, test := range []struct{ sealed, want string }{
		{"", "is not"},
		{"hunter2", "is not"},
		{"v1.a", "is not"},
		{"v2.a.AAAA", `format "v2"`},
		{box(other), `key "b", which is not among the keys here (a)`},
		{box(forged), "another key of the id a, or damaged"},
		{"v1.a.!", "damaged"},
		{"v1.a.", "damaged"},
		{box(keys)[:20], "damaged"},
	} {
		clear, err := keys.Open(test.sealed)
		if err == nil || clear != "" || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q opened as %q, error %v; want %q", test.sealed, clear, err, test.want)
		}
	}
}

func TestKeysNeverPrinted(t *testing.T) {
	secret := []byte("0123456789abcdefghijklmnopqrstuv")
	k := store.Key{ID: "a", Secret: secret}
	keys := newKeys(t, k)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		for _, printed := range []any{k, &k, keys, []store.Key{k}} {
			text := fmt.Sprintf(verb, printed)
			for _, form := range []string{"%s", "%x", "%d", "%v"} {
				if strings.Contains(text, strings.Trim(fmt.Sprintf(form, secret), "[]")) {
					t.Errorf("%s of %T shows the key: %s", verb, printed, text)
				}
			}
		}
	}
}

func TestNewKeysErrors(t *testing.T) {
	for name, keys := range map[string][]store.Key{
		"none": nil, "short": {{ID: "a", Secret: []byte("short")}}, "twice": {key("a", 1), key("a", 2)},
		"dot": {key("a.b", 1)}, "empty id": {key("", 1)}, "long id": {key(strings.Repeat("a", 33), 1)},
	} {
		if _, err := store.NewKeys(keys...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestOpenKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var opened [20]*store.Keys
	var all sync.WaitGroup
	for i := range opened {
		all.Go(func() {
			var err error
			if opened[i], err = store.OpenKeys(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	box, err := opened[0].Seal("hunter2")
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range opened {
		if clear, err := keys.Open(box); clear != "hunter2" {
			t.Errorf("processes that began together have different keys: %v", err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("files left beside it: %v", entries)
	}
}

func TestOpenKeysErrors(t *testing.T) {
	good := "a " + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, store.KeySize)) + "\n"
	for _, test := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"good", "# comment\n\n" + good, 0o600, ""},
		{"read only", good, 0o400, ""},
		{"readable by a group", good, 0o640, "chmod 600"},
		{"readable by all", good, 0o604, "chmod 600"},
		{"empty", "", 0o600, "no key in it"},
		{"no id", good[2:], 0o600, "line 1"},
		{"short", "# c\na c2hvcnQ=\n", 0o600, "line 2: key a"},
		{"no base64", "a secret!\n", 0o600, "line 1: key a"},
		{"twice", good + good, 0o600, "two of that id"},
		{"long", strings.Repeat("#\n", 40000), 0o600, "longer than"},
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		_, err := store.OpenKeys(path)
		switch {
		case test.want == "" && err == nil:
		case test.want == "" || err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path):
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		case strings.Contains(err.Error(), "secret!") || strings.Contains(err.Error(), good[2:40]):
			t.Errorf("%s: the error shows the key: %v", test.name, err)
		}
	}
	dir := t.TempDir()
	if _, err := store.OpenKeys(filepath.Join(dir, "no", "key")); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := store.OpenKeys(dir); err == nil {
		t.Error("a directory was read as a key file")
	}
}

func FuzzKeysOpen(f *testing.F) {
	keys, err := store.NewKeys(key("a", 1))
	if err != nil {
		f.Fatal(err)
	}
	box, _ := keys.Seal("hunter2")
	for _, seed := range []string{box, "", "v1.a.", "v1..", box[:30]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sealed string) {
		clear, err := keys.Open(sealed)
		if err == nil && sealed != box && clear != "hunter2" {
			t.Errorf("%q opened as %q without the key", sealed, clear)
		}
	})
}

func TestParseKeys(t *testing.T) {
	one, two := "a "+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, store.KeySize)), "b "+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, store.KeySize))
	for text, want := range map[string]string{
		one:                                "a",
		two + "," + one:                    "b a",
		two + ", " + one + "\n":            "b a",
		"# a, b\n" + one + "\n" + two:      "a b",
		one + "," + one:                    "two of that id",
		"":                                 "no key",
		"a b,":                             "line 1: key a",
		strings.Repeat("#\n", 40000) + one: "longer than",
	} {
		keys, err := store.ParseKeys(text)
		switch {
		case err == nil && strings.Join(keys.IDs(), " ") != want:
			t.Errorf("%q: keys %v, want %q", text, keys, want)
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%.100q: error %v, want %q", text, err, want)
		}
	}
}

func TestEditKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if _, err := store.OpenKeys(path); err != nil {
		t.Fatal(err)
	}
	first, err := store.KeyIDs(path)
	if err != nil || len(first) != 1 {
		t.Fatalf("keys %v, error %v", first, err)
	}
	if err := os.Chmod(path, 0o400); err != nil { // the mode is kept
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { // a concurrent reader sees the old file or the new one
			if _, err := store.OpenKeys(path); err != nil {
				t.Error(err)
			}
		})
	}
	err = store.EditKeys(path, func(keys []store.Key) ([]store.Key, error) { return append([]store.Key{key("new", 1)}, keys...), nil })
	if err != nil {
		t.Fatal(err)
	}
	all.Wait()
	refusal := errors.New("no")
	for name, edit := range map[string]func([]store.Key) ([]store.Key, error){
		"refused": func([]store.Key) ([]store.Key, error) { return nil, refusal },
		"empty":   func([]store.Key) ([]store.Key, error) { return nil, nil },
		"twice":   func(keys []store.Key) ([]store.Key, error) { return append(keys, keys[0]), nil },
	} {
		if err := store.EditKeys(path, edit); err == nil {
			t.Errorf("%s: it was done", name)
		}
	}
	if ids, err := store.KeyIDs(path); err != nil || strings.Join(ids, " ") != "new "+first[0] {
		t.Errorf("keys %v, error %v", ids, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("files left beside it: %v", entries)
	}
	if err := store.EditKeys(path+".no", nil); err == nil {
		t.Error("a file that is not there was edited")
	}
}
