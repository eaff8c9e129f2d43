package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup writes a copy of the database at path to a new file, even while another process has it open and writes. The
// copy is of one moment, complete, compact and durable when Backup returns, and only its owner can read it. Until
// Backup returns, the log next to the database cannot be truncated. It returns an error if into exists, or path is not
// a database of Pintle.
func Backup(ctx context.Context, path, into string) (err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}
	s := &Store{path: path}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}
	db, err := sql.Open("sqlite", s.dsn())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return s.explain(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	version, err := schemaVersion(ctx, conn)
	if err == nil && version == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return fmt.Errorf("database %s: %w", path, s.explain(err))
	}
	// Create the file here, so that it belongs to the owner from the first byte on. SQLite treats an empty file like a
	// missing one.
	file, err := os.OpenFile(into, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = conn.ExecContext(ctx, "VACUUM INTO ?", into); err != nil {
		return errors.Join(fmt.Errorf("copy database %s to %s: %w", path, into, s.explain(err)), file.Close(), os.Remove(into))
	}
	return errors.Join(file.Sync(), file.Close())
}
