package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

// cluster is several servers on one database, behind a balancer that sends everything to one of them, and a provider
// behind a URL that takes requests when the test does.
type cluster struct {
	t        *testing.T
	nodes    []*served
	target   atomic.Pointer[url.URL] // of the balancer
	dsn      string
	provider string
	asked    chan asking
}

// asking is a request that a provider has, and has not taken yet.
type asking struct {
	RequestID  string `json:"RequestId"`
	StackID    string `json:"StackId"`
	LogicalID  string `json:"LogicalResourceId"`
	URL        string `json:"ResponseURL"`
	Properties json.RawMessage
	take       chan int // the status of the reply
}

func newCluster(t *testing.T, nodes int) *cluster {
	t.Helper()
	return newClusterIn(t, nil, nodes)
}

// newClusterIn is newCluster with additional environment and flags of the nodes.
func newClusterIn(t *testing.T, env []string, nodes int, more ...string) *cluster {
	t.Helper()
	dsn := pgtest.Start(t, pgtest.Options{}).Database(t)
	c := &cluster{t: t, dsn: dsn, asked: make(chan asking, 16)}
	balancer := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(c.target.Load())
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(balancer.Close)
	stop := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asking{take: make(chan int, 1)}
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		c.asked <- a
		select {
		case status := <-a.take:
			w.WriteHeader(status)
		case <-stop:
		}
	}))
	t.Cleanup(provider.Close)
	t.Cleanup(func() { close(stop) })
	c.provider = provider.URL
	dir := t.TempDir()
	for i := range nodes {
		node := beginIn(t, env, filepath.Join(dir, fmt.Sprint("node-", i)), append([]string{"--database", dsn,
			"--key-file", filepath.Join(dir, "keys"), "--public-url", balancer.URL}, more...)...)
		node.ready()
		c.nodes = append(c.nodes, node)
	}
	c.route(0)
	return c
}

func (c *cluster) route(node int) {
	target, err := url.Parse(c.nodes[node].url)
	if err != nil {
		c.t.Fatal(err)
	}
	c.target.Store(target)
}

func (c *cluster) create(node int, name string, resources ...string) {
	c.t.Helper()
	var list []string
	for i, resource := range resources {
		more := ""
		if i > 0 {
			more = fmt.Sprintf(`, "DependsOn": %q`, resources[i-1])
		}
		list = append(list, fmt.Sprintf(`%q: {"Type": "Custom::Thing", "Properties": {"ServiceToken": %q}%s}`, resource, c.provider, more))
	}
	_, err := c.nodes[node].client().CreateStack(c.t.Context(), &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: aws.String(`{"Resources": {` + strings.Join(list, ", ") + `}}`),
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) answer(a asking) {
	c.t.Helper()
	body, err := json.Marshal(map[string]string{
		"Status": "SUCCESS", "PhysicalResourceId": "thing-" + a.LogicalID, "StackId": a.StackID, "RequestId": a.RequestID, "LogicalResourceId": a.LogicalID,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	put, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, a.URL, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := awshttp.Client().Do(put)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		c.t.Errorf("the answer of %s was taken with %s", a.LogicalID, response.Status)
	}
}

func (c *cluster) ends(node int, name string, want types.StackStatus) {
	c.t.Helper()
	var got types.StackStatus
	c.nodes[node].until("stack "+name+" ends", func() bool {
		out, err := c.nodes[node].client().DescribeStacks(c.t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil || len(out.Stacks) != 1 {
			return false
		}
		got = out.Stacks[0].StackStatus
		return !strings.HasSuffix(string(got), "_IN_PROGRESS")
	})
	if got != want {
		c.t.Errorf("stack %s ends as %s, want %s", name, got, want)
	}
}

// TestAnswerAtAnotherNode sends the answers to the node that did not ask.
func TestAnswerAtAnotherNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.create(0, "s", "A", "B")
	for i := range 2 {
		a := <-c.asked
		a.take <- http.StatusAccepted
		c.route(1 - i)
		c.answer(a)
	}
	c.ends(0, "s", types.StackStatusCreateComplete)
	c.ends(1, "s", types.StackStatusCreateComplete)
	for _, node := range c.nodes { // commands find the server by its data directory, whatever its database
		if out, err := exec.Command("pintle", "list", "--data", node.dir).CombinedOutput(); err != nil || !strings.Contains(string(out), "CREATE_COMPLETE") {
			t.Errorf("pintle list: %v\n%s", err, out)
		}
	}
	if strings.Contains(c.nodes[0].output(), "postgres://") {
		t.Errorf("the address of the database is shown:\n%s", c.nodes[0].output())
	}
	if text := c.nodes[0].output(); !strings.Contains(text, "database") || !strings.Contains(text, "test1 at 127.0.0.1") {
		t.Errorf("it is not said where the stacks are:\n%s", text)
	}
}

// TestTakeOver ends or stops a node while it hands a request to the provider: the other one hands it over again.
func TestTakeOver(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 2)
			c.create(0, "s", "A", "B")
			a := <-c.asked
			a.take <- http.StatusAccepted
			c.answer(a) // at node 0, which then asks for B
			first := <-c.asked
			if err := c.nodes[0].cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			c.route(1)
			again := <-c.asked
			if again.RequestID != first.RequestID || again.LogicalID != "B" {
				t.Errorf("asked again with %s for %s, want %s for B", again.RequestID, again.LogicalID, first.RequestID)
			}
			again.take <- http.StatusAccepted
			if signal == syscall.SIGSTOP {
				// The node resumes and gets a refusal for its own request.
				first.take <- http.StatusBadRequest
				if err := c.nodes[0].cmd.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				c.nodes[0].until("the node joins again", func() bool { return strings.Contains(c.nodes[0].output(), "joins again") })
				c.nodes[0].until("it reports that the outcome is ignored", func() bool {
					return strings.Contains(c.nodes[0].output(), "the outcome of a delivery is ignored")
				})
			}
			c.answer(again)
			c.ends(1, "s", types.StackStatusCreateComplete)
		})
	}
}

// TestServersAtOnce starts two servers at the same instant, when there is neither a key file nor anything in the database.
func TestServersAtOnce(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	for range 3 {
		dsn, dir := server.Database(t), t.TempDir()
		var nodes []*served
		for i := range 2 {
			nodes = append(nodes, begin(t, filepath.Join(dir, fmt.Sprint("node-", i)), "--database", dsn, "--key-file", filepath.Join(dir, "keys")))
		}
		for _, node := range nodes {
			node.ready()
			if _, err := node.client().ListStacks(t.Context(), &cloudformation.ListStacksInput{}); err != nil {
				t.Error(err)
			}
			node.kill()
		}
	}
}

// TestDatabaseKeys checks that a server without its key file does not start: it must not make a new key for a database in use.
func TestDatabaseKeys(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	dir := filepath.Dir(c.nodes[0].dir)
	other := exec.Command("pintle", "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "other"), "--database", c.dsn,
		"--key-file", filepath.Join(dir, "elsewhere"))
	out, err := other.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "elsewhere is missing") || !strings.Contains(string(out), "another node") {
		t.Errorf("error %v, it said:\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key file was made: %v", err)
	}
}
