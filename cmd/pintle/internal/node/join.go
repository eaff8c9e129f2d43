package node

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/serverless"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

func (b *builder) openProviders(ctx context.Context) (err error) {
	b.providers = newProviders(b.store, b.notes, b.config.Region, b.log)
	b.providers.calledOut, b.providers.aws = b.processKeys.calledOut, b.newAWSRule(b.account)
	b.asksPlans = NewPlans(b.providers.named, b.providers.askSchema)
	if b.config.Role != Reader {
		b.runtime, err = local.New(local.Config{
			Done: func(id string, outcome local.Outcome) {
				if b.asksPlans.Done(id, outcome) || b.providers.calls.Done(id, outcome) || b.functions != nil && b.functions.Done(id, outcome) {
					return
				}
				b.notes.end(wire.RequestID(id))
				b.delivery.Done(id, outcome)
			},
			Log: func(provider, id, line string) {
				if isPlan(id) {
					b.log.Debug(line, "provider", provider, "plan", id)
					return
				}
				request := b.providers.requestOf(id)
				if request != "" {
					b.notes.line(request, line)
				}
				if b.stackLogs != nil {
					b.stackLogs.print(provider, request, line)
				}
				b.log.Info(line, "provider", provider, "request", string(request))
			},
			Printed: func(o local.Origin, line string) {
				if b.cloud != nil {
					b.cloud.logs.print(o, line)
				}
			},
			Progress: b.providers.building,
			Logger:   b.log,
			Region:   b.config.Region,
			Account:  b.account,
			Env:      b.patience(),
			AWS:      &builtin.SDK{},
			Trust:    b.trust(),
			CacheDir: b.config.Lock.path(buildDir),

			SchemaDir: b.config.Lock.path(schemaDir),
		})
		if err != nil {
			return err
		}
		b.providers.runtime = b.runtime
		b.providers.calls.Use(b.runtime)
	}
	return b.providers.load(ctx)
}

// patience returns the environment variables that make helper libraries keep their pauses, as on AWS: only with --fidelity aws.
func (b *builder) patience() map[string]string {
	if b.config.Fidelity != engine.FidelityAWS {
		return nil
	}
	return map[string]string{bootstrap.PatientVariable: "1"}
}

// webhookPurpose names the derived key that signs requests to URLs.
const webhookPurpose = "webhook"

func (n *Node) dispatch(ready []store.Request) {
	if n.delivery != nil {
		n.delivery.Dispatch(ready)
	}
}

// settled notifies delivery of a settled request.
func (n *Node) settled(id wire.RequestID, answered bool) {
	if n.delivery != nil {
		n.delivery.Settled(id, answered)
	}
}

// newSigner returns a signer of URLs below one base. Signers of different bases know nothing of each other's URLs.
func newSigner(root store.Root, base *url.URL) (*responseurl.Signer, error) {
	return responseurl.NewSigner(responseurl.SignerConfig{
		KeyID:  "AKIA" + strings.ToUpper(hex.EncodeToString(root.Derive("response URL id")[:8])),
		Secret: hex.EncodeToString(root.Derive("response URL")),
		Bases:  []*url.URL{base},
	})
}

// signalLife is how long the URL of a WaitConditionHandle is good, as on the real service.
const signalLife = 24 * time.Hour

// nativeTypes returns the native types of this node, whose handles have URLs of its signers.
func (b *builder) nativeTypes() (*native.Registry, error) {
	return native.CloudFormation(native.Config{
		Names: b.store, More: b.cloudTypes(),
		Off: b.cloudOff(), Keep: b.keepRecorded(), Forward: b.forwarding(),
		CheckImport: func(ctx context.Context, r *store.Request) error { return b.engine.CheckRecordedImport(ctx, r) },
		SignalURL: func(key responseurl.ResponseKey, region string) (string, error) {
			return b.signals.Sign(b.base.JoinPath(server.SignalPath), key, time.Now(), responseurl.SignOptions{Region: region, Expires: signalLife})
		},
		ROSSignalURL: func(key responseurl.ResponseKey, stackName string) (string, error) {
			return b.rosSignals.Sign(b.base.JoinPath(server.ROSSignalPath), key, stackName, time.Now(), responseurl.MaxURLLife)
		},
		Template: b.texts.Template,
		Nest: func(
			ctx context.Context, r *store.Request, template func(context.Context) (string, error),
		) (native.Result, bool, error) {
			if stack, err := wire.ParseStackARN(r.Body.StackID); err == nil { // it is for this account that texts are read
				ctx = sigv4.WithIdentity(ctx, sigv4.Identity{Account: stack.Account, Region: stack.Region})
			}
			return b.engine.Nest(ctx, r, template) // nothing is served before the engine is open
		},
	})
}

