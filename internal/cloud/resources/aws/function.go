package aws

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
)

var functionTable = resources.Table{
	Name:       "AWS::Lambda::Function",
	Identifier: "FunctionName",
	Texts:      "CodeSigningConfigArn Description FunctionName Handler KmsKeyArn PackageType RecursiveLoop Role Runtime",
	Numbers:    "MemorySize ReservedConcurrentExecutions Timeout",
	Truths:     "PublishToLatestPublished",
	Lists:      "Architectures FileSystemConfigs Layers Tags",
	Objects: "CapacityProviderConfig Code DeadLetterConfig DurableConfig Environment EphemeralStorage FunctionScalingConfig " +
		"ImageConfig LoggingConfig RuntimeManagementConfig SnapStart TenancyConfig TracingConfig VpcConfig",
	Required: "Code Role", Replaces: "FunctionName PackageType TenancyConfig",
	Attributes: "Arn SnapStartResponse SnapStartResponse.ApplyOn SnapStartResponse.OptimizationStatus",
	Unreadable: "Code SnapStart",
	Named:      "FunctionName",
}

// function is AWS::Lambda::Function.
type function struct{ Config }

// Defaults of a function, and the maximum length of its name. Source: Lambda, CreateFunction.
const (
	functionTimeout = 3
	functionMemory  = 128
	functionName    = 64
)

// Create implements [resources.Maker].
func (t function) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	name := c.Name("FunctionName", functionName)
	of, err := functionOf(c)
	if err != nil {
		return native.Result{}, err
	}
	code, err := codeOf(c, "Code")
	if err != nil {
		return native.Result{}, err
	}
	made, err := t.Functions.Create(ctx, registry.Item[registry.Function]{Scope: c.Place, Name: name, Owner: c.Holder(), Of: of}, code)
	if err != nil {
		return c.Failed(ctx, name, name, err, resources.Holding(t.Catalog.Functions, c.Place, name))
	}
	return functionResult(c, made.Name), t.declares(ctx, made)
}

// declares records the code that the stack gave a function. Any other code is drift.
func (t function) declares(ctx context.Context, made registry.Item[registry.Function]) error {
	_, err := t.Catalog.Functions.Change(ctx, made.Scope, made.Name, func(now *registry.Item[registry.Function]) error {
		now.Of.Declared = made.Of.Code
		return nil
	})
	return err
}

// drifted reports whether an Update must revert the code of the function because it is not the declared code.
func (t function) drifted(ctx context.Context, c *resources.Call) (bool, error) {
	if !c.Reverts() {
		return false, nil
	}
	there, err := t.Catalog.Functions.Get(ctx, c.Place, c.Physical())
	return there.Of.Declared != "" && there.Of.Declared != there.Of.Code, resources.IgnoreMissing(err)
}

// Update implements [resources.Maker]. It fetches the code only if its declaration changed, because the object may
// have been deleted. The file name of inline code depends on the runtime.
func (t function) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	of, err := functionOf(c)
	if err != nil {
		return native.Result{}, err
	}
	var code *registry.Code
	drifted, err := t.drifted(ctx, c)
	if err != nil {
		return native.Result{}, err
	}
	if drifted || c.Changed("Code") || c.Changed("Runtime") && !c.At("Code", "ZipFile").IsNull() {
		fresh, err := codeOf(c, "Code")
		if err != nil {
			return native.Result{}, err
		}
		code = &fresh
	}
	made, err := t.Functions.Update(ctx, registry.Item[registry.Function]{Scope: c.Place, Name: c.Physical(), Of: of}, code)
	if err == nil && code != nil {
		err = t.declares(ctx, made)
	}
	if errors.Is(err, registry.ErrNotFound) {
		err = c.Lost()
	}
	if err != nil {
		return native.Result{}, err
	}
	return functionResult(c, c.Physical()), nil
}

// Remove implements [resources.Maker].
func (t function) Remove(ctx context.Context, c *resources.Call) error {
	if mine, err := resources.Own(ctx, c, t.Catalog.Functions, c.Place, c.Physical()); err != nil || !mine {
		return err
	}
	return resources.IgnoreMissing(t.Functions.Delete(ctx, c.Place, c.Physical()))
}

func functionResult(c *resources.Call, name string) native.Result {
	r := resources.Result(name, "Arn", c.ARN("lambda", "function:"+name),
		"SnapStartResponse.ApplyOn", "None", "SnapStartResponse.OptimizationStatus", "Off")
	r.Attributes = r.Attributes.With("SnapStartResponse", value.Object(
		value.Member{Key: "ApplyOn", Value: value.Str("None")}, value.Member{Key: "OptimizationStatus", Value: value.Str("Off")},
	))
	return r
}

// functionOf reads the declaration of a function, except for its code.
func functionOf(c *resources.Call) (registry.Function, error) {
	if c.Text("PackageType") == "Image" || !c.At("Code", "ImageUri").IsNull() {
		return registry.Function{}, errors.New(lambda.NoImages)
	}
	environment, err := c.TextMap("Environment", "Variables")
	if err != nil {
		return registry.Function{}, err
	}
	tags, err := c.Tags()
	if err != nil {
		return registry.Function{}, err
	}
	f := registry.Function{
		Runtime: c.Text("Runtime"), Handler: c.Text("Handler"), Role: c.Text("Role"), Description: c.Text("Description"),
		Timeout: functionTimeout, Memory: functionMemory, Environment: environment, Layers: c.Texts("Layers"),
		Architectures: c.Texts("Architectures"), LogGroup: c.Text("LoggingConfig", "LogGroup"),
		LogFormat: c.Text("LoggingConfig", "LogFormat"), LogLevel: c.Text("LoggingConfig", "ApplicationLogLevel"), Tags: tags,
	}
	for _, variable := range c.At("Environment", "Variables").Members() {
		if variable.Value.HasSecret() {
			f.Hidden = append(f.Hidden, variable.Key)
		}
	}
	if !c.At("Timeout").IsNull() {
		f.Timeout = c.Number("Timeout")
	}
	if !c.At("MemorySize").IsNull() {
		f.Memory = c.Number("MemorySize")
	}
	if !c.At("ReservedConcurrentExecutions").IsNull() {
		reserved := c.Number("ReservedConcurrentExecutions")
		f.Concurrency = &reserved
	}
	f.Rest = c.Rest("Architectures Code Description Environment FunctionName Handler Layers MemorySize ReservedConcurrentExecutions Role Runtime Tags Timeout")
	return f, nil
}

// codeOf reads the code source of a function or layer.
func codeOf(c *resources.Call, property string) (registry.Code, error) {
	if inline := c.At(property, "ZipFile"); !inline.IsNull() {
		runtime := c.Text("Runtime")
		if !inline.IsScalar() {
			return registry.Code{}, resources.Reason("Value of property ZipFile must be of type String")
		}
		if !strings.HasPrefix(runtime, "nodejs") && !strings.HasPrefix(runtime, "python") {
			return registry.Code{}, errors.New("ZipFile works only with Node.js and Python runtimes: use S3Bucket and S3Key")
		}
		text := inline.Text()
		return registry.Code{Inline: &text}, nil
	}
	code := registry.Code{
		Bucket: c.Text(property, "S3Bucket"), Key: c.Text(property, "S3Key"), ObjectVersion: c.Text(property, "S3ObjectVersion"),
	}
	if code.Bucket == "" || code.Key == "" {
		return code, errors.New(property + " must have an S3Bucket and an S3Key, or a function's a ZipFile")
	}
	return code, nil
}
