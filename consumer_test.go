package pintle_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConsumer checks that a program which imports this package, or a package that keeps its waits, needs no other
// module: after go mod tidy, go.sum has only the two lines of this one. The proxy in the test has no other module and the
// cache is empty, so any other requirement would fail. The packages' tests count too.
func TestConsumer(t *testing.T) {
	const module, version = "github.com/pintle-dev/pintle", "v0.0.1"
	proxy, consumer, cache := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(proxy, module, "@v", version)
	write(at+".mod", string(mod))
	write(at+".info", `{"Version":"`+version+`","Time":"2026-01-02T03:04:05Z"}`)
	write(at+".zip", moduleZip(t, module+"@"+version))
	for _, also := range []string{"", "statemachine", "waiter"} {
		t.Run("with "+also, func(t *testing.T) {
			write(filepath.Join(consumer, "go.mod"), "module example.com/provider\n\ngo 1.26.0\n\nrequire "+module+" "+version+"\n")
			imports := "import \"" + module + "\"\n"
			if also != "" {
				imports += "import _ \"" + module + "/" + also + "\"\n"
			}
			write(filepath.Join(consumer, "main.go"), "package main\n\n"+imports+"\nfunc main() { pintle.Main() }\n")
			write(filepath.Join(consumer, "go.sum"), "")
			tidy := exec.Command("go", "mod", "tidy")
			tidy.Dir = consumer
			tidy.Env = append(os.Environ(), "GOPROXY=file://"+filepath.ToSlash(proxy), "GOMODCACHE="+cache, "GOFLAGS=-modcacherw",
				"GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOPRIVATE=", "GONOPROXY=")
			if out, err := tidy.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			sum, err := os.ReadFile(filepath.Join(consumer, "go.sum"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(sum), "\n") != 2 || strings.Count(string(sum), module+" "+version) != 2 {
				t.Errorf("go.sum:\n%s", sum)
			}
		})
	}
}

// moduleZip packs the module as a proxy does, without nested modules.
func moduleZip(t *testing.T, prefix string) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(path, "go.mod"))
			if path != "." && (nested == nil || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if name := d.Name(); !strings.HasSuffix(name, ".go") && name != "go.mod" && name != "LICENSE" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		w, err := z.Create(prefix + "/" + filepath.ToSlash(path))
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
