package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

var (
	soakFor     = flag.Duration("soak.for", 3*time.Second, "how long TestSoak kills servers")
	soakOn      = flag.String("soak.on", "", "the only database of TestSoak: sqlite, or postgres for two servers on one; empty is all")
	soakWorkers = flag.Int("soak.workers", 6, "how many stacks TestSoak has at a time")
	soakKill    = flag.Duration("soak.kill", 500*time.Millisecond, "the mean life of a server in TestSoak")
)

// soakPatience is how long an operation may take once no server is killed any more.
const soakPatience = 2 * time.Minute

// soakSetup is servers that share one database.
type soakSetup struct {
	name  string
	nodes int
	// args returns the arguments of a node in addition to its address and provider. Its resources live as
	// long as t.
	args func(t *testing.T, dir string) func(node int) []string
}

var soakSetups = []soakSetup{
	{"sqlite", 1, func(_ *testing.T, dir string) func(int) []string {
		return func(int) []string { return []string{"--data", filepath.Join(dir, "data")} }
	}},
	{"postgres", 2, func(t *testing.T, dir string) func(int) []string {
		dsn := pgtest.Start(t, pgtest.Options{}).Database(t)
		return func(node int) []string {
			return []string{"--data", filepath.Join(dir, fmt.Sprint("data-", node)), "--database", dsn, "--key-file", filepath.Join(dir, "keys")}
		}
	}},
}

// TestSoak kills servers at random under load, with SIGKILL, restarts them, and compares the stacks with the records of
// an independent provider: no acknowledged call or answer may be lost, and no request forgotten. The provider may get
// requests twice; the test counts them.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	for _, setup := range soakSetups {
		if setup.name != *soakOn && *soakOn != "" {
			continue
		}
		t.Run(setup.name, func(t *testing.T) {
			s := newSoak(t, setup)
			s.run()
			var totals soakTotals
			s.get("/totals", &totals)
			if totals.Refused > 0 {
				s.lose("the server would not have %d answers, such as %q", totals.Refused, totals.Refusals)
			}
			line := fmt.Sprintf("soak on %s, %v: nodes %d, kills %d, operations %d, requests %d, answers %d, lost %d, forgotten %d, repeats %d",
				setup.name, *soakFor, setup.nodes, s.kills.Load(), s.operations.Load(), totals.Requests, totals.Taken,
				s.lost.Load(), s.forgotten.Load(), totals.Repeats)
			fmt.Println(line)
			if s.kills.Load() == 0 || s.operations.Load() == 0 {
				t.Error("nothing happened")
			}
			if s.lost.Load()+s.forgotten.Load() > 0 {
				t.Errorf("the logs of the servers are in %s", s.keepLogs())
			}
		})
	}
}

// soak is one run.
type soak struct {
	t      *testing.T
	setup  soakSetup
	dir    string
	ledger string // URL
	nodes  []*soakNode
	ending atomic.Bool // nothing new is begun

	operations, kills, lost, forgotten atomic.Int64
}

// soakNode is a server that is killed and started again.
type soakNode struct {
	url  string
	args []string
	log  *os.File
	cmd  *exec.Cmd
}

func newSoak(t *testing.T, setup soakSetup) *soak {
	t.Helper()
	s := &soak{t: t, setup: setup, dir: t.TempDir()}
	address := filepath.Join(s.dir, "ledger")
	cmd := exec.Command("ledger", address)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	for text := []byte(nil); len(text) == 0; rest(10 * time.Millisecond) {
		text, _ = os.ReadFile(address)
		s.ledger = string(text)
	}
	args := setup.args(t, s.dir)
	for i := range setup.nodes {
		log, err := os.Create(filepath.Join(s.dir, fmt.Sprint("log-", i)))
		if err != nil {
			t.Fatal(err)
		}
		listen := freeAddress(t)
		n := &soakNode{url: "http://" + listen, log: log, args: append([]string{
			"serve", "--dev", "--listen", listen, "--provider", "Ledger=" + s.ledger + "/", "--log-level", "warn",
		}, args(i)...)}
		s.nodes = append(s.nodes, n)
		s.start(n)
		t.Cleanup(func() {
			s.kill(n)
			_ = log.Close()
		})
	}
	return s
}

func (s *soak) start(n *soakNode) {
	n.cmd = exec.Command("pintle", n.args...)
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	if err := n.cmd.Start(); err != nil {
		s.t.Error(err)
	}
}

func (s *soak) kill(n *soakNode) {
	_ = n.cmd.Process.Signal(syscall.SIGKILL)
	_ = n.cmd.Wait()
}

