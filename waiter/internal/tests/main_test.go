//go:build unix

package tests_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/dev/pgtest"
	"github.com/pintle-dev/pintle/waiter"
)

var servers pgtest.Shared

// TestMain makes this binary also a provider.
func TestMain(m *testing.M) {
	if os.Getenv("WAITER_LEDGER") != "" {
		if err := provide(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(servers.Main(m))
}

var key = []byte(strings.Repeat("k", 32))

// databases are the databases of all tests: each has a driver and a function that creates an empty database.
var databases = map[string]func(t *testing.T) (driver, dsn string){
	"sqlite": func(t *testing.T) (string, string) {
		return "sqlite", "file:" + filepath.Join(t.TempDir(), "waits.db") + "?_pragma=journal_mode(WAL)"
	},
	"postgres": func(t *testing.T) (string, string) { return "pgx", servers.Server(t).Database(t) },
}

// provide runs the provider: HTTP on an inherited listener, with the waits in the database.
func provide() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := sql.Open(os.Getenv("WAITER_DRIVER"), os.Getenv("WAITER_DSN"))
	if err != nil {
		return err
	}
	defer db.Close()
	w, err := waiter.New(ctx, waiter.Config{DB: db, Keys: [][]byte{key}, Lease: time.Second, PollInterval: 20 * time.Millisecond, Concurrency: 4})
	if err != nil {
		return err
	}
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	return pintle.Run(ctx, pintle.RunConfig{ServerConfig: pintle.ServerConfig{
		Handlers:      []pintle.Handler{pintle.New(slow{os.Getenv("WAITER_LEDGER")})},
		AllowUnsigned: true,
		Waiter:        w,
		Idempotency:   w,
		Logger:        slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}, Listener: listener})
}

// slow is a provider that asks a ledger whether it is done.
type slow struct{ ledger string }

type properties struct {
	Name   string
	Secret pintle.Secret
}

type attributes struct{ Secret pintle.Secret }

func (s slow) Create(ctx context.Context, r *pintle.CreateRequest[properties]) (pintle.Response[attributes], error) {
	_, err := s.note(ctx, "create", r.Properties.Name, 0)
	return pintle.Response[attributes]{ID: pintle.PhysicalID("made-" + r.Properties.Name), State: 0}, err
}

func (s slow) Update(context.Context, *pintle.UpdateRequest[properties]) (pintle.Response[attributes], error) {
	return pintle.Response[attributes]{}, nil
}

func (s slow) Delete(context.Context, *pintle.DeleteRequest[properties]) error { return nil }

// Poll counts in its state, which therefore shows the age of a resumed record.
func (s slow) Poll(ctx context.Context, r *pintle.PollRequest[properties]) (pintle.Progress[attributes], error) {
	var step int
	if err := json.Unmarshal(r.State, &step); err != nil {
		return pintle.Progress[attributes]{}, err
	}
	done, err := s.note(ctx, "ready", r.Properties.Name, step)
	return pintle.Progress[attributes]{Done: done, State: step + 1, After: 600 * time.Millisecond, Attributes: attributes{r.Properties.Secret}}, err
}

// note reports to the ledger, over a connection that breaks when this process dies.
func (s slow) note(ctx context.Context, what, name string, step int) (done bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.ledger+"/"+what+"/"+name+"/"+strconv.Itoa(step), nil)
	if err != nil {
		return false, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 100))
	return string(text) == "done", err
}
