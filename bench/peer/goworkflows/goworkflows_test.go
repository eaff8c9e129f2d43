//go:build unix

package goworkflows_test

import (
	"testing"

	"github.com/pintle-dev/pintle/bench/peer/goworkflows"
	"github.com/pintle-dev/pintle/bench/peer/peertest"
)

func TestChains(t *testing.T) { peertest.Run(t, goworkflows.Open) }
