package pintle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pintle-dev/pintle/internal/base/trace"
)

// ErrNoRuntime is the error of [Run] if nothing is configured to send it requests.
var ErrNoRuntime = errors.New("none of AWS_LAMBDA_RUNTIME_API, FC_RUNTIME_API, FC_SERVER_PORT, PINTLE_PROVIDER_QUEUE and PINTLE_PROVIDER_LISTEN is set")

// exitNoSchema is the exit status of the command schema for handlers without one. The pintle command knows it.
const exitNoSchema = 3

const usage = `This program is a provider of custom resources. Something must hand it requests:

  On this machine:  pintle deploy DIR --provider NAME=%[1]s
  On AWS Lambda:    name it bootstrap, put it into a zip file, and make a function of it with the runtime provided.al2023
  Over HTTP:        %[1]s --listen HOST:PORT
  On Alibaba Cloud: a function of Function Compute (custom runtime, the executable is its start command), over HTTP, or
                    from a queue of SMQ with --queue URL

Commands:
  schema            print the properties and attributes of its resource types as JSON Schema

Flags:
  --listen ADDRESS  serve HTTP (PINTLE_PROVIDER_LISTEN); requests are signed with PINTLE_WEBHOOK_SECRET, which pintle env prints
  --topic ARN       take the notifications of this SNS topic, which is signed by SNS; may be repeated (PINTLE_PROVIDER_TOPICS).
                    For ROS, the pushes of a topic of SMQ: acs:mns:REGION:ACCOUNT:topics/NAME
  --queue URL       take requests of ROS from this queue of SMQ (PINTLE_PROVIDER_QUEUE), with the key in
                    ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET
  --unsigned        take requests from everybody, on a loopback address only

Environment, for ROS:
  PINTLE_ROS_SIGN_KEY       the SignKey in HttpConfig: requests over HTTP must be signed with it
  PINTLE_ROS_SYNC           true: the answer is the reply, for tokens web[sync]; a path that ends in /sync says so too
  PINTLE_ROS_INTRANET       true: answer at the URL that is reachable inside Alibaba Cloud only
  PINTLE_ROS_TIMEOUT        the Timeout of the templates, which requests do not tell; 1h if not set
  PINTLE_ROS_PLAIN_SECRETS  true: attributes that are secret are sent, and ROS shows them
  More: PINTLE_ROS_SIGN_HEADERS, PINTLE_ROS_URL; see the package documentation.
`

// Main serves the handlers until the program gets an interrupt or SIGTERM, then exits with status 0. It exits with 1
// after an error, and with 2 and an explanation after wrong usage. A request in progress is finished first; a second
// signal ends the program immediately.
//
// The environment, see [RunConfigFromEnvironment], and the command line decide what it serves. The flag --listen serves
// HTTP, and --queue takes requests from a queue of SMQ. The command "schema" prints the schema of the handlers that [New]
// made, or exits with 3 if there is none. --help prints all flags.
func Main(handlers ...Handler) { os.Exit(run(handlers, os.Args, os.Stdout, os.Stderr)) }

func run(handlers []Handler, args []string, stdout, stderr io.Writer) int {
	var listen, queue string
	var unsigned bool
	var topics []string
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&listen, "listen", "", "")
	flags.StringVar(&queue, "queue", "", "")
	flags.BoolVar(&unsigned, "unsigned", false, "")
	flags.Func("topic", "", func(topic string) error {
		topics = append(topics, topic)
		return nil
	})
	switch err := flags.Parse(args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, usage, args[0])
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n\n"+usage, args[0], err)
		return 2
	}
	switch {
	case flags.NArg() == 1 && flags.Arg(0) == "schema":
		text, err := Schema(handlers...)
		switch {
		case errors.Is(err, errNoSchema):
			fmt.Fprintln(stderr, err)
			return exitNoSchema
		case err != nil:
			fmt.Fprintln(stderr, err)
			return 1
		}
		fmt.Fprintf(stdout, "%s\n", text)
		return 0
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "%[2]s: unknown command %[3]q\n\n"+usage, args[0], args[0], flags.Arg(0))
		return 2
	}
	c, err := runConfig(handlers, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", args[0], err)
		if c.LambdaRuntimeAPI != "" {
			_ = newLambdaAPI(c.LambdaRuntimeAPI).failInit(context.Background(), "Pintle.BadConfiguration", err) // the error is also printed below
		}
		return 2
	}
	c.AllowUnsigned = unsigned
	if listen != "" {
		c.Listen, c.LambdaRuntimeAPI, c.FCRuntimeAPI, c.FCPort, c.Queue = listen, "", "", "", ""
	}
	if queue != "" {
		c.Queue, c.LambdaRuntimeAPI, c.FCRuntimeAPI, c.FCPort = queue, "", "", ""
		c.Listen = listen // the address in the environment does not count
	}
	if topics != nil {
		c.Topics = topics
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // after the first signal, the next one has its default effect
	err = Run(ctx, c)
	switch {
	case errors.Is(err, ErrNoRuntime):
		fmt.Fprintf(stderr, usage, args[0])
		return 2
	case err != nil:
		c.Logger.Error("provider stopped", "error", err)
		return 1
	}
	return 0
}

