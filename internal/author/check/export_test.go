package check

import "github.com/pintle-dev/pintle/internal/provider/local"

// SnippetsOf reads a file of snippets.
var SnippetsOf = snippetsOf

// SnippetFor returns the snippet for a rule and the handler of a target.
func SnippetFor(target local.Target, rule string) string { return styleOf(target).snippet(rule) }
