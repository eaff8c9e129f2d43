//go:build linux

package measure_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/bench/measure"
)

// TestProcess measures a process that waits for the test.
func TestProcess(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	p, err := measure.Start(t.Context(), t.TempDir(), nil, "sh", "-c", "for i in 1 2 3; do :; done; exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	if took, err := p.Ready(t.Context(), server.URL); err != nil || took <= 0 {
		t.Errorf("ready after %v, error %v", took, err)
	}
	if err := p.Forget(); err != nil {
		t.Error(err)
	}
	if m, err := p.Memory(); err != nil || m.Resident <= 0 || m.Peak < m.Resident || m.Resident > 1000 {
		t.Errorf("memory %+v, error %v", m, err)
	}
	if cpu, err := p.CPU(); err != nil || cpu < 0 {
		t.Errorf("processor time %v, error %v", cpu, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := p.Memory(); err == nil {
		t.Error("a process that is gone has memory")
	}
}

// TestProcessThatEnds checks that the error contains the output of the process.
func TestProcessThatEnds(t *testing.T) {
	address, err := measure.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	p, err := measure.Start(t.Context(), t.TempDir(), []string{"WORD=hot"}, "sh", "-c", `echo "the iron is $WORD" >&2; exit 3`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Ready(t.Context(), "http://"+address); err == nil || !strings.Contains(err.Error(), "the iron is hot") {
		t.Errorf("error %v", err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// TestOwnCPU uses some processor time.
func TestOwnCPU(t *testing.T) {
	before := measure.OwnCPU()
	for n := 0; measure.OwnCPU() == before; n++ {
		if n == 1<<30 {
			t.Fatal("all work takes no time")
		}
	}
}

func TestStores(t *testing.T) {
	folder := t.TempDir()
	stores, err := measure.Stores(folder, "sqlite")
	if err != nil {
		t.Fatal(err)
	}
	first, err := stores[0].New()
	if err != nil {
		t.Fatal(err)
	}
	second, err := stores[0].New()
	if err != nil {
		t.Fatal(err)
	}
	if first.Path == second.Path || !strings.HasPrefix(first.Path, folder) {
		t.Errorf("%+v and %+v", first, second)
	}
	if _, err := os.Stat(filepath.Dir(second.Path)); err != nil {
		t.Error(err)
	}
	if err := stores[0].Close(); err != nil {
		t.Error(err)
	}
	if _, err := measure.Stores(folder, "sqlite", "mysql"); err == nil || !strings.Contains(err.Error(), "mysql") {
		t.Errorf("error %v", err)
	}
}
