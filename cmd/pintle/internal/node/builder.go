package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/api/intake"
	"github.com/pintle-dev/pintle/internal/api/metrics"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/loopbacktls"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/maintenance"
	"github.com/pintle-dev/pintle/internal/store/postgres"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
)

// builder opens the parts of a node, in the order in which they need each other.
type builder struct {
	*Node

	root store.Root
	base *url.URL // under which providers reach this node
	// signer and ros sign response URLs; signals and rosSignals sign URLs of wait conditions.
	signer, signals *responseurl.Signer
	ros, rosSignals *responseurl.ROSSigner
	types           *native.Registry
	door            server.Config // of the server, as far as it is known
}

// Open opens the data directory and sets up the node on it. The node delivers and serves only once [Node.Run] is
// called.
func Open(ctx context.Context, config Config) (_ *Node, err error) {
	n := &Node{config: config, log: config.Log, notes: newNotes(), metrics: metrics.New(config.Version)}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	n.config.Region = cmp.Or(config.Region, local.DefaultRegion)
	n.texts = fetch.New(fetch.Config{
		Objects: n.bucketText, Allowed: n.mayFetch,
		Region: n.config.Region, AllowPrivate: config.AllowPrivate, S3Only: config.Fidelity == engine.FidelityAWS,
	})
	b := &builder{Node: n}
	for _, step := range []func(context.Context) error{
		b.settle, b.openKeys, b.openCredentials, b.openStore, b.openProcessKeys, b.listen, b.openDoor, b.identify, b.openSigners, b.openStackLogs,
		b.openProviders, b.openFunctions, b.openForward, b.openParameters, b.openEngine, b.openUpkeep, b.keepPort, b.openDelivery,
		b.describeServer, b.openMetrics, b.openServices, b.openConsole, b.openServer,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// settle notes in the data directory whether the stacks are in a database elsewhere.
func (b *builder) settle(context.Context) (err error) {
	elsewhere := ""
	if b.config.Database != "" {
		if elsewhere, err = postgres.Name(b.config.Database); err != nil {
			return err
		}
	}
	return b.config.Lock.settle(elsewhere)
}

// openKeys reads the keys, or makes the first ones.
func (b *builder) openKeys(ctx context.Context) (err error) {
	source := b.config.Keys
	if source == (KeySource{}) {
		source.File = b.config.Lock.path(keysFile)
	}
	b.keys, err = source.open(ctx, func(ctx context.Context) (used bool, of string, err error) {
		if b.config.Database == "" {
			return Exists(b.config.Lock.directory), "the database next to it", nil
		}
		fresh, err := postgres.Fresh(ctx, b.config.Database)
		return !fresh, "the database", err
	})
	return err
}

func (b *builder) openCredentials(context.Context) (err error) {
	if b.fileKeys, b.credentialsMade, err = sigv4.LoadOrCreate(b.credentialsPath()); err != nil {
		return err
	}
	b.account, b.accounts = b.fileKeys.Default().Account, newAccounts(b.fileKeys, b.config.AccountRules)
	return nil
}

func (b *builder) openStore(ctx context.Context) error {
	codec := store.NewCodec(b.keys)
	if b.config.Database != "" {
		s, err := postgres.Open(ctx, postgres.Config{DSN: b.config.Database, Codec: codec, Log: b.log, Committed: b.metrics.Committed})
		if err != nil {
			return err
		}
		b.store = s
		return nil
	}
	s, err := sqlite.Open(ctx, sqlite.Config{Path: b.config.Lock.path(databaseFile), Codec: codec, Log: b.log, Committed: b.metrics.Committed})
	if err != nil {
		return err
	}
	b.store = s
	return nil
}

// openProcessKeys makes the keys of local providers and template functions.
func (b *builder) openProcessKeys(context.Context) error {
	b.root = b.store.Root()
	b.processKeys = newProcessKeys(b.root, time.Now)
	b.processKeys.shared = func(id string) bool {
		if _, ok := b.ownKey(id); ok {
			return true
		}
		_, ok := b.accountKey(id)
		return ok
	}
	return nil
}

func (b *builder) listen(context.Context) (err error) {
	b.lastPort = b.config.Lock.lastPort()
	switch {
	case b.config.Listen != "":
		b.listener, err = net.Listen("tcp", b.config.Listen)
	case b.config.Role == Reader: // it issues no URLs, and must leave the port to a node that does
		b.listener, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	default:
		b.listener, err = listenAt(b.lastPort)
	}
	return err
}

// openDoor makes the listener accept TLS too, because some local providers always use TLS for response URLs.
func (b *builder) openDoor(context.Context) (err error) {
	base := b.config.PublicURL
	if base == nil {
		base = &url.URL{Scheme: "http", Host: reachable(b.listener.Addr())}
	}
	if b.config.Role == Reader || !loopbacktls.Covers(base) {
		return nil
	}
	b.tls, err = loopbacktls.Open(loopbacktls.Config{Listener: b.listener, Dir: b.config.Lock.path(trustDir), Log: b.log})
	if err == nil {
		b.listener = b.tls.Listener()
	}
	return err
}

// trust is how processes are made to trust the listener; nil if it does not speak TLS.
func (b *builder) trust() func(env map[string]string, program bool) error {
	if b.tls == nil {
		return nil
	}
	return b.tls.Trust
}

// identify makes the record by which clients find the node, and the URL by which providers do.
func (b *builder) identify(context.Context) (err error) {
	credentials := b.fileKeys.Default()
	b.record = Record{
		PID: os.Getpid(), URL: "http://" + reachable(b.listener.Addr()), Serving: b.config.Role == Server,
		Region: b.config.Region, Cloud: b.config.Cloud,
		Owner:  Credentials{ID: "OWNER" + rand.Text(), Secret: rand.Text() + rand.Text()},
		Client: Credentials{ID: credentials.ID, Secret: string(credentials.Secret)},

		Webhook: Secret("whsec_" + base64.StdEncoding.EncodeToString(b.root.Derive(webhookPurpose))),
	}
	if b.config.PublicURL != nil {
		b.base = b.config.PublicURL.JoinPath("/")
		return nil
	}
	b.base, err = url.Parse(b.record.URL + "/")
	return err
}

// openSigners makes the signers of the URLs that providers and wait conditions answer to.
func (b *builder) openSigners(context.Context) (err error) {
	if b.signer, err = newSigner(b.root, b.base.JoinPath(server.ResponsePath)); err != nil {
		return err
	}
	if b.signals, err = newSigner(b.root, b.base.JoinPath(server.SignalPath)); err != nil {
		return err
	}
	if b.ros, err = responseurl.NewROSSigner(b.root.Derive("ROS response URL")); err != nil {
		return err
	}
	b.rosSignals, err = responseurl.NewROSSigner(b.root.Derive("ROS signal URL"))
	return err
}

// openFunctions opens the local cloud or, without one, the functions of local providers, and what delivers to them: rules and notifications.
func (b *builder) openFunctions(context.Context) (err error) {
	switch {
	case b.config.Role == Reader:
	case b.config.Cloud:
		err = b.openCloud()
	default:
		err = b.openDeclared()
	}
	if err == nil && b.config.Role != Reader {
		err = b.openRules()
	}
	if err != nil {
		return err
	}
	return b.openNotifications()
}

func (b *builder) openEngine(ctx context.Context) (err error) {
	if b.types, err = b.nativeTypes(); err != nil {
		return err
	}
	b.engine, err = engine.Open(ctx, engine.Config{
		Store: b.store, Name: nodeName(), Alone: b.config.Database == "", Fidelity: b.config.Fidelity, UnknownTypes: b.config.UnknownTypes, Log: b.log,
		Observer: b.metrics, Dispatch: b.dispatch, Settled: b.settled, Native: b.types, Serves: b.providers.serves, Reads: b.reads(), Plans: b.plans(), PlanWithin: b.config.PlanWithin,
		NestedTemplate: func(ctx context.Context, account, region, url string) (string, error) {
			return b.texts.Template(sigv4.WithIdentity(ctx, sigv4.Identity{Account: account, Region: region}), url)
		},
		Stored: b.references.Stored, Hidden: b.references.Recall, Snippet: b.texts.Snippet, Serverless: b.cloud != nil,
		Upfront: true, Limits: b.config.Limits, Zones: b.config.Zones, RosIDChange: b.config.ROSIDChange, Linger: linger,
	})
	return err
}

func (b *builder) openUpkeep(context.Context) (err error) {
	b.maintenance, err = maintenance.New(maintenance.Config{Store: b.store, Keep: b.config.Keep, Log: b.log})
	return err
}

// keepPort notes this run's port for the next one. While requests wait for answers at another port that one stays noted,
// and it is said that they cannot arrive.
func (b *builder) keepPort(ctx context.Context) error {
	if b.config.Role == Reader {
		return nil
	}
	_, text, err := net.SplitHostPort(b.listener.Addr().String())
	if err != nil {
		return err
	}
	// In a database of many nodes it cannot be seen whose URLs the waiting requests have.
	if b.lastPort != 0 && text != strconv.Itoa(b.lastPort) && b.config.PublicURL == nil && b.config.Database == "" {
		_, next, err := b.store.Due(ctx, 0)
		if err != nil {
			return err
		}
		if !next.IsZero() {
			b.log.Error(fmt.Sprintf("requests of an earlier run expect answers at port %d, and this server has port %s: unless you stop it "+
				"and run pintle serve --listen 127.0.0.1:%[1]d, they time out", b.lastPort, text))
			return nil
		}
	}
	if err := b.config.Lock.keepPort(text); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// describeServer begins the configuration of the server. The steps that follow add services, metrics and the console to it.
func (b *builder) describeServer(context.Context) error {
	drifts := drift.New(b.types, b.store, nil)
	drifts.Ask(b.engine)
	var forwards []string
	for i := range b.config.Forward {
		forwards = append(forwards, b.config.Forward[i].String())
	}
	b.door = server.Config{
		Engine: b.engine, Store: b.store, Signer: b.signer, Signals: b.signals, Dev: b.config.Dev, Account: b.account,
		ROS: server.ROSAnswers{
			Signer: b.ros, Signals: b.rosSignals, Limit: b.config.ROSResponse, TakePut: b.config.ROSTakePut,
			NeedHeaders: b.config.Fidelity == engine.FidelityAWS,
		},
		Intake:   intake.New(intake.Config{Dir: b.config.Lock.directory}),
		Listener: b.listener, PublicURL: b.base, Version: b.config.Version, Forward: forwards, Hooks: b.hooks(),
		TokenKey: b.root.Derive("paging token"), Log: b.log, Texts: b.texts,
		Drift: drifts, Called: b.processKeys.note, Keys: b.lookup,
	}
	switch {
	case b.config.Fidelity == engine.FidelityAWS:
		b.door.FidelityAWS = true
	case b.config.Role == Server:
		b.door.Patience = patience
	}
	return nil
}

func (b *builder) openServer(context.Context) (err error) {
	b.server, err = server.New(b.door)
	return err
}
