// Package node assembles an engine: the data directory, the store, delivery, provider processes and the HTTP server.
// It decides nothing.
package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/api/metrics"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/idlemem"
	"github.com/pintle-dev/pintle/internal/base/loopbacktls"
	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/maintenance"
	"github.com/pintle-dev/pintle/internal/store/postgres"
)

// Role is the purpose of a node. The set is closed.
type Role int

// The roles. The zero Role is Command.
const (
	// Command runs stacks for the time of one command; other commands may be its clients meanwhile.
	Command Role = iota
	// Reader only reads: it delivers no requests, fires no timers and serves no other process.
	Reader
	// Server runs until it is asked to stop.
	Server
)

// Config is the configuration of a node. Lock is required.
type Config struct {
	// Lock holds the data directory. Open takes it over: it is released when the node is closed, or not opened.
	Lock *Lock
	Role Role
	// Database is the address of a PostgreSQL database that holds the stacks of several nodes. Empty means the SQLite file
	// of the data directory, which serves one node.
	Database string
	// Listen is host:port. Empty means loopback, on the port of an earlier run if it can be had.
	Listen string
	// AccountRules say which accounts may use the cloud credentials of the server, and for which calls. Without rules the account of
	// the credentials file may use them for every call, and if the file has several accounts none may.
	AccountRules []AccountRule
	// Dev takes any access key.
	Dev bool
	// PublicURL is where providers reach this node; nil means its own address.
	PublicURL *url.URL
	// CredentialsFile is made if it is not there; empty means the one of the data directory.
	CredentialsFile string
	// Keys says where the keys come from that seal the secrets in the store, the same for all nodes of a database; zero
	// means the file of the data directory.
	Keys KeySource
	// Keep limits the history that is kept. Zero fields mean the defaults.
	Keep store.Keep
	// Region is the region of provider processes and of commands. Empty means us-east-1.
	Region string
	// Fidelity is the engine's.
	Fidelity engine.Fidelity
	// Limits are how large templates may be; zero fields are CloudFormation's quotas.
	Limits template.Limits
	// Zones has the results of Fn::GetAZs by region. Other regions have three zones.
	Zones map[string][]string
	// Cloud enables the local AWS emulation: the node runs the code of functions that templates declare, and the services they need.
	// Without it those types are unknown, and the APIs of their services are not there.
	Cloud bool
	// NodeModules are directories in which Node functions find packages, next to their own.
	NodeModules []string
	// UnknownTypes is the engine's.
	UnknownTypes engine.UnknownTypes
	// Forward says which resource types the CloudFormation APIs of other endpoints provide.
	Forward []forward.Rule
	// ROSResponse is how many bytes the answer of a provider to ROS may have, at most wire.MaxROSResponse; zero means
	// wire.MaxResponse. ROSTakePut takes those that are PUT as CloudFormation's are, which the real service does not.
	ROSResponse int
	ROSTakePut  bool
	// ROSBase64 is delivery's: messages for queues and topics are in base64.
	ROSBase64 bool
	// ROSInnerURL is delivery's: requests of ROS have an InnerResponseURL too.
	ROSInnerURL bool
	// ROSIDChange decides about an answer to an Update with a changed ID. Zero refuses it.
	ROSIDChange engine.IDChange
	// AllowPrivate lets service tokens that are URLs lead into private networks.
	AllowPrivate bool
	// SSM says where the parameters are that templates name: empty means in the store, [SSMAWS] means where the AWS SDK's
	// configuration says, and a URL means there.
	SSM string
	// Plans asks providers what they would do, instead of the node's own processes; nil means those. PlanWithin is the engine's.
	Plans      *Plans
	PlanWithin time.Duration
	// ResolveSecrets has dynamic references to secrets resolved when a request is sent.
	ResolveSecrets bool
	// Metrics configures metrics. With the zero value the node counts, but exposes nothing.
	Metrics MetricsConfig
	// Audit gets every change that clients ask for; nil drops them.
	Audit *audit.Log
	// NoConsole leaves the pages for people out.
	NoConsole bool
	// Version is the version of the program that the node reports.
	Version string
	// Log gets messages for operators. Nil discards them.
	Log *slog.Logger
	// [Node.Run] calls Started once commands and clients can find and use the node, and Stopping when it begins to shut down.
	// Both may be nil.
	Started  func(Record)
	Stopping func()
}

// patience is how long a client that asks after a stack is kept waiting for an operation that has just begun: long enough for a few
// resources, and too short for a person to mind.
const patience = 2 * time.Second

// linger is the engine's.
const linger = 50 * time.Millisecond

// Node is a running engine. Use [Open], then [Node.Run] once, then [Node.Close].
type Node struct {
	config    Config
	log       *slog.Logger
	record    Record
	store     store.Store
	engine    *engine.Engine
	notes     *notes
	providers *providers
	texts     *fetch.Fetcher
	runtime   *local.Runtime     // nil in a Reader
	delivery  *delivery.Delivery // nil in a Reader
	cloud     *cloud             // nil without the local cloud
	functions *lambda.Functions  // nil in a Reader
	rules     *events.Rules      // nil in a Reader
	forward   *forward.Forwarder // nil if no type is forwarded
	asksPlans *Plans             // the node's own
	// notifications signs requests to URLs behind topics; nil in a Reader.
	notifications *notification.Signer
	server        *server.Server
	console       *console.Console // nil without a console

	account    string // that of the server's own keys
	accounts   *accounts
	fileKeys   *sigv4.Keys // those of the credentials file
	references *ssm.Hidden
	// processKeys are the keys of local providers and template functions, with the calls that those made.
	processKeys *processKeys
	maintenance *maintenance.Upkeep
	keys        *store.Keys
	metrics     *metrics.Metrics
	scrapes     net.Listener // of scrapes, nil if they come to the main one or to none
	listener    net.Listener
	stackLogs   *stackLogs            // nil for a reader of a data directory without lines
	tls         *loopbacktls.Endpoint // makes listener speak TLS too; nil if response URLs do not lead straight to it
	lastPort    int                   // that an earlier run noted, 0 if none did
	// credentialsMade says that the credentials file was made by Open.
	credentialsMade bool
}

