package engine

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
)

// rememberedTokens is the number of a stack's last tokens that are remembered. Clients repeat a request within
// minutes, so few others come between.
const rememberedTokens = 5

// tokens recognizes repeated requests by the tokens of clients.
type tokens struct{ *decision }

// repeated reports whether a request with the same token was made before. The client then gets the answer to the
// first one. A token of another call is an error.
func (d tokens) repeated(token string, call store.Call) (bool, error) {
	if token == "" {
		return false, nil
	}
	for _, use := range d.stack.Tokens {
		switch {
		case use.Token != token:
		case use.Call == call && use.ChangeSet == d.executing:
			d.again = use.Operation
			return true, nil
		default:
			return false, d.taken(token)
		}
	}
	return false, nil
}

func (d tokens) taken(token string) error {
	return d.dialect.refusals().tokenUsed(token, &d.stack)
}

// remember stores the token of a request that started an operation.
func (d tokens) remember(token string, call store.Call, operation string) {
	if token == "" {
		return
	}
	uses := slices.Concat([]store.TokenUse{{Token: token, Call: call, Operation: operation, ChangeSet: d.executing}}, d.stack.Tokens)
	d.stack.Tokens, d.stackChanged = uses[:min(len(uses), rememberedTokens)], true
}
