package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

var failovers = flag.Int("failovers", 1, "how often TestFailover and TestPatroni kill the primary")

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
	w.log(*failovers)
}

// log prints the statistics of a workload.
func (w *workload) log(failovers int) {
	w.t.Logf("%d failovers, %d operations, %d answers acknowledged, lost %d, forgotten %d, failed %d, requests that came twice %d",
		failovers, w.operations.Load(), w.ledger.acknowledged.Load(), w.lost.Load(), w.forgotten.Load(), w.failed.Load(), w.ledger.repeats())
}

// TestPatroni kills the leader of a cluster under load. Patroni makes the other server the leader, which the servers find by
// themselves.
func TestPatroni(t *testing.T) {
	cluster := pgtest.StartPatroni(t, "test1")
	l, b := newLedger(t), newBalancer(t)
	dir := t.TempDir()
	for i := range 2 {
		b.add(t, serve(t, filepath.Join(dir, fmt.Sprint("node-", i)), "--database", cluster.DSN("test1"),
			"--key-file", filepath.Join(dir, "keys"), "--public-url", b.URL))
	}
	w := load(t, l, b.URL, 8)
	for n := range *failovers {
		if n > 0 {
			cluster.Restore()
		}
		l.await(50)
		cluster.KillLeader()
		l.await(50)
	}
	w.end()
	w.log(*failovers)
}

// TestDatabaseOutage restarts, kills and fails over the database under 50 clients that try each call once. They see a pause and no error.
func TestDatabaseOutage(t *testing.T) {
	primary := pgtest.Start(t, pgtest.Options{})
	primary.Database(t)
	standby := primary.Standby(t)
	dir := t.TempDir()
	server := serve(t, filepath.Join(dir, "node"), "--database", pgtest.Hosts("test1", primary, standby), "--key-file", filepath.Join(dir, "keys"))
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"Status": "SUCCESS", "PhysicalResourceId": "thing"}`)
	}))
	t.Cleanup(provider.Close)
	const clients, writers = 50, 5
	client := cloudformation.New(server.client().Options(), func(o *cloudformation.Options) { o.RetryMaxAttempts = 1 })
	declared := func(size int) *string {
		return aws.String(fmt.Sprintf(`{"Resources": {"R": {"Type": "Custom::R", "Properties": {"ServiceToken": %q, "Size": %d}}}}`, provider.URL, size))
	}
	for n := range writers {
		if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String(fmt.Sprint("s", n)), TemplateBody: declared(0)}); err != nil {
			t.Fatal(err)
		}
		server.settled(fmt.Sprint("s", n))
	}

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var calls atomic.Int64
	failed := make(chan error, clients)
	for n := range clients {
		name := aws.String(fmt.Sprint("s", n%writers))
		size := 0
		kinds := []func() error{
			func() error {
				_, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: name})
				return err
			},
			func() error {
				_, err := client.ListStacks(ctx, &cloudformation.ListStacksInput{})
				return err
			},
			func() error {
				_, err := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: name})
				return err
			},
			func() error {
				_, err := client.ListStackResources(ctx, &cloudformation.ListStackResourcesInput{StackName: name})
				return err
			},
		}
		if n < writers {
			kinds = append(kinds, func() error {
				size++
				_, err := client.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: name, TemplateBody: declared(size)})
				if err != nil && strings.Contains(err.Error(), "can not be updated") {
					return nil // the update before is in progress
				}
				return err
			})
		}
		running.Go(func() {
			for at := n; ; at++ {
				err := kinds[at%len(kinds)]()
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					failed <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	// served waits for calls after the latest event.
	served := func() {
		for enough := calls.Load() + 2*clients; calls.Load() < enough && len(failed) < clients; {
			time.Sleep(10 * time.Millisecond)
		}
	}
	served()
	if err := errors.Join(primary.Stop(), away(), primary.Start()); err != nil {
		t.Error(err)
	}
	served()
	if err := errors.Join(primary.Kill(), away(), primary.Start()); err != nil {
		t.Error(err)
	}
	served()
	if err := errors.Join(primary.Kill(), away()); err != nil {
		t.Error(err)
	}
	standby.Promote(t)
	served()
	stop()
	running.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	if t.Failed() {
		for line := range strings.Lines(server.output()) {
			if strings.Contains(line, "level=ERROR") {
				t.Log(line)
			}
		}
	}
	t.Logf("%d calls", calls.Load())
}

// away lets time pass while the database is away.
func away() error {
	time.Sleep(3 * time.Second)
	return nil
}
