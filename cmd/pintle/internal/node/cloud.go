package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/functionenv"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// The directories of the cloud in the data directory.
const (
	objectsDir = "objects"
	codeDir    = "functions"
)

// cloud is the local AWS emulation: the resources of templates and clients, and the processes that run them.
type cloud struct {
	catalog   *registry.Catalog
	objects   *objects.Store
	functions *lambda.Functions
	topics    *sns.Topics
	queues    *sqs.Queues
	logs      *functionLogs
	events    *bucketevents.Events
	root      store.Root
	url       string // of this server
	accounts  *accounts
	// forwards returns the endpoints of forwarded services for the functions of an account, and the key that leads to the
	// account there: the given one or another one. Nil forwards nothing.
	forwards func(account string, environ []string, key sigv4.Key) (map[string]string, sigv4.Key)
}

// openCloud opens the local cloud. It needs the store, the listener, and the providers with their runtime.
func (b *builder) openCloud() (err error) {
	c := &cloud{catalog: registry.New(b.store), root: b.store.Root(), url: b.record.URL, accounts: b.accounts}
	b.cloud = c
	c.forwards = func(account string, environ []string, key sigv4.Key) (map[string]string, sigv4.Key) {
		if own, ok := b.accountKey(account); ok {
			key = own
		}
		return b.handlerEndpoints(account, environ, functionenv.Passes(environ)), key
	}
	if err := c.openLogs(b.Node); err != nil {
		return err
	}
	c.objects, err = objects.New(objects.Config{
		Dir: b.config.Lock.path(objectsDir), Buckets: c.catalog.Buckets, URL: b.base, Changed: c.objectChanged, Log: b.log,
	})
	if err != nil {
		return fmt.Errorf("buckets: %w", err)
	}
	c.functions, err = lambda.New(lambda.Config{
		Declared: declarations{b.providers}, Secrets: b.secretsOf, Catalog: c.catalog, Runtime: b.runtime, Objects: bucketCode{c.objects}, CodeDir: b.config.Lock.path(codeDir),
		CacheDir: filepath.Join(b.config.Lock.path(buildDir), "functions"), Modules: b.config.NodeModules, Log: b.log,
		Inside: b.invokeInside, Deliver: b.deliverResult,
		Environment: func(place registry.Scope, name string, own map[string]string) map[string]string {
			key := b.processKey(place.Account, name)
			if strings.HasPrefix(name, fcNames) {
				return b.localAliyun(place.Region, key)
			}
			environ := b.accounts.environ(place.Account)
			return b.localAWS(environ, key, b.handlerEndpoints(place.Account, environ, functionenv.Passes(environ)), own)
		},
	})
	if err != nil {
		return err
	}
	if err := c.openQueues(b.Node); err != nil {
		return err
	}
	c.topics, err = sns.New(sns.Config{
		Catalog: c.catalog, PublicURL: strings.TrimSuffix(b.base.String(), "/"), AllowPrivate: b.config.AllowPrivate, Log: b.log,
		Invoke: func(ctx context.Context, functionARN string, payload []byte) error {
			return c.functions.InvokeEvent(ctx, lambda.Call{Function: functionARN, Payload: payload})
		},
		Queue: c.queues.Send,
	})
	if err != nil {
		return err
	}
	if err := c.openBucketEvents(b.Node); err != nil {
		return err
	}
	b.functions, b.providers.invoked = c.functions, c.functions.Request
	b.providers.match = c.functions.Match
	return b.providers.standForCDK(c.variables, c.logical)
}

// invokeInside is [lambda.Config].Inside. It answers calls of the functions that the CDK makes for BucketDeployments: cdk deploy
// --hotswap calls them without a stack operation.
func (n *Node) invokeInside(ctx context.Context, place registry.Scope, holder string, payload []byte) ([]byte, error, bool) {
	parts := strings.Split(holder, "|")
	if len(parts) != 3 || !builtin.IsDeployment(parts[1]) || n.providers.deployments == nil {
		return nil, nil, false
	}
	reply, err := n.providers.deployments.Invoke(ctx, place.Account, place.Region, payload)
	return reply, err, true
}

