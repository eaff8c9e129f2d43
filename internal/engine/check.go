package engine

import "github.com/pintle-dev/pintle/internal/template"

// CheckAs parses a template in the language of a dialect and refuses what could not be run. Errors that the client can mend are of
// type [Error], with the codes of the dialect. Of CloudFormation it takes no macros: see [Engine.Check].
func (e *Engine) CheckAs(dialect Dialect, text string) (*template.Template, error) {
	return e.env.parse(dialect, text)
}