// Run serves the handlers until the context ends, which is not an error. A request in progress is finished first.
//
// It serves the first of these that c configures: HTTP at Listener or Listen, the Lambda Runtime API, the runtime API of
// Function Compute, Function Compute's custom runtime, a queue. Without any of them it returns [ErrNoRuntime]. It returns
// an error when that service becomes unusable, and [ErrHandlerStuck] when a handler has ignored its deadline and is still
// running; the program should then exit.
func Run(ctx context.Context, c RunConfig) error {
	web := c.Listen != "" || c.Listener != nil
	if !web && c.LambdaRuntimeAPI == "" && c.FCRuntimeAPI == "" && c.FCPort == "" && c.Queue == "" {
		return ErrNoRuntime
	}
	if !web && (c.LambdaRuntimeAPI != "" || c.FCRuntimeAPI != "" || c.FCPort == "") {
		c.WebhookSecrets, c.Topics = nil, nil // these are for HTTP, so errors in them do not matter here
	}
	s, err := NewServer(c.ServerConfig)
	if err == nil && c.Client == nil {
		defer s.sender.client.CloseIdleConnections()
	}
	if !web && c.LambdaRuntimeAPI != "" {
		api := newLambdaAPI(c.LambdaRuntimeAPI)
		defer api.client.CloseIdleConnections()
		if err != nil {
			return errors.Join(err, api.failInit(ctx, "Pintle.BadConfiguration", err))
		}
		return s.withWaiter(ctx, func(ctx context.Context) error { return s.invocations(ctx, api) })
	}
	if err != nil {
		return err
	}
	switch {
	case web:
		return s.withWaiter(ctx, func(ctx context.Context) error { return s.listen(ctx, c) })
	case c.FCRuntimeAPI != "":
		return s.withWaiter(ctx, func(ctx context.Context) error { return s.pollFC(ctx, c.FCRuntimeAPI) })
	case c.FCPort != "":
		return s.withWaiter(ctx, func(ctx context.Context) error { return s.listenFC(ctx, c.FCPort) })
	}
	if c.QueueCredentials == nil {
		return errors.New("the queue needs QueueCredentials")
	}
	q, err := newMNSQueue(c.Queue, c.QueueCredentials, s.clock)
	if err != nil {
		return err
	}
	return s.withWaiter(ctx, func(ctx context.Context) error { return s.pollQueue(ctx, q) })
}

// withWaiter runs the waiter, if it has a Run method, in parallel with serve. It returns when both have returned.
func (s *Server) withWaiter(ctx context.Context, serve func(context.Context) error) error {
	waiter, ok := s.waiter.(RunningWaiter)
	if !ok {
		return serve(ctx)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { // ends with the context
		err := waiter.Run(ctx, s.Resume)
		if err == nil && ctx.Err() == nil {
			err = errors.New("the waiter has stopped")
		}
		ended <- err
		stop()
	}()
	err := serve(ctx)
	stop()
	return errors.Join(err, <-ended)
}

// invocations takes events from the runtime API until the context ends.
func (s *Server) invocations(ctx context.Context, api lambdaAPI) error {
	for {
		next, err := api.next(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // a cancelled context is not an error
		}
		if err != nil {
			return err
		}
		// An event in progress is finished: a late stop is better than half an answer.
		if err := s.invoked(context.WithoutCancel(ctx), api, next); err != nil {
			return err
		}
	}
}

// invoked handles one event of the runtime API. An error means that the program cannot continue.
func (s *Server) invoked(ctx context.Context, api lambdaAPI, i invocation) error {
	ctx = trace.NewContext(ctx, i.trace)
	result, running, err := s.event(ctx, i.event, i.deadline, i.waits)
	runaway := errors.Is(err, ErrHandlerStuck) // from a handler that an EventWaiter has resumed
	var bad *badEventError
	switch {
	case errors.As(err, &bad):
		s.log.Error("event refused", "error", err)
		return api.fail(ctx, i.id, "Pintle.BadEvent", err)
	case err != nil:
		s.log.Error("event not answered", "error", err)
		err = api.fail(ctx, i.id, "Pintle.NotAnswered", err)
	default:
		err = api.succeed(ctx, i.id, result)
	}
	switch {
	case err != nil:
		return err
	case runaway:
		return ErrHandlerStuck
	case running == nil:
		return nil
	}
	return s.join(ctx, running, i.deadline)
}

// listen serves HTTP until the context ends.
func (s *Server) listen(ctx context.Context, c RunConfig) error {
	if s.web.closed() && len(s.ros.SignKeys) == 0 {
		return errors.New("requests over HTTP could not be verified: set PINTLE_WEBHOOK_SECRET, which pintle env prints, or for ROS " +
			"PINTLE_ROS_SIGN_KEY, or allow topics with --topic; --unsigned takes requests from everybody on this machine")
	}
	listener := c.Listener
	if listener == nil {
		var err error
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen); err != nil {
			return err
		}
	}
	defer listener.Close()
	if address, ok := listener.Addr().(*net.TCPAddr); s.web.unsigned && (!ok || !address.IP.IsLoopback()) {
		return fmt.Errorf("requests that are not signed are taken on a loopback address only, and %s is none", listener.Addr())
	}
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute + s.web.hold,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	s.log.Info("listening", "address", listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }() // ends with Shutdown
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// Bounded by the deadlines of the requests in progress.
	finish := context.WithoutCancel(ctx)
	return errors.Join(server.Shutdown(finish), s.Shutdown(finish))
}