// Record says how to reach the node.
func (n *Node) Record() Record { return n.record }

// Database says for people where the stacks are, without a password; empty if they are in the data directory.
func (n *Node) Database() string {
	if s, ok := n.store.(*postgres.Store); ok {
		return s.String()
	}
	return ""
}

// CredentialsFile returns the path of the credentials file, and whether it was made by this Open.
func (n *Node) CredentialsFile() (path string, made bool) {
	return n.credentialsPath(), n.credentialsMade
}

// Define adds or replaces a provider, which is built in the background if it has to be.
func (n *Node) Define(ctx context.Context, name string, definition Definition) error {
	text, err := json.Marshal(definition)
	if err != nil {
		return err
	}
	return n.providers.put(ctx, name, text)
}

// Run serves, delivers and fires timers until ctx ends. It then shuts down in an order that loses as little as
// possible. It sends no new request. It ends the provider processes, and still accepts answers from those that finish
// within their grace period. Then it drains the server and stops the timers. Unanswered requests stay in the table,
// where the next run finds them. No goroutine and no process of the node is left when Run returns.
func (n *Node) Run(ctx context.Context) error {
	if n.config.Role != Reader {
		if err := n.config.Lock.publish(n.record); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	if n.config.Started != nil {
		n.config.Started(n.record) // the listener is open: connections wait until Serve
	}
	group, ctx := errgroup.WithContext(ctx)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	ticking, stopTicking := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() (err error) {
		defer stopServing()
		if n.config.Role == Reader {
			<-ctx.Done()
			return nil
		}
		return errors.Join(n.delivery.Run(ctx), n.runtime.Close())
	})
	group.Go(func() error {
		if n.functions == nil {
			return nil
		}
		return n.functions.Run(serving) // they are called by processes for as long as there are any
	})
	group.Go(func() error {
		if n.cloud == nil {
			return nil
		}
		return n.cloud.logs.streams.Run(ctx)
	})
	group.Go(func() error {
		if n.config.Role == Reader || n.stackLogs == nil {
			return nil
		}
		return n.stackLogs.streams.Run(ctx)
	})
	group.Go(func() error {
		if n.rules == nil {
			return nil
		}
		return n.rules.Run(ctx)
	})
	group.Go(func() error {
		<-ctx.Done()
		if n.config.Stopping != nil {
			n.config.Stopping()
		}
		return n.config.Lock.withdraw()
	})
	group.Go(func() error {
		defer stopTicking()
		return n.server.Serve(serving)
	})
	group.Go(func() error {
		if n.config.Role == Reader {
			<-ticking.Done()
			return nil
		}
		return n.engine.Run(ticking)
	})
	group.Go(func() error {
		if n.config.Role == Reader {
			return nil
		}
		return n.maintenance.Run(ctx)
	})
	group.Go(func() error {
		if n.scrapes == nil {
			return nil
		}
		return n.metrics.Serve(ctx, n.scrapes, n.config.Metrics.Token)
	})
	group.Go(func() error {
		if n.config.Role == Server { // a command ends before it could be idle
			defer idlemem.Pace()()
			idlemem.Run(ctx, n.log)
		}
		return nil
	})
	return group.Wait()
}

// Close releases everything that [Open] acquired, including the data directory.
func (n *Node) Close() error {
	var errs []error
	if n.providers != nil {
		n.providers.close()
	}
	if n.runtime != nil {
		errs = append(errs, n.runtime.Close())
	}
	if n.cloud != nil {
		errs = append(errs, n.cloud.close())
	}
	if n.functions != nil {
		errs = append(errs, n.functions.Close()) // again, if there is a cloud, which does no harm
	}
	if n.tls != nil {
		errs = append(errs, n.tls.Close())
	}
	for _, listener := range []net.Listener{n.listener, n.scrapes} {
		if listener == nil {
			continue
		}
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) { // the server has closed it, if it ran
			errs = append(errs, err)
		}
	}
	if n.engine != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		errs = append(errs, n.engine.Close(ctx))
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	return errors.Join(append(errs, n.config.Lock.Release())...)
}

// nodeName returns the name of this node for operators.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "pintle"
	}
	return host + " " + strconv.Itoa(os.Getpid())
}

func (n *Node) credentialsPath() string {
	return cmp.Or(n.config.CredentialsFile, n.config.Lock.path(credentialsFile))
}

// reachable returns host and port at which this machine reaches a listener.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// lookup finds an access key: the owner's, one of the cloud or of a process, one of the credentials file, the server's own, or the one that
// the handlers of the account share.
func (n *Node) lookup(id string) (sigv4.Key, bool) {
	if id == n.record.Owner.ID {
		return sigv4.Key{ID: id, Secret: sigv4.Secret(n.record.Owner.Secret), Account: n.account}, true
	}
	if key, ok := n.cloud.lookup(id); ok {
		return key, true
	}
	if key, ok := n.processKeys.lookup(id); ok {
		return key, true
	}
	if key, ok := n.fileKeys.Lookup(id); ok {
		return key, true
	}
	if key, ok := n.ownKey(id); ok {
		return key, true
	}
	return n.accountKey(id)
}
