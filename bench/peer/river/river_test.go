//go:build unix

package river_test

import (
	"testing"

	"github.com/pintle-dev/pintle/bench/peer/peertest"
	"github.com/pintle-dev/pintle/bench/peer/river"
)

func TestChains(t *testing.T) { peertest.Run(t, river.Open) }
