package value

import "github.com/pintle-dev/pintle/internal/base/spelling"

// Spellings returns the ways in which a secret is likely to be printed, each once, the secret itself first. A text is searched for all
// of them. See package spelling for what they are.
func Spellings(secret string) []string { return spelling.Of(secret) }