// openDelivery makes the delivery, whose response URLs have the signatures of the builder. A Reader has none.
func (b *builder) openDelivery(context.Context) (err error) {
	if b.config.Role == Reader {
		return nil
	}
	var here delivery.Topics
	away := b.away
	var expand func(context.Context, []byte) ([]byte, error)
	if b.cloud != nil {
		here, away, expand = sns.Carrier{Topics: b.cloud.topics}, nil, serverless.Macro
	}
	b.delivery, err = delivery.New(delivery.Config{
		Topics: here, Away: away, Serverless: expand,
		Table:  b.store,
		Node:   b.engine.Node,
		Report: b.report,
		ResponseURL: func(r store.Request) (string, error) {
			key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
			life := min(max(responseurl.DefaultURLLife, r.Body.Timeout+time.Hour), responseurl.MaxURLLife).Truncate(time.Second)
			if r.Body.Dialect == wire.ROS.String() {
				return b.ros.Sign(b.base.JoinPath(server.ROSResponsePath), key, r.Body.StackName, time.Now(), life)
			}
			return b.signer.Sign(b.base.JoinPath(server.ResponsePath), key, time.Now(), responseurl.SignOptions{Region: r.Body.Region, Expires: life})
		},
		ROSResponse:   b.config.ROSResponse,
		ROSBase64:     b.config.ROSBase64,
		ROSInnerURL:   b.config.ROSInnerURL,
		WebhookSecret: b.store.Root().Derive(webhookPurpose),
		Notifications: b.notifications,
		Local:         b.providers,
		Declared:      b.providers.names,
		Allowed:       b.accounts.allowed,
		CalledOut:     b.providers.calledOut,
		Native:        b.types,
		CheckImport:   b.engine.CheckRecordedImport,
		References:    b.references,
		AllowPrivate:  b.config.AllowPrivate,
		FidelityAWS:   b.config.Fidelity == engine.FidelityAWS,
		Progress:      b.notes.progress,
		Retried:       b.metrics.Retried,
		Log:           b.log,
	})
	return err
}

// report reports the outcome of a delivery to the engine.
func (n *Node) report(ctx context.Context, id wire.RequestID, outcome delivery.Outcome) error {
	try := 0
	row := id
	if poll, ok := outcome.(delivery.Poll); ok { // people know the request that waits, not the row that asks again
		id, try, outcome = poll.For, poll.Try, poll.Outcome
	}
	var report engine.Outcome
	switch o := outcome.(type) {
	case delivery.Accepted:
		report = engine.Outcome{Kind: engine.Accepted, Local: o.Local, Within: o.Within, AtOnce: o.Once, Took: o.Took, Delivered: true}
	case delivery.Answered:
		report = engine.Outcome{Kind: engine.Answered, Body: o.Body, Size: o.Size, Delivered: true}
	case delivery.Refused:
		report = engine.Outcome{Kind: engine.Refused, Text: o.Text, Delivered: o.Delivered}
	case delivery.Died:
		if n.notes.died(id, o.Log) && n.stackLogs != nil {
			for _, line := range o.Log {
				n.stackLogs.print("", id, line)
			}
		}
		report = engine.Outcome{Kind: engine.Died, Text: o.Text, Log: o.Log, Delivered: o.Delivered, Error: o.Error, Cause: o.Cause}
	case delivery.Provided:
		report = engine.Outcome{Kind: engine.Provided, Result: o.Result, Text: o.Failure, Delivered: true}
	case delivery.Awaiting:
		report = engine.Outcome{Kind: engine.Awaiting, Result: o.Result, Delivered: true}
	case delivery.Waiting:
		report = engine.Outcome{
			Kind: engine.Waiting, After: o.After, Until: o.Until, Text: o.Reason, ID: o.ID, Pending: o.Pending, Delivered: true,
		}
	case delivery.Silent:
		report = engine.Outcome{
			Kind: engine.Silent, Text: o.Awaits, After: o.Settle, Until: o.Until, Over: o.Over,
			Later: o.Later, Document: o.Document, Delivered: true,
		}
	case delivery.Returned:
		report = engine.Outcome{Kind: engine.Returned, Body: o.Body, Delivered: true}
	default:
		return fmt.Errorf("unknown outcome %T", outcome)
	}
	report.Try = try
	err := n.engine.Report(ctx, row, report)
	if err == nil && report.Kind != engine.Accepted && report.Kind != engine.Awaiting {
		n.notes.end(id)
	}
	return err
}

