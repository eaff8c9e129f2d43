package postgres

import (
	"os"
	"testing"

	"github.com/pintle-dev/pintle/internal/pgtest"
)

// Shared is the server of all tests that need only a database.
var Shared pgtest.Shared

func TestMain(m *testing.M) { os.Exit(Shared.Main(m)) }

// ErrUnassured is errUnassured.
var ErrUnassured = errUnassured
