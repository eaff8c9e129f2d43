package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/awsconfig"
)

// Waiting for a data directory that another process is opening or closing.
const (
	heldPause = 50 * time.Millisecond
	heldFor   = 15 * time.Second
)

// planWithin is how long a command waits for the plans of providers, and for the programs to be built.
const planWithin = 10 * time.Minute

// session is a command's connection to an engine: a remote one, that of another local process, or one that
// this process became.
type session struct {
	*shell

	connection connection
	data       string // the data directory, empty for a remote engine
	role       node.Role
	fidelity   engine.Fidelity
	references referenceOptions
	unknown    engine.UnknownTypes
	forwards   []forward.Rule
	keys       keyOptions
	plans      *node.Plans       // of a reader
	ros        *rosAnswerOptions // nil for the usual ones
	// functions says that an engine which this process becomes runs functions of templates, and modules where these find packages.
	functions bool
	modules   []string
	// cloud says that the engine of another local process runs them.
	cloud bool

	// stacks and operator are those of the dialect that the session speaks.
	language template.Language
	stacks   stacks.Service
	operator *operatorClient
	clients  map[template.Language]dialectClient
	// here is the engine that this process became, nil for none; stop ends it.
	here *node.Node
	stop func() error
	url  string
	// begun says that an operation was asked for, or that one is watched.
	begun bool
}

// connector connects commands to engines: a remote one, that of another local process, or one that this process becomes.
type connector struct {
	*shell
}

// open connects to the engine of a data directory, or becomes it for a command; with --endpoint it connects to that.
func (e *connector) open(ctx context.Context, c change) (*session, error) {
	if _, _, err := parseDialect(c.connection.dialect); err != nil {
		return &session{stop: func() error { return nil }}, err
	}
	s := &session{
		shell: e.shell, connection: c.connection, data: c.data, role: node.Command, fidelity: c.fidelity, unknown: c.unknown, forwards: c.forwards, references: c.references,
		functions: c.functions, modules: c.modules, ros: c.ros,
		stop: func() error { return nil },
	}
	if c.connection.endpoint != "" {
		return s, s.remote(ctx)
	}
	return s, s.connect(ctx)
}

// remote connects to a server with the credentials that the AWS SDK finds.
func (s *session) remote(ctx context.Context) error {
	u, err := url.Parse(s.connection.endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return usagef("use the form http://host:port", "--endpoint %q is not a URL", s.connection.endpoint)
	}
	s.data, s.url = "", s.connection.endpoint
	region := s.regionOr(s.connection.region)
	keys, err := awsconfig.Credentials(ctx, region)
	if err != nil {
		return failed(err)
	}
	if _, err := keys.Retrieve(ctx); err != nil {
		const hint = "run \"pintle env\" on the server's machine to print the variables"
		if last, ok := errors.AsType[*smithy.OperationError](err); ok && last.ServiceID == "ec2imds" {
			return failed(fmt.Errorf("no AWS credentials for %s", u.Host), hint) // it was the last resort
		}
		return failed(fmt.Errorf("AWS credentials for %s: %w", u.Host, err), hint)
	}
	return s.use(keys, region)
}

// rosKeys returns the keys that sign calls of ROS: those of the environment for a server somewhere else, if there are any, else
// the same as those of CloudFormation, since a server has one file of keys.
func (s *session) rosKeys(keys aws.CredentialsProvider) func(context.Context) (rosclient.Keys, error) {
	get := s.getenv
	if id := get(aliyunKeyID); s.connection.endpoint != "" && id != "" {
		own := rosclient.Keys{ID: id, Secret: get(aliyunKeySecret), Token: get(aliyunToken)}
		return func(context.Context) (rosclient.Keys, error) { return own, nil }
	}
	return func(ctx context.Context) (rosclient.Keys, error) {
		c, err := keys.Retrieve(ctx)
		return rosclient.Keys{ID: c.AccessKeyID, Secret: c.SecretAccessKey, Token: c.SessionToken}, err
	}
}

// connect finds the engine of the data directory, or becomes it.
func (s *session) connect(ctx context.Context) error {
	for deadline := s.now().Add(heldFor); ; {
		lock, err := node.Acquire(s.data)
		if err == nil {
			return s.become(ctx, lock)
		}
		held, ok := errors.AsType[*node.HeldError](err)
		if !ok {
			return failed(err)
		}
		if record, ok := live(ctx, held); ok {
			s.url, s.cloud = record.URL, record.Cloud
			return s.use(static(record.Owner), s.regionOr(s.connection.region))
		}
		// It is being opened or closed, or only read.
		if s.now().After(deadline) {
			return failed(held, "wait for that process, stop it, or use another directory with --data")
		}
		if err := pause(ctx, heldPause); err != nil {
			return err
		}
	}
}