// openNotifications makes the signer of notifications. The local topics have one, if there are any; otherwise it uses the same key.
func (b *builder) openNotifications() (err error) {
	switch {
	case b.config.Role == Reader:
	case b.cloud != nil:
		b.notifications = b.cloud.topics.Signer()
	default:
		b.notifications, err = notification.NewSigner(notification.Config{
			Keys: registry.New(b.store).Keys, PublicURL: b.base.String(), Log: b.log,
		})
	}
	return err
}

// openDeclared opens the Lambda API of a node without local AWS emulation: it has the local providers and nothing else.
func (b *builder) openDeclared() (err error) {
	b.functions, err = lambda.New(lambda.Config{
		Catalog: registry.New(b.store), Runtime: b.runtime, Declared: declarations{b.providers}, DeclaredOnly: true,
		Secrets: b.secretsOf, Log: b.log,
	})
	if err == nil {
		b.providers.invoked = b.functions.Request
	}
	return err
}

// secretsOf returns the secrets in the properties of a request, to redact the logs of functions that get it.
func (n *Node) secretsOf(ctx context.Context, id wire.RequestID) []string {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	r, err := n.store.Request(ctx, id)
	if err != nil {
		return nil // it is long over, or another server's
	}
	return slices.Concat(r.Body.Properties.Secrets(), r.Body.OldProperties.Secrets())
}

// close ends the work in progress.
func (c *cloud) close() error {
	var errs []error
	if c.topics != nil {
		c.topics.Close()
	}
	if c.queues != nil {
		c.queues.Close()
	}
	if c.functions != nil {
		errs = append(errs, c.functions.Close())
	}
	if c.objects != nil {
		errs = append(errs, c.objects.Close())
	}
	return errors.Join(errs...)
}

// functionKey begins the ids of the keys that functions have, one for each account.
const functionKey = "FUNCTIONSOF"

// key returns the access key of the functions of an account. It is the same on all nodes.
func (c *cloud) key(account string) sigv4.Key {
	return sigv4.Key{
		ID: functionKey + account, Secret: sigv4.Secret(fmt.Sprintf("%x", c.root.Derive("functions of "+account))), Account: account,
	}
}

// lookup finds a key of functions by its id.
func (c *cloud) lookup(id string) (sigv4.Key, bool) {
	account, ok := strings.CutPrefix(id, functionKey)
	if !ok || c == nil {
		return sigv4.Key{}, false
	}
	return c.key(account), true
}

// ownKey finds a key of this process's environment by its ID, if functions get that environment and sign their requests with it.
func (n *Node) ownKey(id string) (sigv4.Key, bool) {
	if n.cloud == nil || n.accounts.allowed(n.account, everything) != nil {
		return sigv4.Key{}, false
	}
	own, ok := functionenv.Own(os.Environ())
	if !ok || own.ID != id {
		return sigv4.Key{}, false
	}
	return sigv4.Key{ID: id, Secret: sigv4.Secret(own.Secret), Token: sigv4.Secret(own.Token), Account: n.account}, true
}

// localAWS returns the variables that lead the AWS calls of a process to this server, to the endpoints in environ, and to
// those of forwarded services. own is the process's own environment. The map holds the key.
func (n *Node) localAWS(environ []string, key sigv4.Key, forwarded, own map[string]string) map[string]string {
	return awsVariables(functionenv.Config{Environ: environ, URL: n.record.URL, Forwarded: forwarded, Function: own}, key)
}

// localAliyun returns the variables that direct a function's calls of OSS to this server. The map holds the key. The wrapper of the
// function redirects clients that read no endpoint from the environment.
func (n *Node) localAliyun(region string, key sigv4.Key) map[string]string {
	return map[string]string{
		"ALIBABA_CLOUD_ACCESS_KEY_ID": key.ID, "ALIBABA_CLOUD_ACCESS_KEY_SECRET": string(key.Secret),
		"ALIBABA_CLOUD_SECURITY_TOKEN": string(key.Token),
		"OSS_ACCESS_KEY_ID":            key.ID, "OSS_ACCESS_KEY_SECRET": string(key.Secret), "OSS_SESSION_TOKEN": string(key.Token),
		"OSS_ENDPOINT": n.record.URL, "OSS_REGION": region, "PINTLE_OSS": n.record.URL,
	}
}