// await waits until a server is ready: on a busy machine it would else be killed before it has done anything.
func (s *soak) await(n *soakNode, stop <-chan struct{}) {
	for patience := time.After(soakPatience); ; {
		response, err := http.Get(n.url + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-stop:
			return
		case <-patience:
			s.t.Errorf("%s is not ready after %v", n.url, soakPatience)
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// run works and kills for the configured time, and then waits until all operations have finished.
func (s *soak) run() {
	var working, killing sync.WaitGroup
	for i := range *soakWorkers {
		working.Go(func() { s.work(i) })
	}
	stop := make(chan struct{})
	for _, n := range s.nodes {
		killing.Go(func() {
			for {
				if rand.IntN(4) > 0 { // the others may be killed while they start
					s.await(n, stop)
				}
				life := time.Duration(rand.ExpFloat64() * float64(*soakKill))
				select {
				case <-stop:
					return
				case <-time.After(min(life, 20**soakKill)):
				}
				s.kill(n)
				s.kills.Add(1)
				rest(time.Duration(rand.Int64N(int64(200 * time.Millisecond))))
				s.start(n)
			}
		})
	}
	rest(*soakFor)
	close(stop)
	killing.Wait()
	s.ending.Store(true)
	working.Wait()
}

// work gives stacks their lives, one after the other.
func (s *soak) work(worker int) {
	for life := 0; !s.ending.Load(); life++ {
		w := &soakStack{soak: s, name: fmt.Sprintf("w%d-%d", worker, life)}
		if !w.create() {
			return
		}
		for range rand.IntN(4) {
			if s.ending.Load() || w.status == types.StackStatusRollbackComplete {
				break
			}
			if !w.update() {
				return
			}
		}
		if s.ending.Load() && rand.IntN(2) == 0 {
			return // and leaves it standing
		}
		if !w.remove() {
			return
		}
	}
}

// soakStack is a stack as its client knows it.
type soakStack struct {
	*soak
	name    string
	id      string // once a call was acknowledged
	status  types.StackStatus
	variant int
}

var errGiveUp = errors.New("given up")

// call makes a call until it was taken.
func (w *soakStack) call(what string, do func(context.Context, *cloudformation.Client) error) error {
	for deadline := time.Now().Add(*soakFor + soakPatience); time.Now().Before(deadline); rest(20 * time.Millisecond) {
		node := w.nodes[rand.IntN(len(w.nodes))]
		client := cloudformation.New(cloudformation.Options{
			BaseEndpoint: aws.String(node.url), Region: "us-east-1", HTTPClient: soakClient, RetryMaxAttempts: 1,
			Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		})
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		err := do(ctx, client)
		cancel()
		if err == nil {
			return nil
		}
		if reported, ok := errors.AsType[smithy.APIError](err); ok && reported.ErrorFault() == smithy.FaultClient {
			return err
		}
	}
	w.forget("%s: %s was never taken", w.name, what)
	return errGiveUp
}

var soakClient = awshttp.Client()

func (w *soakStack) create() bool {
	token := "create-" + w.name
	err := w.call("create", func(ctx context.Context, c *cloudformation.Client) error {
		out, err := c.CreateStack(ctx, &cloudformation.CreateStackInput{
			StackName: &w.name, TemplateBody: aws.String(w.template()), ClientRequestToken: &token,
		})
		if err == nil {
			w.id = *out.StackId
		}
		return err
	})
	return w.taken("create", err) && w.ends()
}

func (w *soakStack) update() bool {
	w.variant++
	token := fmt.Sprint("update-", w.name, "-", w.variant)
	template := w.template()
	err := w.call("update", func(ctx context.Context, c *cloudformation.Client) error {
		_, err := c.UpdateStack(ctx, &cloudformation.UpdateStackInput{
			StackName: &w.id, TemplateBody: &template, ClientRequestToken: &token,
		})
		return err
	})
	return w.taken("update", err) && w.ends()
}

func (w *soakStack) remove() bool {
	token := "delete-" + w.name
	err := w.call("delete", func(ctx context.Context, c *cloudformation.Client) error {
		_, err := c.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &w.id, ClientRequestToken: &token})
		return err
	})
	return w.taken("delete", err) && w.ends()
}

func (w *soakStack) taken(what string, err error) bool {
	if err == nil {
		w.operations.Add(1)
		return true
	}
	if !errors.Is(err, errGiveUp) {
		w.lose("%s: %s: %v", w.name, what, err)
	}
	return false
}

// template is four resources: B and C need A, D needs both. One may fail, or be replaced.
func (w *soakStack) template() string {
	pick := func(one int) string {
		if rand.IntN(one) == 0 {
			return string("ABCD"[rand.IntN(4)])
		}
		return ""
	}
	resource := func(needs ...string) map[string]any {
		properties := map[string]any{
			"ServiceToken": "arn:aws:lambda:us-east-1:000000000000:function:Ledger", "Variant": strconv.Itoa(w.variant),
			"Fail": pick(12), "Replace": pick(3),
		}
		for _, need := range needs {
			properties["From"+need] = map[string]any{"Fn::GetAtt": []string{need, "Serial"}}
		}
		return map[string]any{"Type": "Custom::Thing", "Properties": properties}
	}
	outputs := map[string]any{}
	for _, id := range []string{"A", "B", "C", "D"} {
		outputs[id] = map[string]any{"Value": map[string]any{"Fn::GetAtt": []string{id, "Serial"}}}
	}
	text, err := json.Marshal(map[string]any{
		"Resources": map[string]any{"A": resource(), "B": resource("A"), "C": resource("A"), "D": resource("B", "C")}, "Outputs": outputs,
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ends waits for the end of the operation, and then compares the stack with the ledger.
func (w *soakStack) ends() bool {
	var stack types.Stack
	deadline := time.Now().Add(*soakFor + soakPatience)
	for w.status = ""; w.status == "" || strings.HasSuffix(string(w.status), "_IN_PROGRESS"); rest(20 * time.Millisecond) {
		err := w.call("describe", func(ctx context.Context, c *cloudformation.Client) error {
			out, err := c.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &w.id})
			if err == nil {
				stack = out.Stacks[0]
			}
			return err
		})
		if err != nil {
			if !errors.Is(err, errGiveUp) {
				w.lose("%s: it was acknowledged, and now: %v", w.name, err)
			}
			return false
		}
		w.status = stack.StackStatus
		if time.Now().After(deadline) {
			w.forget("%s: it is in %s for ever", w.name, w.status)
			return false
		}
	}
	return w.reconcile(stack)
}

func (w *soakStack) reconcile(stack types.Stack) bool {
	things := map[string]soakThing{}
	w.get("/stack?id="+url.QueryEscape(w.id), &things)
	switch w.status {
	case types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete:
	case types.StackStatusRollbackComplete, types.StackStatusDeleteComplete:
		if len(things) > 0 {
			w.lose("%s is in %s, and the provider still has %v", w.name, w.status, things)
			return false
		}
		return true
	default:
		w.lose("%s has come to %s: %s", w.name, w.status, aws.ToString(stack.StackStatusReason))
		return false
	}
	var resources []types.StackResource
	err := w.call("describe", func(ctx context.Context, c *cloudformation.Client) error {
		out, err := c.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &w.id})
		if err == nil {
			resources = out.StackResources
		}
		return err
	})
	if err != nil {
		w.lose("%s: its resources: %v", w.name, err)
		return false
	}
	outputs := map[string]string{}
	for _, output := range stack.Outputs {
		outputs[*output.OutputKey] = *output.OutputValue
	}
	left := maps.Clone(things)
	for _, r := range resources {
		thing, there := things[aws.ToString(r.PhysicalResourceId)]
		if id := aws.ToString(r.LogicalResourceId); !there || thing.Logical != id || outputs[id] != strconv.Itoa(thing.Serial) {
			w.lose("%s: %s is %s, of which %s was heard last; the provider has %v", w.name, id, aws.ToString(r.PhysicalResourceId), outputs[id], things)
			return false
		}
		delete(left, aws.ToString(r.PhysicalResourceId))
	}
	if len(left) > 0 || len(resources) != 4 {
		w.lose("%s has %d resources; the provider also has %v", w.name, len(resources), left)
		return false
	}
	return true
}

func (s *soak) lose(format string, args ...any) {
	s.lost.Add(1)
	s.t.Errorf("lost: "+format, args...)
}

func (s *soak) forget(format string, args ...any) {
	s.forgotten.Add(1)
	s.t.Errorf("forgotten: "+format, args...)
}

// get asks the ledger.
func (s *soak) get(path string, out any) {
	response, err := http.Get(s.ledger + path)
	if err == nil {
		err = json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(out)
		_ = response.Body.Close()
	}
	if err != nil {
		s.t.Errorf("the ledger: %v", err)
	}
}

// keepLogs copies the logs to where they outlive the test.
func (s *soak) keepLogs() string {
	dir, err := os.MkdirTemp("", "pintle-soak-*")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(s.dir))
	}
	if err != nil {
		s.t.Error(err)
	}
	return dir
}

// rest lets other processes continue.
func rest(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}
