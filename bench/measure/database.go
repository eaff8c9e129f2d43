//go:build unix

package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// Database is a new database.
type Database struct {
	Path string // of the SQLite file, in its own directory; empty for PostgreSQL
	DSN  string // of PostgreSQL; empty for SQLite
}

// Store is a kind of database. Each run of a measurement uses a new database.
type Store struct {
	Name   string // sqlite or postgres
	folder string
	server *pgtest.Server
}

// Stores returns the stores with the given names, sqlite and postgres. PostgreSQL has its own server that writes through
// to the disk. Everything is below folder, which must exist until they are closed. They must be closed.
func Stores(folder string, names ...string) (stores []*Store, err error) {
	defer func() {
		if err != nil {
			for _, s := range stores {
				err = errors.Join(err, s.Close())
			}
			stores = nil
		}
	}()
	for _, name := range names {
		s := &Store{Name: name, folder: folder}
		switch name {
		case "sqlite":
		case "postgres":
			bin, err := require.FindPostgres()
			if err != nil {
				return stores, fmt.Errorf("%w; leave postgres out with -stores sqlite", err)
			}
			options := pgtest.Options{Durable: true, Settings: []string{"shared_buffers=256MB", "max_wal_size=4GB"}}
			if s.server, err = pgtest.New(bin, options); err != nil {
				return stores, err
			}
		default:
			return stores, fmt.Errorf("-stores %s: there are sqlite and postgres", name)
		}
		stores = append(stores, s)
	}
	return stores, nil
}

// New makes a database.
func (s *Store) New() (Database, error) {
	if s.server != nil {
		dsn, err := s.server.NewDatabase()
		return Database{DSN: dsn}, err
	}
	dir, err := os.MkdirTemp(s.folder, "sqlite-")
	return Database{Path: filepath.Join(dir, "pintle.db")}, err
}

// Close stops the server of the store, if any.
func (s *Store) Close() error {
	if s.server == nil {
		return nil
	}
	return s.server.Remove()
}
