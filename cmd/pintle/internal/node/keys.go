package node

import (
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/store"
)

// processKey begins the ids of the keys that processes of local providers and template functions have.
const processKey = "PROCESS"

// fcNames begins the names of functions of Function Compute in the runtime.
const fcNames = "acs:fc:"

// processKeys issues one access key for each local provider and each template function, and records when its processes last made
// a call that may lead to a later answer. It holds one entry for each name that a key was issued for since the start. Its methods
// may be called concurrently.
type processKeys struct {
	root store.Root
	now  func() time.Time
	// shared reports whether a key is one that all processes may have: that of the server's own environment.
	shared func(id string) bool

	mu     sync.Mutex
	owners map[string]keyOwner    // by the id of the key
	called map[string][]time.Time // by provider or function: the newest calls, oldest first
}

// keyOwner is the owner of an issued key: a provider or function by its name in the runtime, in an account.
type keyOwner struct{ account, name string }

func newProcessKeys(root store.Root, now func() time.Time) *processKeys {
	return &processKeys{root: root, now: now, shared: func(string) bool { return false }, owners: map[string]keyOwner{}, called: map[string][]time.Time{}}
}

// issue returns the key of a provider or function. The same name always has the same key, on all nodes of a database.
func (k *processKeys) issue(account, name string) sigv4.Key {
	secret := hex.EncodeToString(k.root.Derive("process of " + account + " " + name))
	id := processKey + strings.ToUpper(hex.EncodeToString(k.root.Derive("process id of " + account + " " + name)[:12]))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.owners[id] = keyOwner{account: account, name: name}
	key := sigv4.Key{ID: id, Secret: sigv4.Secret(secret), Account: account}
	if strings.HasPrefix(name, fcNames) { // as over there, its key is temporary, and some code takes one without a token for none
		key.Token = sigv4.Secret(hex.EncodeToString(k.root.Derive("process token of " + account + " " + name)))
	}
	return key
}

// lookup finds an issued key by its id.
func (k *processKeys) lookup(id string) (sigv4.Key, bool) {
	k.mu.Lock()
	of, ok := k.owners[id]
	k.mu.Unlock()
	if !ok {
		return sigv4.Key{}, false
	}
	return k.issue(of.account, of.name), true
}

// answering are the services, by their names in a signature, through which a function can have something answer later.
var answering = []string{"events", "lambda", "sns", "states"}

// maxCalled bounds the calls that are remembered for each name: enough to take back as many failed ones.
const maxCalled = 16

// note records a call as it arrives, if its key was issued here, its service can lead to a later answer, and it changes
// something. The returned func takes the record back: the call failed, so nothing will come of it. It is nil if nothing was
// recorded.
func (k *processKeys) note(id sigv4.Identity, changes func() bool) (failed func()) {
	shared := k.shared(id.AccessKeyID)
	if !shared && !strings.HasPrefix(id.AccessKeyID, processKey) || !slices.Contains(answering, id.Service) || !changes() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	of, ok := k.owners[id.AccessKeyID]
	if !ok && !shared {
		return nil
	}
	name, at := owner(of.name), k.now() // the name is empty for a shared key
	calls := append(k.called[name], at)
	k.called[name] = calls[max(0, len(calls)-maxCalled):]
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if i := slices.Index(k.called[name], at); i >= 0 {
			k.called[name] = slices.Delete(k.called[name], i, i+1)
		}
	}
}

// calledOut reports whether a process of a provider or function, named as the runtime has it, called Lambda, Step Functions, SNS
// or EventBridge of this server at or after since, with success or with an answer still to come. Calls that change nothing do not count.
// A call with a key that all processes share counts for each of them.
func (k *processKeys) calledOut(name string, since time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range []string{owner(name), ""} {
		if calls := k.called[name]; len(calls) > 0 && !calls[len(calls)-1].Before(since) {
			return true
		}
	}
	return false
}
