package aws

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/functions"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/native/cloud"
	"github.com/pintle-dev/pintle/internal/value"
)

var functionTable = cloud.Table{
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

// Defaults of a function, and the longest name. Source: Lambda, CreateFunction.
const (
	functionTimeout = 3
	functionMemory  = 128
	functionName    = 64
)

// Create implements [cloud.Maker].
func (t function) Create(ctx context.Context, c *cloud.Call) (native.Result, error) {
	name := c.Name("FunctionName", functionName)
	of, err := functionOf(c)
	if err != nil {
		return native.Result{}, err
	}
	code, err := codeOf(c, "Code")
	if err != nil {
		return native.Result{}, err
	}
	made, err := t.Functions.Create(ctx, catalog.Item[catalog.Function]{Place: c.Place, Name: name, Holder: c.Holder(), Of: of}, code)
	if err != nil {
		return c.Failed(ctx, name, name, err, cloud.Holding(t.Catalog.Functions, c.Place, name))
	}
	return functionResult(c, made.Name), t.declares(ctx, made)
}

// declares notes the code that the stack gave a function: any other code is drift.
func (t function) declares(ctx context.Context, made catalog.Item[catalog.Function]) error {
	_, err := t.Catalog.Functions.Change(ctx, made.Place, made.Name, func(now *catalog.Item[catalog.Function]) error {
		now.Of.Declared = made.Of.Code
		return nil
	})
	return err
}

// drifted reports whether an Update is to undo drift, and the code of the function is not the declared one.
func (t function) drifted(ctx context.Context, c *cloud.Call) (bool, error) {
	if !c.Body.OldProperties.Equal(c.Declared) {
		return false, nil
	}
	there, err := t.Catalog.Functions.Get(ctx, c.Place, c.Physical())
	return there.Of.Declared != "" && there.Of.Declared != there.Of.Code, cloud.IgnoreMissing(err)
}

// Update implements [cloud.Maker]. The code is fetched only if it is declared otherwise, for its object may be gone; inline code is a
// file whose name depends on the runtime.
func (t function) Update(ctx context.Context, c *cloud.Call) (native.Result, error) {
	of, err := functionOf(c)
	if err != nil {
		return native.Result{}, err
	}
	var code *catalog.Code
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
	made, err := t.Functions.Update(ctx, catalog.Item[catalog.Function]{Place: c.Place, Name: c.Physical(), Of: of}, code)
	if err == nil && code != nil {
		err = t.declares(ctx, made)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		err = c.Lost()
	}
	if err != nil {
		return native.Result{}, err
	}
	return functionResult(c, c.Physical()), nil
}

// Remove implements [cloud.Maker].
func (t function) Remove(ctx context.Context, c *cloud.Call) error {
	if mine, err := cloud.Own(ctx, c, t.Catalog.Functions, c.Place, c.Physical()); err != nil || !mine {
		return err
	}
	return cloud.IgnoreMissing(t.Functions.Delete(ctx, c.Place, c.Physical()))
}

func functionResult(c *cloud.Call, name string) native.Result {
	r := cloud.Result(name, "Arn", c.ARN("lambda", "function:"+name),
		"SnapStartResponse.ApplyOn", "None", "SnapStartResponse.OptimizationStatus", "Off")
	r.Attributes = r.Attributes.With("SnapStartResponse", value.Object(
		value.Member{Key: "ApplyOn", Value: value.Str("None")}, value.Member{Key: "OptimizationStatus", Value: value.Str("Off")},
	))
	return r
}

// functionOf reads what is declared of a function, but for its code.
func functionOf(c *cloud.Call) (catalog.Function, error) {
	if c.Text("PackageType") == "Image" || !c.At("Code", "ImageUri").IsNull() {
		return catalog.Function{}, errors.New(functions.NoImages)
	}
	environment, err := c.TextMap("Environment", "Variables")
	if err != nil {
		return catalog.Function{}, err
	}
	tags, err := c.Tags()
	if err != nil {
		return catalog.Function{}, err
	}
	f := catalog.Function{
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

// codeOf reads where a function's or a layer's code is.
func codeOf(c *cloud.Call, property string) (catalog.Code, error) {
	if inline := c.At(property, "ZipFile"); !inline.IsNull() {
		runtime := c.Text("Runtime")
		if !inline.IsScalar() {
			return catalog.Code{}, cloud.Reason("Value of property ZipFile must be of type String")
		}
		if !strings.HasPrefix(runtime, "nodejs") && !strings.HasPrefix(runtime, "python") {
			return catalog.Code{}, errors.New("ZipFile is for the runtimes of Node.js and Python only: give S3Bucket and S3Key")
		}
		text := inline.Text()
		return catalog.Code{Inline: &text}, nil
	}
	code := catalog.Code{
		Bucket: c.Text(property, "S3Bucket"), Key: c.Text(property, "S3Key"), ObjectVersion: c.Text(property, "S3ObjectVersion"),
	}
	if code.Bucket == "" || code.Key == "" {
		return code, errors.New(property + " must have an S3Bucket and an S3Key, or a function's a ZipFile")
	}
	return code, nil
}
