package project

import _ "embed"

// Schema is the JSON Schema (draft 07) of a project file, which editors use for validation and completion. It is more
// lenient than [Parse] where a schema cannot express a rule.
//
//go:embed pintle.schema.json
var Schema []byte
