package postgres

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// errConflict is the failure of a batch whose stacks are not what was locked: someone was quicker.
var errConflict = errors.New("the stack was changed by another node meanwhile")

// errStale is the failure of a batch that was decided on images which were no longer true.
var errStale = errors.New("the stack was changed by another node since it was read")

// errUnclear is the failure of a batch of which no one can say whether it was committed.
var errUnclear = errors.New("the connection broke during the commit, and whether that was done cannot be seen: repeat the call")

// errUnassured is the failure of a commit that was done on the primary while no standby has confirmed it.
var errUnassured = errors.New("no synchronous standby has confirmed the commit: see that one runs and is connected to the primary")

// verdict is the outcome of a member that wrote nothing and disturbs no one: the decision's own error.
type verdict struct{ error }

func (v verdict) Unwrap() error { return v.error }

// lost is the failure of a batch whose connection broke. Committing says that the commit was on its way, so that it may
// have been done.
type lost struct {
	error
	committing bool
}

func (l lost) Unwrap() error { return l.error }

// offline reports whether the database could not be reached, went away, or cannot serve for now: nothing is wrong with
// what was asked.
func offline(err error) bool {
	if errors.Is(err, errUnassured) {
		return true
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch refused.Code {
		case "57P01", "57P02", "57P03", // it shuts down, crashed, starts
			"25P03", "25P04", // it ended a transaction that stood still
			"25006", // it only reads: the primary is elsewhere by now
			"53300", // it has no connection left
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

// stoodStill reports whether the server ended a transaction because nothing came for too long.
func stoodStill(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == "25P03"
}

// wrong reports whether a connection was refused for what it asked, so that asking again helps no one.
func wrong(refused *pgconn.PgError) bool {
	switch refused.Code[:min(2, len(refused.Code))] {
	case "28", "3D", "42", "22":
		return true
	}
	return false
}

// repeatable reports whether the database asks for another try: a serialisation failure, a deadlock, a lock that was
// waited for too long.
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

// conflicting reports whether the rows were not as they had been read.
func conflicting(err error) bool {
	var refused *pgconn.PgError
	return errors.Is(err, errConflict) || errors.As(err, &refused) && refused.Code == "22012" // of expect
}

// damaged reports whether the server has found damage in its data. Source: PostgreSQL, error codes, class XX.
func damaged(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "XX001" || refused.Code == "XX002")
}

// explain returns err with the database and a remedy, and records damage.
func (s *Store) explain(err error) error {
	told := s.address.explain(err)
	if damaged(err) {
		s.damage.Note(told)
	}
	return told
}
