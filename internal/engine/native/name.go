package native

import (
	"cmp"
	"crypto/sha256"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// letters are the characters of generated names.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// suffixLength is the number of characters that distinguish the names of two requests.
const suffixLength = 12

// Suffix returns twelve letters and digits, always the same ones for a request. So a request that is served twice
// creates one resource.
func Suffix(r *store.Request) string {
	sum := sha256.Sum256([]byte(string(r.Body.StackID) + "|" + string(r.ID)))
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = letters[int(sum[i])%len(letters)]
	}
	return string(suffix)
}

// MadeUpName returns a name for a resource that is created without one: the stack, the logical ID and the [Suffix].
// limit is the maximum length of the name in bytes, at least 16; 0 means no limit. To shorten a name, MadeUpName cuts
// the longer of stack and logical ID first.
func MadeUpName(r *store.Request, limit int) string {
	stack, logical := cmp.Or(r.Body.StackName, "stack"), string(r.Logical)
	if arn, err := wire.ParseStackARN(r.Body.StackID); err == nil {
		stack = arn.Name
	}
	if room := limit - suffixLength - 2; limit > 0 && len(stack)+len(logical) > room {
		half := room / 2
		switch {
		case len(stack) <= half:
			logical = logical[:room-len(stack)]
		case len(logical) <= half:
			stack = stack[:room-len(logical)]
		default:
			stack, logical = stack[:half], logical[:room-half]
		}
	}
	return stack + "-" + logical + "-" + Suffix(r)
}
