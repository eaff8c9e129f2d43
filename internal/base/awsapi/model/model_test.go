package model_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestBundleMatchesSource checks that the bundle matches SOURCE and is accompanied by the license of its source.
func TestBundleMatchesSource(t *testing.T) {
	packed, err := os.ReadFile("bundle/models.zip")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("bundle/SOURCE")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("models.zip sha256 %x\n", sha256.Sum256(packed)); !strings.Contains(string(source), want) {
		t.Errorf("SOURCE has not %s%s", want, source)
	}
	if len(packed) > 2500<<10 {
		t.Errorf("the bundle has %d bytes", len(packed))
	}
	for name, want := range map[string]string{"LICENSE.txt": "Apache License", "NOTICE": "Botocore\nCopyright"} {
		text, err := os.ReadFile(filepath.Join("bundle", name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	bundle, err := model.Open()
	if err != nil {
		t.Fatal(err)
	}
	operations := 0
	for _, e := range bundle.Entries() {
		s, err := bundle.Service(e)
		if err != nil {
			t.Fatal(err)
		}
		operations += len(s.Operations)
		if s.Metadata.ServiceID != e.ServiceID {
			t.Errorf("%s is %s in the index and %s in its model", e.Name, e.ServiceID, s.Metadata.ServiceID)
		}
	}
	if want := fmt.Sprintf("source %s\nservices %d\noperations %d\n", bundle.Source(), len(bundle.Entries()), operations); !strings.HasPrefix(string(source), want) {
		t.Errorf("SOURCE does not begin with\n%s:\n%s", want, source)
	}
}

// TestBundleIsReproducible checks that the same version of botocore gives the same bundle again.
func TestBundleIsReproducible(t *testing.T) {
	python := require.Python(t, "botocore")
	out, err := exec.CommandContext(t.Context(), python, "-c", "import botocore; print('botocore', botocore.__version__); print(botocore.__path__[0])").Output()
	if err != nil {
		t.Fatal(err)
	}
	installed, folder, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	bundle, err := model.Open()
	if err != nil {
		t.Fatal(err)
	}
	if installed != bundle.Source() {
		t.Skipf("%s is installed, and the bundle is of %s", installed, bundle.Source())
	}
	index, files, err := model.Generate(filepath.Join(folder, "data"), installed)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("bundle/SOURCE")
	if err != nil {
		t.Fatal(err)
	}
	if want := "contents sha256 " + model.Sum(index, files) + "\n"; !strings.Contains(string(source), want) {
		t.Errorf("SOURCE has not %s%s", want, source)
	}
	if diff := cmp.Diff(index.Services, bundle.Entries()); diff != "" {
		t.Errorf("index (-made +bundle):\n%s", diff)
	}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := model.Write(b, index, files); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two bundles of one source differ")
	}
}

const small = `{"metadata":{"serviceId":"My Service","protocol":"json","targetPrefix":"T"},
	"operations":{"Do":{"http":{"method":"POST","requestUri":"/"},"input":{"shape":"In"},"output":{"shape":"Out"}}},
	"shapes":{"In":{"type":"structure","members":{"B":{"shape":"S"},"A":{"shape":"In"},"L":{"shape":"List"}}},"Out":{"type":"structure","members":{}},
		"S":{"type":"string","documentation":"x","enum":["a"]},"T":{"type":"string"},"List":{"type":"list","member":{"shape":"T"}},"Unused":{"type":"list","member":{"shape":"S"}},
		"Failed":{"type":"structure","members":{},"exception":true,"error":{"code":"F"}}}}`

func TestTrim(t *testing.T) {
	s, err := model.Parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	got := model.Trim(s)
	want := map[string]*model.Shape{
		"In": {Type: "structure", Members: model.Members{{Name: "B", Reference: model.Reference{Shape: "$string"}}, {Name: "A", Reference: model.Reference{Shape: "In"}},
			{Name: "L", Reference: model.Reference{Shape: "List"}}}},
		"Out":     {Type: "structure", Members: model.Members{}},
		"List":    {Type: "list", Members: model.Members{}, Member: &model.Reference{Shape: "$string"}},
		"$string": {Type: "string"},
		"Failed":  {Type: "structure", Exception: true, Error: &model.Error{Code: "F"}},
	}
	if diff := cmp.Diff(want, got.Shapes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	write := func(text string, path ...string) {
		t.Helper()
		full := filepath.Join(append([]string{dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(full, ".gz") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			text = b.String()
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("{}", "endpoints.json")
	write(strings.Replace(small, "My Service", "Old", 1), "mine", "2020-01-01", "service-2.json")
	write(small, "mine", "2021-01-01", "service-2.json.gz")
	write("{}", "mine", "2021-01-01", "endpoint-rule-set-1.json")
	write("{}", "mine", "2022-01-01", "paginators-1.json")
	write(`{"merge":{"shapes":{"Out":{"members":{"More":{"shape":"S"}}}}}}`, "mine", "2021-01-01", "service-2.sdk-extras.json")
	o, err := model.OpenOverlay(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Entry{{Name: "mine", ServiceID: "My Service", Version: "2021-01-01"}}
	if diff := cmp.Diff(want, o.Entries()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	s, err := o.Service(want[0])
	if err != nil || len(s.Shapes["Out"].Members) != 1 {
		t.Errorf("%v, %+v", err, s)
	}
	if rules, err := o.Rules(want[0]); err != nil || string(rules) != "{}" {
		t.Errorf("%q, %v", rules, err)
	}
	write("{", "bad", "1", "service-2.json")
	if _, err := model.OpenOverlay(dir); err == nil || !strings.Contains(err.Error(), filepath.Join("bad", "1", "service-2.json")) {
		t.Errorf("%v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":          `{`,
		"no metadata":      `{}`,
		"a shape too few":  strings.Replace(small, `"shape":"T"`, `"shape":"X"`, 1),
		"a type too many":  strings.Replace(small, `"type":"list"`, `"type":"array"`, 1),
		"an input of text": strings.Replace(small, `"input":{"shape":"In"}`, `"input":{"shape":"S"}`, 1),
		"a list of null":   strings.Replace(small, `"member":{"shape":"T"}`, `"member":null`, 1),
		"a null":           strings.Replace(small, `{"type":"string"}`, `null`, 1),
		"members as list":  strings.Replace(small, `"members":{}`, `"members":[]`, 1),
	} {
		if _, err := model.Parse([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzParse checks that every valid description can be trimmed, and that the trimmed one is valid.
func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := model.Parse([]byte(text))
		if err != nil {
			return
		}
		trimmed := model.Trim(s)
		if len(trimmed.Operations) != len(s.Operations) {
			t.Errorf("%d operations of %d", len(trimmed.Operations), len(s.Operations))
		}
	})
}
