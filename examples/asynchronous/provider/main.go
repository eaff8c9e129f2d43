// Command provider makes clusters. That takes time, because their nodes start one after the other. It shows operations
// that Create, Update and Delete start and that Poll polls, in this process or in a later one.
//
// A cluster is a file in a directory. The environment variable CLUSTERS_DIR names the directory, an absolute path; the
// default is in the system's temporary directory. A node takes a second, or the time in CLUSTERS_PACE.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/pintle-dev/pintle"
)

// properties are the properties of Custom::Cluster.
type properties struct {
	Zone  string `pintle:"required,immutable,enum=a|b|broken,help='Where it is; in the zone broken the second node never starts'"`
	Nodes int    `pintle:"min=1,max=100,default=3"`
}

// attributes are the values that a template can read.
type attributes struct {
	Endpoint string
}

// cluster is the contents of a file: the former number of nodes, the new number, and the start of the change.
type cluster struct {
	Zone     string
	From, To int
	Since    time.Time
}

// clusters is the provider.
type clusters struct {
	dir  string
	pace time.Duration    // per node
	now  func() time.Time // the clock
}

func main() {
	c := clusters{os.Getenv("CLUSTERS_DIR"), time.Second, time.Now}
	if c.dir == "" {
		c.dir = filepath.Join(os.TempDir(), fmt.Sprintf("pintle-clusters-%d", os.Getuid()))
	}
	if text := os.Getenv("CLUSTERS_PACE"); text != "" {
		var err error
		if c.pace, err = time.ParseDuration(text); err != nil || c.pace <= 0 {
			log.Fatalf("CLUSTERS_PACE: %q is not a duration", text)
		}
	}
	pintle.Main(pintle.For("Custom::Cluster", pintle.New(c, pintle.WithPollPolicy(policy))))
}

// policy gives clusters ten minutes.
var policy = pintle.PollPolicy{Timeout: 10 * time.Minute}

// order is the state for Poll: the number of nodes to reach.
type order struct{ Nodes int }

// Create starts the nodes. If an earlier delivery of the request has started them, Create finds them.
func (c clusters) Create(_ context.Context, r *pintle.CreateRequest[properties]) (pintle.Response[attributes], error) {
	id := pintle.PhysicalID(r.Properties.Zone + "-" + r.Name())
	return c.resize(id, r.Properties)
}

// Update starts or stops nodes.
func (c clusters) Update(_ context.Context, r *pintle.UpdateRequest[properties]) (pintle.Response[attributes], error) {
	if _, err := c.read(r.ID); err != nil {
		return pintle.Response[attributes]{}, err
	}
	return c.resize(r.ID, r.Properties)
}

// Delete stops all nodes.
func (c clusters) Delete(_ context.Context, r *pintle.DeleteRequest[properties]) error {
	is, err := c.read(r.ID)
	if err != nil || is.To == 0 {
		return err
	}
	is.From, is.To, is.Since = c.running(is), 0, c.now()
	return c.write(r.ID, is)
}

// Poll checks once. Its reason is the progress, which is shown until the operation is done.
func (c clusters) Poll(_ context.Context, r *pintle.PollRequest[properties]) (pintle.Progress[attributes], error) {
	var want order // zero for a Delete
	if err := r.DecodeState(&want); err != nil {
		return pintle.Progress[attributes]{}, err
	}
	is, err := c.read(r.ID)
	if err != nil {
		return pintle.Progress[attributes]{}, err
	}
	running := c.running(is)
	if is.Zone == "broken" && running > 1 && r.Type != pintle.Delete {
		return pintle.Progress[attributes]{}, errors.New("node 2 does not start")
	}
	if running != want.Nodes {
		return pintle.Progress[attributes]{Reason: fmt.Sprintf("%d nodes, want %d", running, want.Nodes), After: c.pace}, nil
	}
	if r.Type == pintle.Delete {
		return pintle.Progress[attributes]{Done: true, Reason: "all nodes have stopped"}, os.Remove(c.path(r.ID))
	}
	return pintle.Progress[attributes]{
		Done: true, Reason: fmt.Sprintf("%d nodes are running", running),
		Attributes: attributes{Endpoint: fmt.Sprintf("https://%s.example.com", r.ID)},
	}, nil
}

// resize starts to change a cluster to the properties.
func (c clusters) resize(id pintle.PhysicalID, p properties) (pintle.Response[attributes], error) {
	begun := pintle.Response[attributes]{ID: id, State: order{p.Nodes}}
	is, err := c.read(id)
	if err != nil && !errors.Is(err, pintle.ErrGone) {
		return pintle.Response[attributes]{}, err
	}
	if err == nil && is.To == p.Nodes {
		return begun, nil // the change is in progress or done
	}
	return begun, c.write(id, cluster{Zone: p.Zone, From: c.running(is), To: p.Nodes, Since: c.now()})
}

// running returns the current number of nodes.
func (c clusters) running(is cluster) int {
	if is.Since.IsZero() {
		return 0
	}
	moved := int(c.now().Sub(is.Since) / c.pace)
	if is.From > is.To {
		return max(is.To, is.From-moved)
	}
	return min(is.To, is.From+moved)
}

// read returns a cluster, or pintle.ErrGone if it does not exist.
func (c clusters) read(id pintle.PhysicalID) (cluster, error) {
	var is cluster
	text, err := os.ReadFile(c.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return is, pintle.ErrGone
	}
	if err != nil {
		return is, err
	}
	return is, json.Unmarshal(text, &is)
}

func (c clusters) write(id pintle.PhysicalID, is cluster) error {
	text, err := json.Marshal(is)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(c.path(id), text, 0o600)
}

func (c clusters) path(id pintle.PhysicalID) string {
	return filepath.Join(c.dir, filepath.Base(string(id))+".json")
}
