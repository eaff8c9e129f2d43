//go:build unix

package dbos_test

import (
	"testing"

	"github.com/pintle-dev/pintle/bench/peer/dbos"
	"github.com/pintle-dev/pintle/bench/peer/peertest"
)

func TestChains(t *testing.T) { peertest.Run(t, dbos.Open) }
