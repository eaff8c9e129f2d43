package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// connectWithin limits one attempt to connect to one host.
	connectWithin = 5 * time.Second
	// answerWithin limits a round trip: a server that is silent for longer is considered lost. The server's own timeout
	// is shorter.
	answerWithin = 40 * time.Second
	// defaultSchema holds the tables unless the address sets a search_path.
	defaultSchema = "pintle"
)

// use is the purpose of a connection.
type use int

const (
	reading use = iota
	writing
)

// address is the address of a database.
type address struct {
	config *pgx.ConnConfig
	schema string // first in the search path
	shown  string // for people: without the password
}

// parse reads an address. Its error does not quote the address, because any part of an invalid one may be the password.
func parse(dsn string) (address, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return address{}, errors.New("the address of the database cannot be read: give it as postgres://user@host:5432/name?sslmode=verify-full, " +
			"with special characters of the password written as %XX, or leave the password to PGPASSWORD or a .pgpass file")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectWithin
	}
	// A host that vanishes is detected in about ten seconds, even while the client only waits for its answer.
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}}
	config.DialFunc = dialer.DialContext
	config.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			conn.CustomData()[warned] = true
		}
	}
	set := func(name, value string) {
		if _, ok := config.RuntimeParams[name]; !ok {
			config.RuntimeParams[name] = value
		}
	}
	set("application_name", "pintle")
	a := address{config: config, schema: defaultSchema}
	if path, ok := config.RuntimeParams["search_path"]; ok {
		a.schema = path
		delete(config.RuntimeParams, "search_path") // poolers accept few startup parameters; settle sets it
	}
	a.shown = fmt.Sprintf("%s at %s", config.Database, net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
	return a, nil
}

// sessionSettings applies the settings of a connection for its use, as far as the server supports them. A batch waits
// for a lock longer than a stalled node can hold it, and no statement hangs forever. Acknowledged commits are on disk,
// even if the default differs. Every query has an index, which a plan made while the tables were empty might not use.
const sessionSettings = `SELECT set_config(s.name, w.value, false)
FROM pg_settings s JOIN (VALUES
	('search_path', $3), ('statement_timeout', '30000'), ('lock_timeout', '8000'), ('idle_in_transaction_session_timeout', '5000'),
	('synchronous_commit', $2), ('jit', 'off'), ('default_transaction_isolation', 'read committed'),
	('enable_seqscan', $1), ('enable_hashjoin', $1), ('enable_mergejoin', $1), ('plan_cache_mode', 'force_generic_plan')
) w (name, value) ON s.name = w.name
WHERE w.value <> '' AND ($1 = 'off' OR w.name NOT LIKE 'enable_%' AND w.name <> 'plan_cache_mode')`

// connect opens a connection.
func (a address) connect(ctx context.Context, what use) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, a.config.Copy())
	if err != nil {
		return nil, err
	}
	if err := a.settle(ctx, conn, what); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// settle applies the settings of a new connection.
func (a address) settle(ctx context.Context, conn *pgx.Conn, what use) error {
	plans := "on"
	if what == writing {
		plans = "off"
	}
	commit := ""
	if _, ok := a.config.RuntimeParams["synchronous_commit"]; !ok {
		if err := conn.QueryRow(ctx, "SELECT current_setting('synchronous_commit')").Scan(&commit); err != nil {
			return err
		}
		if commit != "remote_apply" { // remote_apply is stricter
			commit = "on"
		}
	}
	_, err := conn.Exec(ctx, sessionSettings, plans, commit, a.schema)
	return err
}

// warned is the key under which a connection records a warning of the server.
const warned = "pintle.warned"

// unwarned clears the record of warnings.
func unwarned(conn *pgx.Conn) { delete(conn.PgConn().CustomData(), warned) }

// assured returns errUnassured if the server has warned since unwarned. Our statements cause a warning in one case
// only: the commit waited for a standby, and a timeout or an operator ended the wait. The server reports such a commit
// as done, but it is on this server only, and is lost if the server dies now.
func assured(conn *pgx.Conn) error {
	if _, ok := conn.PgConn().CustomData()[warned]; ok {
		return errUnassured
	}
	return nil
}

// pool returns a pool of connections for queries, which are opened on demand.
func (a address) pool(size int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig("") // the only way to create a config
	if err != nil {
		return nil, err
	}
	config.ConnConfig = a.config.Copy()
	config.MaxConns = int32(min(max(size, 1), 1<<15))
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return a.settle(ctx, conn, reading) }
	return pgxpool.NewWithConfig(context.Background(), config)
}

// explain returns err with the database and a remedy, if the error comes from the database.
func (a address) explain(err error) error {
	if err == nil {
		return nil
	}
	remedy := ""
	var refused *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &refused):
		remedy = remedyOf(refused)
	case errors.As(err, &connect), offline(err):
		remedy = "see that it runs and can be reached from here"
	default:
		return err
	}
	if remedy != "" {
		return fmt.Errorf("database %s: %w (%s)", a.shown, err, remedy)
	}
	return fmt.Errorf("database %s: %w", a.shown, err)
}

func remedyOf(refused *pgconn.PgError) string {
	switch refused.Code {
	case "XX001", "XX002":
		return "the data of the server is damaged: stop it, keep its files aside, and restore a backup"
	case "28P01", "28000":
		return "check user and password"
	case "3D000":
		return "make it with createdb"
	case "42501":
		return "grant the user CREATE on the database, or the rights on its schema pintle"
	case "25006":
		return "it only reads, like a standby: name all hosts and add target_session_attrs=read-write"
	case "53100":
		return "its disk is full: free some space and repeat; no data was lost"
	case "53300":
		return "raise its max_connections, or run fewer nodes"
	case "22012", "23505", "23514":
		return "an impossible row was refused and nothing written: this is a mistake in Pintle"
	case "3F000", "42P01", "42703":
		return "its tables are not Pintle's: name another database"
	}
	return ""
}
