package idlemem_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/idlemem"
)

// garbage is how many bytes TestRest allocates and drops.
const garbage = 64 << 20

// TestRest runs in its own process, so that other tests do not affect the memory.
func TestRest(t *testing.T) {
	if os.Getenv("PINTLE_TEST_REST") == "" {
		test := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRest$", "-test.v")
		test.Env = append(os.Environ(), "PINTLE_TEST_REST=1", "GOGC=off")
		out, err := test.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	kept := touched(1 << 20)
	_ = touched(garbage)
	heap, program := resident(t, "RssAnon"), resident(t, "RssFile")
	if err := idlemem.Rest(); err != nil {
		t.Fatal(err)
	}
	heapLeft, programLeft := resident(t, "RssAnon"), resident(t, "RssFile")
	t.Logf("heap %d kB, after %d kB; program %d kB, after %d kB", heap, heapLeft, program, programLeft)
	if freed := heap - heapLeft; freed < garbage/2/1024 {
		t.Errorf("%d kB of the heap were given back, want nearly %d", freed, garbage/1024)
	}
	if programLeft >= program {
		t.Errorf("%d kB of the program are resident, and before there were %d", programLeft, program)
	}
	for i, b := range kept {
		if b != byte(i>>12)|1 {
			t.Fatalf("byte %d of what is in use has become %d", i, b)
		}
	}
	// The unmapped pages still work, also after a second call.
	if err := idlemem.Rest(); err != nil {
		t.Fatal(err)
	}
	if got := regexp.MustCompile(`^(\d+)-(\d+)$`).ReplaceAllString(fmt.Sprintf("%d-%d", 1, 2), "$2-$1"); got != "2-1" {
		t.Errorf("got %q, want 2-1", got)
	}
}

// touched returns n bytes, all of them written.
func touched(n int) []byte {
	list := make([]byte, n)
	for i := range list {
		list[i] = byte(i>>12) | 1
	}
	return list
}

// resident returns the resident memory of a kind in kB.
func resident(t *testing.T, kind string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(kind + `:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		t.Skipf("this kernel does not tell %s", kind)
	}
	kB, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kB
}
