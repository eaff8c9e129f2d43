package main

import (
	"net"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/metrics"
)

// monitorOptions say how a server is watched.
type monitorOptions struct {
	metrics, tokenFile string
}

func (o *monitorOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.metrics, "metrics", "", "`ADDRESS` at which Prometheus finds /metrics and nothing else, host:port (default: with --dev or a token, at --listen)")
	flags.StringVar(&o.tokenFile, "metrics-token-file", "", "`FILE` with the bearer token that scrapes have to show")
}

func (o *monitorOptions) apply(a *app, c *node.Config) (err error) {
	c.Metrics.Listen = o.metrics
	if o.metrics != "" {
		if _, _, err := net.SplitHostPort(o.metrics); err != nil {
			return usagef("give host:port, e.g. 127.0.0.1:9464", "--metrics %q is no address", o.metrics)
		}
	}
	if o.tokenFile != "" {
		if c.Metrics.Token, err = metrics.ReadToken(a.path(o.tokenFile)); err != nil {
			return usagef("", "--metrics-token-file: %w", err)
		}
	}
	return nil
}
