// Command provider answers for the resource of the walkthrough: it tests web sites. Create and Update plan the tests,
// run each once, and write a page with the results; Delete removes the page.
//
// Only sites on this machine are tested. Of all others the page says that they were not probed.
//
// It is run by "pintle deploy examples/walkthrough". The environment variable RESULTS_DIR, an absolute path, says where
// the pages go; without it that is a directory in the system's temporary directory.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/pintle-dev/pintle"
)

func main() {
	dir, err := resultsDir(os.Getenv("RESULTS_DIR"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pintle.Main(&tester{dir: dir, prober: newProber((&net.Dialer{}).DialContext), now: time.Now})
}

// resultsDir returns the directory for the pages.
func resultsDir(wanted string) (string, error) {
	switch {
	case wanted == "":
		// A directory per user: two users of one machine cannot write into each other's.
		return filepath.Join(os.TempDir(), fmt.Sprintf("pintle-walkthrough-%d", os.Getuid())), nil
	case !filepath.IsAbs(wanted):
		return "", fmt.Errorf("RESULTS_DIR is %q: make it an absolute path, the provider does not run where you are", wanted)
	}
	return wanted, nil
}

// tester is the provider.
type tester struct {
	dir    string // where the pages are; made when it is needed
	prober *prober
	now    func() time.Time
}

// Handle answers one request.
func (t *tester) Handle(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
	switch r.Type {
	case pintle.Create, pintle.Update:
		return t.test(ctx, r)
	case pintle.Delete:
		return pintle.Answer{}, removePage(t.dir, resourceID(r))
	}
	return pintle.Answer{}, fmt.Errorf("unknown request type %q", r.Type)
}

// test does the same for a Create and an Update, and the same again when a request is repeated: it writes the page of
// the resource, over the last one if there is one.
func (t *tester) test(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
	var props properties
	if err := r.Decode(&props); err != nil {
		return pintle.Answer{}, err
	}
	plan, err := props.plan()
	if err != nil {
		return pintle.Answer{}, err
	}
	now := t.now().UTC().Truncate(time.Second)
	results := report{
		Tester: props.SeleniumTester, Resource: string(r.LogicalID), Stack: string(r.StackID), Time: now,
	}
	for i, s := range plan {
		result, err := t.prober.probe(ctx, s.Endpoint)
		if err != nil {
			return pintle.Answer{}, fmt.Errorf("test endpoint %d of %d: %w", i+1, len(plan), err)
		}
		results.Rows = append(results.Rows, row{s, result, s.next(now, 3)})
	}
	id := resourceID(r)
	page, err := writePage(t.dir, id, results)
	if err != nil {
		return pintle.Answer{}, err
	}
	return pintle.Answer{
		ID: pintle.PhysicalID(id),
		Attributes: map[string]any{
			"resultsPage": page,
			"lastUpdate":  now.Format(time.RFC3339),
		},
	}, nil
}

// resourceID is the physical ID and the name of the page. It follows from what never changes in the life of a resource,
// so an Update stays in place, and a Delete finds the page even of a Create whose answer was lost.
func resourceID(r *pintle.Request) string {
	sum := sha256.Sum256([]byte(string(r.StackID) + "|" + string(r.LogicalID)))
	return fmt.Sprintf("tests-%x", sum[:8])
}
