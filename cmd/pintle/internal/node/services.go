package node

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/events/eventsapi"
	"github.com/pintle-dev/pintle/internal/cloud/lambda/lambdaapi"
	"github.com/pintle-dev/pintle/internal/cloud/logs/logsapi"
	"github.com/pintle-dev/pintle/internal/cloud/objects/ossapi"
	"github.com/pintle-dev/pintle/internal/cloud/objects/s3api"
	"github.com/pintle-dev/pintle/internal/cloud/recorded"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager/secretsapi"
	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/cloud/sns/snsapi"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/cloud/ssm/ssmapi"
	"github.com/pintle-dev/pintle/internal/cloud/states"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/wire"
)

// The bounds of APIs whose calls are larger, or longer, than others.
const (
	maxFunctionBody = 72 << 20 // a zip file of 50 MB in base64
	functionTimeout = 16 * time.Minute
	objectTimeout   = time.Hour
)

// openServices adds services to the configuration of the server: the Parameter Store, the services through which local providers call
// back, with the certificate of notifications, and those of the local AWS emulation if it is on.
func (b *builder) openServices(context.Context) error {
	c := &b.door
	own := registry.New(b.store)
	parameters, err := ssmapi.New(ssmapi.Config{
		Store: ssm.NewOwn(b.store), Tags: own.Tags, Records: own.Records, Partition: wire.Partition, Caller: sigv4.Caller, Log: b.log,
	})
	if err != nil {
		return err
	}
	c.Services = map[string]server.Service{"ssm": server.JSONService(parameters)}
	if b.functions == nil {
		return nil
	}
	certificate := b.notifications.Certificate()
	path := strings.TrimSuffix(c.PublicURL.Path, "/") + notification.CertificatePath
	c.Unsigned = func(r *http.Request) http.Handler {
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, path) {
			return certificate
		}
		return nil
	}
	c.Bodies = map[string]int64{"lambda": maxFunctionBody, "events": eventsapi.MaxBody}
	functions, err := lambdaapi.New(lambdaapi.Config{Functions: b.functions, Caller: sigv4.Caller, Log: b.log})
	if err != nil {
		return err
	}
	c.Services["lambda"] = long(server.JSONService(functions), functionTimeout)
	tokens, err := query.NewTokens(c.TokenKey)
	if err != nil {
		return err
	}
	schedules, err := eventsapi.New(eventsapi.Config{Rules: b.rules, Caller: b.rulesCaller, Tokens: tokens, Log: b.log})
	if err != nil {
		return err
	}
	c.Services["events"] = server.JSONService(schedules)
	if b.cloud == nil {
		return nil
	}
	if c.Sessions, err = sigv4.NewSessions(b.store.Root().Derive("sessions")); err != nil {
		return err
	}

	buckets, err := s3api.New(s3api.Config{Objects: b.cloud.objects, Notifications: b.cloud.events, Caller: sigv4.Caller, Log: b.log})
	if err != nil {
		return err
	}
	c.Services["s3"] = long(server.Service{Handler: buckets, Refuse: func(w http.ResponseWriter, r *http.Request, e *query.Error) {
		s3api.WriteError(w, r, e.Code, e.Message, e.Status)
	}}, objectTimeout)

	store, err := ossapi.New(ossapi.Config{Objects: b.cloud.objects, Caller: sigv4.Caller, Log: b.log})
	if err != nil {
		return err
	}
	c.Services["oss"] = long(server.OSSService(store), objectTimeout)

	machines, err := states.New(states.Config{
		Machines: b.cloud.catalog.Machines, Engine: b.engine, Caller: sigv4.Caller, Log: b.log,
	})
	if err != nil {
		return err
	}
	c.Services["states"] = server.JSONService(machines)

	groups, err := logsapi.New(logsapi.Config{
		Groups: b.cloud.catalog.Groups, Records: b.cloud.catalog.Records, Streams: b.cloud.logs.streams,
		Caller: sigv4.Caller, Tokens: tokens, Log: b.log,
	})
	if err != nil {
		return err
	}
	c.Services["logs"], c.Bodies["logs"] = server.JSONService(groups), logsapi.MaxBody

	stored, err := secretsapi.New(secretsapi.Config{
		Secrets: secretsmanager.New(b.cloud.catalog.Secrets, nil), Caller: sigv4.Caller, Tokens: tokens, Log: b.log,
	})
	if err != nil {
		return err
	}
	c.Services["secretsmanager"], c.Bodies["secretsmanager"] = server.JSONService(stored), secretsapi.MaxBody

	if err := b.openRecorded(c); err != nil {
		return err
	}

	messages, err := snsapi.New(snsapi.Config{Topics: b.cloud.topics, Caller: sigv4.Caller, Tokens: tokens, Log: b.log})
	if err != nil {
		return err
	}
	c.Services["sns"] = server.QueryService(messages, snsapi.Version)
	open, follow := c.Unsigned, snsapi.Follow(messages)
	c.Unsigned = func(r *http.Request) http.Handler {
		if snsapi.Unsigned(r) {
			return follow
		}
		return open(r)
	}
	return nil
}

// openRecorded adds the services that answer calls about recorded resources.
func (b *builder) openRecorded(c *server.Config) error {
	about, err := recorded.New(recorded.Config{
		Catalog: b.cloud.catalog, Caller: sigv4.Caller, Log: b.log,
		Zones: func(region string) []string {
			if zones := b.config.Zones[region]; len(zones) > 0 {
				return zones
			}
			return []string{region + "a", region + "b", region + "c"}
		},
	})
	if err != nil {
		return err
	}
	for _, service := range recorded.Services() {
		c.Bodies[service] = awsapi.MaxBody
		c.Services[service] = server.Service{
			Handler: about.Handler(service), Paths: true, Refuse: func(w http.ResponseWriter, _ *http.Request, e *query.Error) {
				about.Refuse(service, w, &awsapi.Error{Code: e.Code, Message: e.Message, Status: e.Status})
			},
		}
	}
	return nil
}

// long makes an API one with paths of its own, whose calls may take their time.
func long(face server.Service, timeout time.Duration) server.Service {
	face.Paths, face.Timeout = true, timeout
	return face
}