func (b *builder) hooks() operator.Hooks {
	return operator.Hooks{
		Providers: func(context.Context) ([]operator.Provider, error) { return b.providers.list(), nil },
		Schema: func(ctx context.Context, name string) (json.RawMessage, error) {
			if !b.isOwner(ctx) {
				return nil, &operator.Error{Status: http.StatusForbidden, Message: "only this server's own user can ask " +
					"its providers for their schemas, because that runs their programs"}
			}
			return b.providers.schema(ctx, name)
		},
		PutProvider: func(ctx context.Context, name string, definition json.RawMessage) error {
			if !b.isOwner(ctx) {
				return &operator.Error{Status: http.StatusForbidden, Message: "only this server's own user can define " +
					"its providers: with commands on its data directory, or with --provider and --project at start"}
			}
			return b.providers.put(ctx, name, definition)
		},
		Owner:    func(ctx context.Context) bool { return b.isOwner(ctx) || b.hasOperatorKey(ctx) },
		Keys:     b.sealingKeys,
		Progress: b.providers.progress,
		Logs: func(_ context.Context, id wire.RequestID) ([]string, error) {
			return b.notes.log(id), nil
		},
		StackLogs: b.readStackLogs,
	}
}

// isOwner reports whether a request comes from the user whom this server belongs to.
func (n *Node) isOwner(ctx context.Context) bool {
	id, ok := sigv4.FromContext(ctx)
	return ok && id.AccessKeyID == n.record.Owner.ID
}

// isOperator reports whether a request comes from the server's own user or from a key that may act in the console. With --dev every key may.
func (n *Node) isOperator(ctx context.Context) bool {
	_, ok := sigv4.FromContext(ctx)
	return ok && (n.config.Dev || n.isOwner(ctx) || n.hasOperatorKey(ctx))
}

// hasOperatorKey reports whether a request is signed with a key of the server's file that may act in the console. Signatures of these
// keys are verified with --dev too.
func (n *Node) hasOperatorKey(ctx context.Context) bool {
	id, ok := sigv4.FromContext(ctx)
	if !ok || n.fileKeys == nil {
		return false
	}
	key, ok := n.fileKeys.Lookup(id.AccessKeyID)
	return ok && key.Console == string(console.Operator)
}

// sealingKeys reports which keys the store needs.
func (n *Node) sealingKeys(ctx context.Context) (operator.Keys, error) {
	if !n.isOperator(ctx) {
		return operator.Keys{}, &operator.Error{Status: http.StatusForbidden, Message: "the keys of this server are visible only to its own " +
			"user and to access keys with pintle_console = operator"}
	}
	list, err := n.store.SealingKeys(ctx)
	if err != nil {
		return operator.Keys{}, err
	}
	keys := operator.Keys{Keys: []operator.Key{}, Known: n.keys.IDs(), Resealed: n.maintenance.Status().Resealed}
	for _, key := range list {
		keys.Keys = append(keys.Keys, operator.Key{ID: key.ID, Since: key.Since})
	}
	return keys, nil
}
