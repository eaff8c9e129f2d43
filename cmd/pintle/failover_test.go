package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/pgtest"
)

var failovers = flag.Int("failovers", 1, "how often TestFailover kills the primary")

// TestFailover kills the primary database under load and promotes its synchronous standby, which the servers find by
// themselves. No answer that was acknowledged is lost, no request forgotten, no operation failed.
func TestFailover(t *testing.T) {
	primary := pgtest.Start(t, pgtest.Options{})
	primary.Database(t)
	standby := primary.Standby(t)
	l, b := newLedger(t), newBalancer(t)
	dir := t.TempDir()
	for i := range 2 {
		b.add(t, serve(t, filepath.Join(dir, fmt.Sprint("node-", i)), "--database", pgtest.Hosts("test1", primary, standby),
			"--key-file", filepath.Join(dir, "keys"), "--public-url", b.URL))
	}
	w := load(t, l, b.URL, 8)
	for n := range *failovers {
		if n > 0 {
			standby.Follow(t, primary)
		}
		l.await(50)
		if err := primary.Kill(); err != nil {
			t.Error(err)
		}
		standby.Promote(t)
		primary, standby = standby, primary
		l.await(50)
	}
	w.end()
	t.Logf("%d failovers, %d operations, %d answers acknowledged, lost %d, forgotten %d, failed %d, requests that came twice %d",
		*failovers, w.operations.Load(), l.acknowledged.Load(), w.lost.Load(), w.forgotten.Load(), w.failed.Load(), l.repeats())
}
