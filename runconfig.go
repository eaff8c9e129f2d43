package pintle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// RunConfig configures [Run]: a server, and the source of its requests. [RunConfigFromEnvironment] reads one from the
// environment; Run itself does not.
type RunConfig struct {
	ServerConfig
	// Listen is the address to serve HTTP on, host:port.
	Listen string
	// Listener is the listener to serve HTTP on, instead of Listen. Run closes it.
	Listener net.Listener
	// LambdaRuntimeAPI is the host and port of the Lambda Runtime API.
	LambdaRuntimeAPI string
	// FCRuntimeAPI is the host and port of the runtime API of Alibaba Cloud Function Compute.
	FCRuntimeAPI string
	// FCPort is the port of Function Compute's custom runtime, served on all addresses.
	FCPort string
	// Queue is the URL of a queue of Alibaba Cloud SMQ, formerly MNS:
	// https://ACCOUNT.mns.REGION.aliyuncs.com/queues/NAME.
	Queue string
	// QueueCredentials returns the key that signs calls to the queue. Run calls it for each one.
	QueueCredentials func(context.Context) (ROSCredentials, error)
}

// RunConfigFromEnvironment returns the configuration that the environment describes:
//
//	AWS_LAMBDA_RUNTIME_API                     LambdaRuntimeAPI, set by Lambda and by the pintle command
//	FC_RUNTIME_API                             FCRuntimeAPI, set by Function Compute
//	FC_SERVER_PORT, FC_CUSTOM_LISTEN_PORT      FCPort, set by Function Compute
//	PINTLE_PROVIDER_QUEUE                      Queue
//	PINTLE_PROVIDER_LISTEN                     Listen, unless one of the above is set
//	PINTLE_PROVIDER_TOPICS                     Topics, separated by spaces
//	PINTLE_PROVIDER_LOG                        text or json: the format of the log on standard error
//	PINTLE_WEBHOOK_SECRET                      WebhookSecrets, separated by spaces
//	AWS_ENDPOINT_URL_SNS, AWS_ENDPOINT_URL     SNSEndpoint
//	PINTLE_ROS_SIGN_KEY, _SIGN_HEADERS         ROS.SignKeys and ROS.SignHeaders, separated by spaces
//	PINTLE_ROS_URL                             ROS.URL
//	PINTLE_ROS_SYNC, _INTRANET, _PLAIN_SECRETS ROS.Sync, ROS.Intranet and ROS.PlainSecrets: true or false
//	PINTLE_ROS_TIMEOUT                         ROS.Timeout, like 90s or a number of seconds
//	ALIBABA_CLOUD_ACCESS_KEY_ID, …             QueueCredentials, read for each call
//
// The log is JSON on Lambda and short text elsewhere. The error names each invalid variable; the returned configuration
// lacks those.
func RunConfigFromEnvironment(handlers ...Handler) (RunConfig, error) {
	return runConfig(handlers, os.Stderr)
}

func runConfig(handlers []Handler, stderr io.Writer) (RunConfig, error) {
	c := RunConfig{
		ServerConfig: ServerConfig{
			Handlers:       handlers,
			WebhookSecrets: strings.Fields(os.Getenv("PINTLE_WEBHOOK_SECRET")),
			Topics:         strings.Fields(os.Getenv("PINTLE_PROVIDER_TOPICS")),
			SNSEndpoint:    cmp.Or(os.Getenv("AWS_ENDPOINT_URL_SNS"), os.Getenv("AWS_ENDPOINT_URL")),
		},
		LambdaRuntimeAPI: os.Getenv("AWS_LAMBDA_RUNTIME_API"),
		FCRuntimeAPI:     os.Getenv("FC_RUNTIME_API"),
		FCPort:           cmp.Or(os.Getenv("FC_SERVER_PORT"), os.Getenv("FC_CUSTOM_LISTEN_PORT")),
		Queue:            os.Getenv("PINTLE_PROVIDER_QUEUE"),
		QueueCredentials: queueCredentialsFromEnvironment,
	}
	if c.LambdaRuntimeAPI == "" && c.FCRuntimeAPI == "" && c.FCPort == "" && c.Queue == "" {
		c.Listen = os.Getenv("PINTLE_PROVIDER_LISTEN")
	}
	var logErr, rosErr error
	c.Logger, logErr = loggerFromEnvironment(stderr)
	c.ROS, rosErr = rosFromEnvironment()
	return c, errors.Join(logErr, rosErr)
}

// loggerFromEnvironment returns a logger for the environment in which the program runs.
func loggerFromEnvironment(w io.Writer) (*slog.Logger, error) {
	switch format := os.Getenv("PINTLE_PROVIDER_LOG"); {
	case format == "json", format == "" && os.Getenv("AWS_LAMBDA_FUNCTION_NAME") != "":
		return jsonLogger(w), nil
	case format == "text", format == "":
		return textLogger(w), nil
	default:
		return textLogger(w), fmt.Errorf("PINTLE_PROVIDER_LOG is %.40q, want text or json", format)
	}
}

func rosFromEnvironment() (ROSConfig, error) {
	c := ROSConfig{
		SignKeys:    strings.Fields(os.Getenv("PINTLE_ROS_SIGN_KEY")),
		SignHeaders: strings.Fields(os.Getenv("PINTLE_ROS_SIGN_HEADERS")),
		URL:         os.Getenv("PINTLE_ROS_URL"),
	}
	var problems []error
	for _, flag := range []struct {
		name string
		into *bool
	}{{"PINTLE_ROS_SYNC", &c.Sync}, {"PINTLE_ROS_INTRANET", &c.Intranet}, {"PINTLE_ROS_PLAIN_SECRETS", &c.PlainSecrets}} {
		text := os.Getenv(flag.name)
		if text == "" {
			continue
		}
		var err error
		if *flag.into, err = strconv.ParseBool(text); err != nil {
			problems = append(problems, fmt.Errorf("%s is %.40q, want true or false", flag.name, text))
		}
	}
	if text := os.Getenv("PINTLE_ROS_TIMEOUT"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 16)
		timeout := time.Duration(seconds) * time.Second
		if err != nil {
			timeout, err = time.ParseDuration(text)
		}
		if err != nil || timeout <= 0 {
			problems = append(problems, fmt.Errorf("PINTLE_ROS_TIMEOUT is %.40q, want a time like 90s", text))
		} else {
			c.Timeout = timeout
		}
	}
	return c, errors.Join(problems...)
}

func queueCredentialsFromEnvironment(context.Context) (ROSCredentials, error) {
	c := ROSCredentials{
		KeyID:         os.Getenv("ALIBABA_CLOUD_ACCESS_KEY_ID"),
		Secret:        NewSecret(os.Getenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET")),
		SecurityToken: NewSecret(os.Getenv("ALIBABA_CLOUD_SECURITY_TOKEN")),
	}
	if c.KeyID == "" || c.Secret.IsZero() {
		return c, errors.New("ALIBABA_CLOUD_ACCESS_KEY_ID or ALIBABA_CLOUD_ACCESS_KEY_SECRET is not set")
	}
	return c, nil
}
