package lambdaapi

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// configuration is the FunctionConfiguration structure.
type configuration struct {
	FunctionName     string
	FunctionArn      string
	Runtime          string
	Role             string
	Handler          string
	CodeSize         int64
	Description      string
	Timeout          int
	MemorySize       int
	LastModified     string
	CodeSha256       string
	Version          string
	Environment      *environment `json:",omitempty"`
	TracingConfig    mode
	RevisionId       string
	State            string
	LastUpdateStatus string
	PackageType      string
	Architectures    []string
	EphemeralStorage size
	Layers           []layerView `json:",omitempty"`
	LoggingConfig    logging
}

type (
	environment struct{ Variables map[string]string }
	mode        struct{ Mode string }
	size        struct{ Size int }
	layerView   struct {
		Arn      string
		CodeSize int64
	}
	logging struct {
		LogFormat           string `json:",omitempty"`
		ApplicationLogLevel string `json:",omitempty"`
		SystemLogLevel      string `json:",omitempty"`
		LogGroup            string `json:",omitempty"`
	}
)

// timeForm is Lambda's time format.
const timeForm = "2006-01-02T15:04:05.000-0700"

// view returns the configuration of a function. qualified is set if the request had a qualifier, which is then part
// of the ARN.
func view(i registry.Item[registry.Function], qualified bool) configuration {
	name, version, published := strings.Cut(i.Name, ":")
	r := lambda.Reference{Scope: i.Scope, Name: name, Qualifier: version}
	if !published {
		version = lambda.Latest
		if qualified {
			r.Qualifier = version
		}
	}
	of := i.Of
	c := configuration{
		FunctionName: name, FunctionArn: r.ARN(), Runtime: of.Runtime, Role: of.Role, Handler: of.Handler, CodeSize: of.CodeSize,
		Description: of.Description, Timeout: of.Timeout, MemorySize: of.Memory, LastModified: of.Modified.UTC().Format(timeForm),
		CodeSha256: sha(of.Code), Version: version, TracingConfig: mode{"PassThrough"}, RevisionId: of.Revision,
		State: "Active", LastUpdateStatus: "Successful", PackageType: "Zip", Architectures: of.Architectures,
		EphemeralStorage: size{512},
		LoggingConfig:    logging{LogFormat: of.LogFormat, LogGroup: cmp.Or(of.LogGroup, "/aws/lambda/"+name)},
	}
	if of.LogFormat == "JSON" {
		c.LoggingConfig.ApplicationLogLevel, c.LoggingConfig.SystemLogLevel = cmp.Or(of.LogLevel, "INFO"), "INFO"
	}
	if len(of.Environment) > 0 {
		c.Environment = &environment{of.Environment}
	}
	for _, layer := range of.LayerCode {
		c.Layers = append(c.Layers, layerView{layer.ARN, layer.Size})
	}
	return c
}

// sha converts a hexadecimal SHA-256 to Lambda's base64 form.
func sha(digits string) string {
	sum, err := hex.DecodeString(digits)
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(sum)
}
