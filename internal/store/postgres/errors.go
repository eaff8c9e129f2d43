package postgres

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// errConflict is the error of a batch whose stacks differ from the locked ones, because another node was faster.
var errConflict = errors.New("the stack was changed by another node meanwhile")

// errStale is the error of a batch whose decisions used outdated images.
var errStale = errors.New("the stack was changed by another node since it was read")

// errUnclear is the error of a batch that may or may not have been committed.
var errUnclear = errors.New("the connection broke during the commit, and whether that was done cannot be seen: repeat the call")

// errUnassured is the error of a commit that is on the primary but that no standby has confirmed.
var errUnassured = errors.New("no synchronous standby has confirmed the commit: see that one runs and is connected to the primary")

// memberError is the result of a member that wrote nothing and does not affect the others: the decision's own error.
type memberError struct{ error }

func (v memberError) Unwrap() error { return v.error }

// lost is the error of a batch whose connection broke. committing says that this happened during the commit, which may
// have succeeded.
type lost struct {
	error
	committing bool
}

func (l lost) Unwrap() error { return l.error }

// offline reports whether the database cannot be reached, disappeared, or cannot serve at the moment. The statement
// itself is not at fault.
func offline(err error) bool {
	if errors.Is(err, errUnassured) {
		return true
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code {
		case "57P01", "57P02", "57P03", // shuts down, crashed, starts
			"25P03", "25P04", // ended an idle transaction
			"25006", // read-only: another server is now the primary
			"53300", // no connection left
			"58000", "58030":
			return true
		}
		return refused.Code[:min(2, len(refused.Code))] == "08" || refused.SeverityUnlocalized == "FATAL" && !wrong(refused)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, context.DeadlineExceeded)
}

// stoodStill reports whether the server ended a transaction because it was idle for too long.
func stoodStill(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "25P03"
}

// wrong reports whether a connection was refused because of its parameters, so that a retry cannot succeed.
func wrong(refused *pgconn.PgError) bool {
	switch refused.Code[:min(2, len(refused.Code))] {
	case "28", "3D", "42", "22":
		return true
	}
	return false
}

// repeatable reports whether the statement can be retried: after a serialisation failure, a deadlock, or a lock
// timeout.
func repeatable(err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case "40001", "40P01", "55P03":
		return true
	}
	return false
}

// conflicting reports whether the rows have changed since they were read.
func conflicting(err error) bool {
	var refused *pgconn.PgError
	return errors.Is(err, errConflict) || errors.As(err, &refused) && refused.Code == "22012" // see exactly and takeTurns
}

// damaged reports whether the server has found damage in its data. Source: PostgreSQL, error codes, class XX.
func damaged(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "XX001" || refused.Code == "XX002")
}

// explain returns err with the database and a remedy, and records damage.
func (s *Store) explain(err error) error {
	explained := s.address.explain(err)
	if damaged(err) {
		s.damage.Note(explained)
	}
	return explained
}
