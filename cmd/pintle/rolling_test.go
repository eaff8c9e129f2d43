package main

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

// TestRollingRestart stops three servers gracefully, one after the other, and starts each again, while stacks are created and
// deleted. No operation fails and no request is sent twice, because a graceful stop finishes deliveries in flight.
func TestRollingRestart(t *testing.T) {
	dsn := pgtest.Start(t, pgtest.Options{}).Database(t)
	l, b := newLedger(t), newBalancer(t)
	dir := t.TempDir()
	var nodes []*served
	for i := range 3 {
		nodes = append(nodes, serve(t, filepath.Join(dir, fmt.Sprint("node-", i)), "--database", dsn,
			"--key-file", filepath.Join(dir, "keys"), "--public-url", b.URL))
		b.add(t, nodes[i])
	}
	w := load(t, l, b.URL, 6)
	for _, node := range nodes {
		l.await(30)
		if err := node.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := node.cmd.Wait(); err != nil {
			t.Errorf("it ended with %v:\n%s", err, node.output())
		}
		<-node.done
		l.await(30)
		node.start()
	}
	w.end()
	t.Logf("%d operations, %d answers acknowledged, lost %d, forgotten %d, failed %d, requests that came twice %d",
		w.operations.Load(), l.acknowledged.Load(), w.lost.Load(), w.forgotten.Load(), w.failed.Load(), l.repeats())
	if n := l.repeats(); n > 0 {
		t.Errorf("%d requests were sent twice", n)
	}
}
