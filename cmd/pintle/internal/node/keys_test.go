package node

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

func testRoot(t *testing.T) store.Root {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return rows.Root()
}

func TestProcessKeys(t *testing.T) {
	root := testRoot(t)
	keys := newProcessKeys(root, time.Now)
	user := keys.issue("000000000000", "User")
	for _, other := range []sigv4.Key{keys.issue("000000000000", "Site"), keys.issue("111111111111", "User")} {
		if other.ID == user.ID || other.Secret == user.Secret {
			t.Errorf("two keys are the same: %s", other.ID)
		}
	}
	if again := newProcessKeys(root, time.Now).issue("000000000000", "User"); again != user {
		t.Error("another node issues another key")
	}
	if found, ok := keys.lookup(user.ID); !ok || found != user {
		t.Errorf("looked up: got %v, %v", found.ID, ok)
	}
	if _, ok := newProcessKeys(root, time.Now).lookup(user.ID); ok {
		t.Error("a key that was not issued is known")
	}
}

func TestCalledOut(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	keys := newProcessKeys(testRoot(t), func() time.Time { return now })
	key := keys.issue("000000000000", "Database/onEvent")
	yes, no := func() bool { return true }, func() bool { return false }
	call := func(service string, changes func() bool) func() {
		return keys.note(sigv4.Identity{AccessKeyID: key.ID, Service: service}, changes)
	}
	start := now
	call("s3", yes)
	call("lambda", no)
	keys.note(sigv4.Identity{AccessKeyID: "AKIASOMEONE", Service: "lambda"}, yes)
	if keys.calledOut("Database", start) {
		t.Error("a call that leads to no answer counts")
	}
	failed := call("events", yes)
	if !keys.calledOut("Database", start) || !keys.calledOut("Database/isComplete", start) {
		t.Error("a call of EventBridge does not count")
	}
	failed()
	if keys.calledOut("Database", start) {
		t.Error("a failed call counts")
	}
	for _, service := range answering {
		now = now.Add(time.Second)
		call(service, yes)
		if !keys.calledOut("Database", now) || keys.calledOut("Database", now.Add(1)) || keys.calledOut("Site", start) {
			t.Errorf("%s: the call counts for another time or provider", service)
		}
	}
	keys.shared = func(id string) bool { return id == "THEIRS" }
	now = now.Add(time.Second)
	keys.note(sigv4.Identity{AccessKeyID: "THEIRS", Service: "lambda"}, yes)
	if !keys.calledOut("Database", now) || !keys.calledOut("Site", now) {
		t.Error("a call with a shared key does not count for all")
	}
	for range 3 * maxCalled {
		call("sns", yes)
	}
	if n := len(keys.called["Database"]); n > maxCalled {
		t.Errorf("%d calls are remembered", n)
	}
}
