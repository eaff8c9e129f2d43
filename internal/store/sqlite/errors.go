package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// errConflict is the error of a member whose operation another process has written since it was read.
var errConflict = errors.New("the operation was changed by another process: this data directory has two engines")

// memberError is the result of a member that wrote nothing and does not affect the others: the decision's own error.
type memberError struct{ error }

func (v memberError) Unwrap() error { return v.error }

// notBegun is the error of a transaction that ran no member, so no member caused it. It is not repeated: while another
// program holds the file, each repetition would only wait for the whole busy_timeout.
type notBegun struct{ error }

func (n notBegun) Unwrap() error { return n.error }

// explain returns err with the file and a remedy, if the error comes from SQLite and a person can fix its cause.
func (s *Store) explain(err error) error {
	var cause *sqlite.Error
	if !errors.As(err, &cause) {
		return err
	}
	if isDamage(err) {
		s.damage.Note(fmt.Errorf("database %s has reported damage: %w", s.path, err))
	}
	remedy := "look at the disk and the log of the system"
	switch cause.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		remedy = "the disk is full: free some space and repeat; no data was lost"
	case sqlite3.SQLITE_IOERR:
		remedy = "the file could not be read or written: look for a disk that fails, a quota that is used up, a limit on the size of files, " +
			"or a file system that became read-only; what was acknowledged is safe as far as the disk is"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		remedy = "check that this user may write the file and its directory, and that the file system is not mounted read-only"
	case sqlite3.SQLITE_NOTADB:
		remedy = "it is not a SQLite database: use another file, or restore it from a copy"
	case sqlite3.SQLITE_CORRUPT:
		remedy = "the file is damaged: stop, keep it aside and restore it from a copy that passes pintle backup --verify"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		remedy = "another program holds it: end that and repeat"
	case sqlite3.SQLITE_CONSTRAINT:
		remedy = "an impossible row was refused and nothing written: this is a mistake in Pintle"
	}
	return fmt.Errorf("database %s: %w (%s)", s.path, err, remedy)
}
