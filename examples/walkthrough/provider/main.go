// Command provider is the provider of the walkthrough: it tests web sites. Create and Update plan the tests, run each
// once, and write a page with the results. Delete removes the page.
//
// It probes only sites on this machine. The page reports all others as not probed.
//
// "pintle deploy examples/walkthrough" runs it. The environment variable RESULTS_DIR, an absolute path, names the
// directory for the pages. The default is in the system's temporary directory.
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
		// Each user has a directory, so that two users of one machine cannot write into each other's.
		return filepath.Join(os.TempDir(), fmt.Sprintf("pintle-walkthrough-%d", os.Getuid())), nil
	case !filepath.IsAbs(wanted):
		return "", fmt.Errorf("RESULTS_DIR is %q: make it an absolute path, the provider does not run where you are", wanted)
	}
	return wanted, nil
}

// tester is the provider.
type tester struct {
	dir    string // for the pages; created on first use
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

// test handles Create and Update in the same way, also when a request is repeated. It writes the page of the resource and
// replaces an existing one.
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

// resourceID returns the physical ID, which is also the name of the page. It depends only on values that never change for
// a resource. So an Update keeps the ID, and a Delete finds the page even if the answer to the Create was lost.
func resourceID(r *pintle.Request) string {
	sum := sha256.Sum256([]byte(string(r.StackID) + "|" + string(r.LogicalID)))
	return fmt.Sprintf("tests-%x", sum[:8])
}