func awsVariables(c functionenv.Config, key sigv4.Key) map[string]string {
	c.Key = functionenv.Key{ID: key.ID, Secret: string(key.Secret)}
	return functionenv.Variables(c)
}

// variables returns the AWS environment variables for local functions of an account. The map holds a key.
func (c *cloud) variables(account string) map[string]string {
	config, key := functionenv.Config{Environ: c.accounts.environ(account), URL: c.url}, c.key(account)
	if c.forwards != nil {
		config.Forwarded, key = c.forwards(account, config.Environ, key)
	}
	return awsVariables(config, key)
}

// logical is a [cloudFunction].
func (c *cloud) logical(token wire.ServiceToken) (string, bool) {
	parsed, err := wire.ParseToken(token)
	if err != nil || parsed.Service != wire.Lambda {
		return "", false
	}
	reference, err := lambda.ParseReference(registry.Scope{Account: parsed.Account, Region: parsed.Region}, string(token), "")
	if err != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	function, err := c.functions.Get(ctx, reference.Scope, reference.Name)
	if err != nil {
		return "", false
	}
	if parts := strings.Split(function.Owner, "|"); len(parts) == 3 {
		return parts[1], true
	}
	return "", true
}

// away reports, on a node without the local cloud, whether a service token names a function or a topic of it.
func (n *Node) away(ctx context.Context, token wire.ServiceToken) bool {
	parsed, err := wire.ParseToken(token)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	things, place := registry.New(n.store), registry.Scope{Account: parsed.Account, Region: parsed.Region}
	switch parsed.Service {
	case wire.Lambda:
		_, err = things.Functions.Get(ctx, place, parsed.Name)
	case wire.SNS:
		_, err = things.Topics.Get(ctx, place, parsed.Name)
	case wire.FC:
		_, err = things.Functions.Get(ctx, place, registry.FCName(parsed.FCService, parsed.Name))
	case wire.HTTP, wire.Queue, wire.Topic, wire.Web, wire.Other:
		return false
	}
	return !errors.Is(err, registry.ErrNotFound) // after a read error, look it up again
}

// lookupTimeout is how long it may take to find a function in the store.
const lookupTimeout = 5 * time.Second

// bucketCode is the code of functions in buckets.
type bucketCode struct{ objects *objects.Store }

// Open implements [lambda.Objects].
func (b bucketCode) Open(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, int64, error) {
	object, err := b.objects.OpenFor(ctx, account, bucket, key, version)
	if isMissing(err) {
		return nil, 0, fmt.Errorf("%w: %w", registry.ErrNotFound, err)
	}
	if err != nil {
		return nil, 0, err
	}
	return object, object.Size, nil
}

func isMissing(err error) bool {
	return errors.Is(err, objects.ErrNoBucket) || errors.Is(err, objects.ErrNoObject) || errors.Is(err, objects.ErrNoVersion)
}

// mayFetch is [fetch.Config].Allowed.
func (n *Node) mayFetch(ctx context.Context) error {
	id, _ := sigv4.FromContext(ctx) // without one the account is none
	return n.accounts.allowed(id.Account, "s3:GetObject")
}

// bucketText is a [fetch.Objects]. It reads texts in local buckets for the owners of the buckets.
func (n *Node) bucketText(ctx context.Context, rawURL string) (body io.ReadCloser, known bool, err error) {
	if n.cloud == nil {
		return nil, false, nil
	}
	bucket, key, ok := n.cloud.objects.Locate(rawURL)
	if !ok {
		return nil, false, nil
	}
	id, _ := sigv4.FromContext(ctx) // no one has no buckets
	object, err := n.cloud.objects.OpenFor(ctx, id.Account, bucket, key, "")
	if errors.Is(err, objects.ErrDenied) { // the caller's buckets of OSS are those of its account of Alibaba Cloud
		object, err = n.cloud.objects.OpenFor(ctx, engine.ROSAccount(id.Account), bucket, key, "")
	}
	switch {
	case errors.Is(err, objects.ErrNoBucket):
		return nil, false, nil
	case isMissing(err):
		return nil, true, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case err != nil:
		return nil, true, err
	}
	return object, true, nil
}
