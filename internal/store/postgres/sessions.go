package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errPooled says that a pooler between this process and the database doesn't keep a session for each connection.
var errPooled = errors.New("a connection pooler lends one session of the database to several connections, but Pintle needs a session for each of its " +
	"connections: set pool_mode = session in PgBouncer, or connect to PostgreSQL directly")

// sessionMark is a parameter that only Pintle sets, to recognize a session.
const sessionMark = "pintle.session"

// first opens the first connection to a database. It rejects a database behind a pooler that assigns sessions by
// transaction or by statement. With such a pooler the settings of a session, such as synchronous_commit, would apply to
// the next client of the session instead of the connection that set them.
func (a address) first(ctx context.Context, what use) (conn *pgx.Conn, err error) {
	one, err := pgx.ConnectConfig(ctx, a.config.Copy())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, one.Close(context.WithoutCancel(ctx)))
		}
	}()
	two, err := pgx.ConnectConfig(ctx, a.config.Copy())
	if err != nil {
		return nil, err
	}
	err = apart(ctx, one.PgConn(), two.PgConn())
	if err := errors.Join(err, two.Close(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	return one, a.settle(ctx, one, what)
}

// apart returns errPooled unless one and two are separate sessions. It doesn't prepare statements, since a pooler may
// not keep those either.
func apart(ctx context.Context, one, two *pgconn.PgConn) error {
	bounded, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	name := rand.Text()
	if _, err := ask(bounded, one, fmt.Sprintf("SET %s = '%s'", sessionMark, name)); err != nil {
		return err
	}
	// A pooler gives two the session that one has just used or, while two's transaction holds that session, gives one
	// another.
	if _, err := ask(bounded, two, "BEGIN"); err != nil {
		var refused *pgconn.PgError
		if errors.As(err, &refused) { // by a pooler that assigns sessions by statement
			return errPooled
		}
		return err
	}
	const read = "SELECT current_setting('" + sessionMark + "', true)"
	ofTwo, err := ask(bounded, two, read)
	if err != nil {
		return err
	}
	if ofTwo == name {
		return errPooled
	}
	ofOne, err := ask(bounded, one, read)
	if err != nil {
		return err
	}
	if ofOne != name {
		return errPooled
	}
	_, err = ask(bounded, two, "ROLLBACK")
	return err
}

// ask runs one statement and returns the first value of its result, if it has one.
func ask(ctx context.Context, conn *pgconn.PgConn, statement string) (string, error) {
	results, err := conn.Exec(ctx, statement).ReadAll()
	if err != nil || len(results) == 0 || len(results[0].Rows) == 0 {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}
