package memory_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store {
		s, err := memory.New(memory.Config{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
