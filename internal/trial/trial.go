// Package trial hands one request to one provider of this machine and waits for the answer: what an engine does with a
// request, without stacks, a store or a second try. It is for people who write a provider and want to see what it does.
//
// The provider gets the request on its usual way: as an event of the Lambda Runtime API, of SNS if so wanted, or as a
// signed POST; a request of ROS as an event of Function Compute, or as a POST. The response URL is on loopback, for this one
// request, and is as strict as an engine's.
package trial

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/pintle-dev/pintle/internal/local"
	"github.com/pintle-dev/pintle/internal/remote"
	"github.com/pintle-dev/pintle/wire"
)

// Defaults of [Config].
const (
	DefaultTimeout = 5 * time.Minute

	// lastWords is how long a process may go on after its answer, so that its log is whole.
	lastWords = 2 * time.Second
)

// Config says what is tried.
type Config struct {
	// Provider is what gets the request. Its target may be a URL. Required.
	Provider local.Provider
	// Functions are what Provider calls, if it is made of functions: more processes, whose calls go by Calls.
	Functions []local.Provider
	// Calls are those calls; nil if Provider is not made of functions.
	Calls *remote.Calls
	// Runtime configures the processes; Done, Providers and Log are set by [Run].
	Runtime local.Config
	// Request is what it gets; its response URLs are set by [Run]. In the dialect of ROS its ServiceToken is not sent, but
	// says how the provider is called, as an engine has it from the template. Required.
	Request wire.Request
	// SNS wraps the request in a notification from the topic that is its ServiceToken.
	SNS bool
	// Timeout is how long the answer may take. Zero means [DefaultTimeout].
	Timeout time.Duration
	// WebhookSecret signs the request to a URL, as it is in PINTLE_WEBHOOK_SECRET. Empty means that it is not signed.
	WebhookSecret string
	// Learn is called before the request is sent, with what the provider's program prints for the command schema; nil if
	// that is nothing, or nobody was asked. It may change the type of the request, and returns texts in it that no log may
	// show. Nil learns nothing.
	Learn func(schema []byte, request *wire.Request) (secrets []string)
	// Log gets each scrubbed line of the process, one after the other. Nil drops them.
	Log func(line string)
	// Waiting is told that the provider is done with the request and has not answered. Nil drops it.
	Waiting func()
}

// Result is what came of it.
type Result struct {
	// Response is the provider's; what could be read of one that is not valid. Zero without an answer.
	Response wire.Response
	// Answered says that there is one, valid or not, and Size is its bytes, more than [wire.MaxResponse] if it is too
	// long.
	Answered bool
	Size     int
	// Took is the time from the delivery of the request to its answer, or to the end.
	Took time.Duration
	// Problem says why there is no answer, or why the service would not take it; nil if it would. Its text is scrubbed.
	Problem error
	// Mismatches are fields that should be copies of the request's and are not.
	Mismatches []string
	// Again is how many further answers came. The service ignores them.
	Again int
}

// Run hands the request over and waits. What the provider does wrong is in the result; the error is for what could not
// be tried, and for the end of ctx.
func Run(ctx context.Context, c Config) (Result, error) {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
	if c.Waiting == nil {
		c.Waiting = func() {}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return Result{}, fmt.Errorf("listen for the answer: %w", err)
	}
	t := &trial{config: c, answers: make(chan answer, 1), ended: make(chan error, 1), began: make(chan time.Time, 1)}
	if err := t.sign(listener.Addr()); err != nil {
		return Result{}, errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: t, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	served := make(chan struct{})
	go func() { // until the server is closed, below
		defer close(served)
		_ = server.Serve(listener)
	}()
	result, err := t.run(ctx)
	if closed := server.Close(); err == nil && closed != nil {
		err = closed
	}
	<-served
	result.Again = int(max(t.came.Load()-1, 0))
	return result, err
}

// sign makes the response URL.
func (t *trial) sign(address net.Addr) (err error) {
	if t.config.Request.Dialect == wire.ROS {
		t.signROS(address)
		return nil
	}
	base := &url.URL{Scheme: "http", Host: address.String(), Path: "/response"}
	t.signer, err = wire.NewSigner(wire.SignerConfig{KeyID: "AKIATRIAL", Secret: rand.Text(), Bases: []*url.URL{base}})
	if err != nil {
		return err
	}
	t.key = t.config.Request.Key()
	t.config.Request.ResponseURL, err = t.signer.Sign(base, t.key, time.Now(), wire.SignOptions{})
	if err != nil {
		return fmt.Errorf("response URL: %w", err)
	}
	return nil
}
