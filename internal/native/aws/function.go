package aws

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/value"
)

var functionTable = table{
	name:    "AWS::Lambda::Function",
	texts:   "CodeSigningConfigArn Description FunctionName Handler KmsKeyArn PackageType RecursiveLoop Role Runtime",
	numbers: "MemorySize ReservedConcurrentExecutions Timeout",
	truths:  "PublishToLatestPublished",
	lists:   "Architectures FileSystemConfigs Layers Tags",
	objects: "CapacityProviderConfig Code DeadLetterConfig DurableConfig Environment EphemeralStorage FunctionScalingConfig " +
		"ImageConfig LoggingConfig RuntimeManagementConfig SnapStart TenancyConfig TracingConfig VpcConfig",
	required: "Code Role", replaces: "FunctionName PackageType TenancyConfig",
	attributes: "Arn SnapStartResponse SnapStartResponse.ApplyOn SnapStartResponse.OptimizationStatus",
	named:      "FunctionName",
}

// function is AWS::Lambda::Function.
type function struct{ Config }

// Defaults of a function, and the longest name. Source: Lambda, CreateFunction.
const (
	functionTimeout = 3
	functionMemory  = 128
	functionName    = 64
)

// create implements [maker].
func (t function) create(ctx context.Context, c *call) (native.Result, error) {
	name := c.name("FunctionName", functionName)
	of, err := functionOf(c)
	if err != nil {
		return native.Result{}, err
	}
	code, err := c.code("Code")
	if err != nil {
		return native.Result{}, err
	}
	made, err := t.Functions.Create(ctx, catalog.Item[catalog.Function]{Place: c.place, Name: name, Holder: c.holder(), Of: of}, code)
	if err != nil {
		return c.failed(ctx, name, name, err, holding(t.Catalog.Functions, c.place, name))
	}
	return functionResult(c, made.Name), nil
}

// update implements [maker]. The code is fetched only if it is declared otherwise, for its object may be gone; inline code is a
// file whose name depends on the runtime.
func (t function) update(ctx context.Context, c *call) (native.Result, error) {
	of, err := functionOf(c)
	if err != nil {
		return native.Result{}, err
	}
	var code *catalog.Code
	if c.changed("Code") || c.changed("Runtime") && !c.at("Code", "ZipFile").IsNull() {
		fresh, err := c.code("Code")
		if err != nil {
			return native.Result{}, err
		}
		code = &fresh
	}
	_, err = t.Functions.Update(ctx, catalog.Item[catalog.Function]{Place: c.place, Name: c.id(), Of: of}, code)
	if errors.Is(err, catalog.ErrNotFound) {
		err = c.lost()
	}
	if err != nil {
		return native.Result{}, err
	}
	return functionResult(c, c.id()), nil
}

// remove implements [maker].
func (t function) remove(ctx context.Context, c *call) error {
	if mine, err := own(ctx, c, t.Catalog.Functions, c.place, c.id()); err != nil || !mine {
		return err
	}
	return ignoreMissing(t.Functions.Delete(ctx, c.place, c.id()))
}

func functionResult(c *call, name string) native.Result {
	r := result(name, "Arn", c.arn("lambda", "function:"+name),
		"SnapStartResponse.ApplyOn", "None", "SnapStartResponse.OptimizationStatus", "Off")
	r.Attributes = r.Attributes.With("SnapStartResponse", value.Object(
		value.Member{Key: "ApplyOn", Value: value.Str("None")}, value.Member{Key: "OptimizationStatus", Value: value.Str("Off")},
	))
	return r
}

// functionOf reads what is declared of a function, but for its code.
func functionOf(c *call) (catalog.Function, error) {
	if c.text("PackageType") == "Image" || !c.at("Code", "ImageUri").IsNull() {
		return catalog.Function{}, errors.New("functions of container images are not run here: give Code as a zip file, with a Runtime and a Handler")
	}
	environment, err := c.textMap("Environment", "Variables")
	if err != nil {
		return catalog.Function{}, err
	}
	tags, err := c.tags()
	if err != nil {
		return catalog.Function{}, err
	}
	f := catalog.Function{
		Runtime: c.text("Runtime"), Handler: c.text("Handler"), Role: c.text("Role"), Description: c.text("Description"),
		Timeout: functionTimeout, Memory: functionMemory, Environment: environment, Layers: c.texts("Layers"),
		Architectures: c.texts("Architectures"), LogGroup: c.text("LoggingConfig", "LogGroup"),
		LogFormat: c.text("LoggingConfig", "LogFormat"), LogLevel: c.text("LoggingConfig", "ApplicationLogLevel"), Tags: tags,
	}
	for _, variable := range c.at("Environment", "Variables").Members() {
		if variable.Value.HasSecret() {
			f.Hidden = append(f.Hidden, variable.Key)
		}
	}
	if !c.at("Timeout").IsNull() {
		f.Timeout = c.number("Timeout")
	}
	if !c.at("MemorySize").IsNull() {
		f.Memory = c.number("MemorySize")
	}
	if !c.at("ReservedConcurrentExecutions").IsNull() {
		reserved := c.number("ReservedConcurrentExecutions")
		f.Concurrency = &reserved
	}
	f.Rest = c.rest("Architectures Code Description Environment FunctionName Handler Layers MemorySize ReservedConcurrentExecutions Role Runtime Tags Timeout")
	return f, nil
}

// rest returns the properties that are not among the names, as JSON; nil if there are none.
func (c *call) rest(known string) json.RawMessage {
	names := strings.Fields(known)
	rest := value.Object()
	for _, m := range c.declared.Members() {
		if !slices.Contains(names, m.Key) {
			rest = rest.With(m.Key, m.Value)
		}
	}
	if len(rest.Members()) == 0 {
		return nil
	}
	return rest.JSON()
}

// code reads where a function's or a layer's code is.
func (c *call) code(property string) (catalog.Code, error) {
	if inline := c.at(property, "ZipFile"); !inline.IsNull() {
		runtime := c.text("Runtime")
		if !inline.IsScalar() {
			return catalog.Code{}, reason("Value of property ZipFile must be of type String")
		}
		if !strings.HasPrefix(runtime, "nodejs") && !strings.HasPrefix(runtime, "python") {
			return catalog.Code{}, errors.New("ZipFile is for the runtimes of Node.js and Python only: give S3Bucket and S3Key")
		}
		text := inline.Text()
		return catalog.Code{Inline: &text}, nil
	}
	code := catalog.Code{
		Bucket: c.text(property, "S3Bucket"), Key: c.text(property, "S3Key"), ObjectVersion: c.text(property, "S3ObjectVersion"),
	}
	if code.Bucket == "" || code.Key == "" {
		return code, errors.New(property + " must have an S3Bucket and an S3Key, or a function's a ZipFile")
	}
	return code, nil
}
