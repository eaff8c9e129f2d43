package postgres

import (
	"os"
	"path"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

// Shared is the server for all tests that need only a database.
var Shared pgtest.Shared

// free holds unused databases that already have the tables.
var free = make(chan string, 64)

// wipe empties the tables. Creating them again would take longer than a typical test.
const wipe = `DO $$ DECLARE name text; BEGIN
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'pintle' AND tablename NOT IN ('schema', 'ring') LOOP
		EXECUTE format('DELETE FROM pintle.%I', name);
	END LOOP;
	UPDATE pintle.schema SET probe = '';
	UPDATE pintle.ring SET root = '', sealer = '', turns = 0;
END $$`

// Database returns an empty database for the duration of a test. Other tests may have used it before.
func Database(t testing.TB) string {
	t.Helper()
	server := Shared.Server(t)
	var dsn string
	select {
	case dsn = <-free:
	default:
		dsn = server.Database(t)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // its contents are unknown
		}
		server.Exec(t, path.Base(dsn), wipe)
		select {
		case free <- dsn:
		default:
		}
	})
	return dsn
}

func TestMain(m *testing.M) { os.Exit(Shared.Main(m)) }

// ErrUnassured is errUnassured.
var ErrUnassured = errUnassured
