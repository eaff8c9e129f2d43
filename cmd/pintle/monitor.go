package main

import (
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/metrics"
)

// monitorOptions say how a server is watched.
type monitorOptions struct {
	metrics, tokenFile, auditLog string
}

func (o *monitorOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.metrics, "metrics", "", "`ADDRESS` that serves only /metrics, host:port (default: --listen, with --dev or a token)")
	flags.StringVar(&o.tokenFile, "metrics-token-file", "", "`FILE` with the bearer token for scrapes")
	flags.StringVar(&o.auditLog, "audit-log", "", "`FILE` for the audit log, one line of JSON per requested change; - is standard output; reopened on SIGHUP")
}

func (o *monitorOptions) apply(w *workdir, c *node.Config) (err error) {
	c.Metrics.Listen = o.metrics
	if o.metrics != "" {
		if _, _, err := net.SplitHostPort(o.metrics); err != nil {
			return usagef("use host:port, for example 127.0.0.1:9464", "--metrics %q is not an address", o.metrics)
		}
	}
	if o.tokenFile != "" {
		if c.Metrics.Token, err = metrics.ReadToken(w.path(o.tokenFile)); err != nil {
			return usagef("", "--metrics-token-file: %w", err)
		}
	}
	return nil
}

// openAudit opens the audit log, and has it opened again at every SIGHUP until it is closed. Without one it returns nil.
func (o *monitorOptions) openAudit(sh *shell, log *slog.Logger) (_ *audit.Log, closeLog func() error, err error) {
	if o.auditLog == "" {
		return nil, func() error { return nil }, nil
	}
	path := o.auditLog
	if path != "-" {
		path = sh.path(path)
	}
	audited, err := audit.Open(path, sh.stdout)
	if err != nil {
		return nil, nil, usagef("", "--audit-log: %w", err)
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range hangups {
			if err := audited.Reopen(); err != nil {
				log.Error("cannot reopen the audit log; continuing with the open file", "error", err)
			}
		}
	}()
	return audited, func() error {
		signal.Stop(hangups)
		close(hangups) // nothing is sent to it any more
		<-done
		return audited.Close()
	}, nil
}
