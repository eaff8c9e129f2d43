package project

import _ "embed"

// Schema is the JSON Schema (draft 07) of a project file, with which editors check and complete it. It is more lenient than
// [Parse] where a schema cannot say it.
//
//go:embed pintle.schema.json
var Schema []byte
