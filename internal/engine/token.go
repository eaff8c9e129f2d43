package engine

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
)

// rememberedTokens is how many of a stack's last tokens are known. A client repeats a request within minutes, so that
// few others came between.
const rememberedTokens = 5

// repeated reports whether a request was made before under the same token. The client then gets the answer it got, or
// would have got, the first time. A token that stands for another call is an error.
func (m *machine) repeated(token string, call store.Call) (bool, error) {
	if token == "" {
		return false, nil
	}
	for _, use := range m.stack.Tokens {
		switch {
		case use.Token != token:
		case use.Call == call && use.ChangeSet == m.executing:
			m.again = use.Operation
			return true, nil
		default:
			return false, m.tokenTaken(token)
		}
	}
	return false, nil
}

func (m *machine) tokenTaken(token string) error {
	return m.dialect.refusals().tokenUsed(token, &m.stack)
}

// remember keeps the token of a request that began an operation.
func (m *machine) remember(token string, call store.Call, operation string) {
	if token == "" {
		return
	}
	uses := slices.Concat([]store.TokenUse{{Token: token, Call: call, Operation: operation, ChangeSet: m.executing}}, m.stack.Tokens)
	m.stack.Tokens, m.stackChanged = uses[:min(len(uses), rememberedTokens)], true
}