// live reports whether the holder of a data directory can be talked to, and how.
func live(ctx context.Context, held *node.HeldError) (node.Record, bool) {
	if held.URL == "" {
		return node.Record{}, false
	}
	record, err := node.ReadRecord(held.Directory)
	if err != nil || record.PID != held.PID {
		return node.Record{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, record.URL+"/healthz", nil)
	if err != nil {
		return node.Record{}, false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return node.Record{}, false
	}
	_ = response.Body.Close() // nothing of it is read
	return record, response.StatusCode == http.StatusOK
}

// become makes this process the engine of the data directory.
func (s *session) become(ctx context.Context, lock *node.Lock) error {
	log, err := s.logger("", slog.LevelError)
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	region := s.regionOr(s.connection.region)
	keys, err := s.keySource(s.keys)
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	source, err := s.references.source()
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	config := node.Config{
		Lock: lock, Role: s.role, Keys: keys, Region: region, Fidelity: s.fidelity, UnknownTypes: s.unknown, AllowPrivate: true,
		Plans: s.plans, PlanWithin: planWithin,
		SSM: source, ResolveSecrets: s.references.secrets, Cloud: s.functions, NodeModules: s.modules,
		Version: buildRelease().Version, Log: log, Forward: s.forwards,
	}
	if s.ros != nil {
		if err := s.ros.apply(&config); err != nil {
			return errors.Join(err, lock.Release())
		}
	}
	here, err := node.Open(ctx, config)
	if err != nil {
		return failed(err)
	}
	// An interrupt ends the watching first, and this only then.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- here.Run(running) }()
	s.stop = func() error {
		cancel()
		return errors.Join(<-ended, here.Close())
	}
	s.here, s.url = here, here.Record().URL
	return s.use(static(here.Record().Owner), region)
}

// close ends the session, and the engine if this process is it.
func (s *session) close() error {
	stop := s.stop
	s.stop, s.here = func() error { return nil }, nil
	return stop()
}

// client reports whether the engine is another local process.
func (s *session) client() bool { return s.here == nil && s.data != "" }

// use makes the clients.
func (s *session) use(keys aws.CredentialsProvider, region string) error {
	calls, err := awscall.New(awscall.Config{
		Region: region, Credentials: keys, Endpoint: s.url, HTTP: &http.Client{}, MaxAttempts: 4, MaxPause: time.Second, UserAgent: "pintle",
	})
	if err != nil {
		return failed(err)
	}
	client, err := rosclient.New(rosclient.Config{
		Endpoint: s.url, Region: s.rosRegionOr(s.connection.region), Keys: s.rosKeys(keys), Now: s.now,
	})
	if err != nil {
		return err
	}
	s.clients = map[template.Language]dialectClient{
		template.CloudFormation: {stacks.NewCloudFormation(calls), &operatorClient{base: s.url, region: region, keys: keys, now: s.now}},
		template.ROS: {stacks.NewROS(client), &operatorClient{
			base: s.url, region: client.Region(), keys: keys, now: s.now, dialect: engine.ROS.Name(),
		}},
	}
	s.speak(s.language)
	return nil
}

func static(c node.Credentials) aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(c.ID, c.Secret, "")
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reader connects for reading. ok is false if the data directory was never used.
func (e *connector) reader(ctx context.Context, c connection, data string) (s *session, ok bool, err error) {
	return e.readerWith(ctx, c, data, keyOptions{}, referenceOptions{}, nil, nil)
}

// readerWith is reader with keys, and parameters that templates name, from other places than usual. plans asks providers about previews,
// unless another process does; nil asks none. forwards are the types of other endpoints.
func (e *connector) readerWith(
	ctx context.Context, c connection, data string, keys keyOptions, references referenceOptions, plans *node.Plans, forwards []forward.Rule,
) (s *session, ok bool, err error) {
	if _, _, err := parseDialect(c.dialect); err != nil {
		return nil, false, err
	}
	if c.endpoint == "" && !node.Exists(data) {
		if _, err := os.Stat(data); err == nil || os.IsNotExist(err) {
			return nil, false, nil
		}
	}
	s = &session{shell: e.shell, connection: c, data: data, role: node.Reader, keys: keys, references: references, plans: plans, forwards: forwards, fidelity: engine.FidelityPintle, stop: func() error { return nil }}
	if c.endpoint != "" {
		err = s.remote(ctx)
	} else {
		err = s.connect(ctx)
	}
	return s, err == nil, err
}
