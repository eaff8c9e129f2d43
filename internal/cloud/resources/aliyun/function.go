package aliyun

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// fcNameLength is the maximum length of names in Function Compute. Source: ROS, ALIYUN::FC::Function and
// ALIYUN::FC::Service.
const fcNameLength = 128

var fcLetters = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

var (
	functionTable = resources.Table{
		Name: "ALIYUN::FC::Function", Dialect: wire.ROS,
		Texts: "Cpu Description FunctionName Handler Initializer InstanceType Runtime ServiceName",
		Numbers: "CAPort:1-65535 DiskSize:512-10240 GpuMemorySize InitializationTimeout:1-300 InstanceConcurrency:1-100 " +
			"InstanceSoftConcurrency:1-100 MemorySize:128-32768 Timeout:1-86400",
		Objects: "AsyncConfiguration Code CustomContainerConfig CustomDNS CustomHealthCheckConfig CustomRuntimeConfig " +
			"EnvironmentVariables InstanceLifecycleConfig",
		Required: "FunctionName Handler Runtime ServiceName", Replaces: "FunctionName ServiceName",
		Attributes: "ARN FunctionId FunctionName ServiceId ServiceName",
		Named:      "FunctionName", Longest: fcNameLength, Letters: fcLetters,
	}
	function3Table = resources.Table{
		Name: "ALIYUN::FC3::Function", Dialect: wire.ROS,
		Texts:   "Cpu Description FunctionName Handler InstanceIsolationMode Role Runtime SessionAffinity",
		Numbers: "DiskSize:512-10240 InstanceConcurrency:1-100 MemorySize:128-65536 Timeout:1-86400",
		Truths:  "DisableOndemand InternetAccess",
		Lists:   "Layers Tags",
		Objects: "Code CustomContainerConfig CustomDns CustomRuntimeConfig EnvironmentVariables GpuConfig InstanceLifecycleConfig " +
			"LogConfig NasConfig OssMountConfig SessionAffinityConfig TracingConfig VpcConfig",
		Required: "FunctionName Handler Runtime", Replaces: "FunctionName",
		Attributes: "ARN FunctionId FunctionName",
		Named:      "FunctionName", Longest: fcNameLength, Letters: fcLetters,
	}
)

// maxSource is the maximum length of inline code in characters. Source: ROS, ALIYUN::FC::Function, SourceCode.
const maxSource = 4096

// function is ALIYUN::FC::Function, whose functions belong to services, and ALIYUN::FC3::Function, which has no
// services.
type function struct {
	Config
	read func(*resources.Call) (registry.Function, error)
}

// Create implements [resources.Maker].
func (t function) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	id := c.Name("FunctionName", fcNameLength)
	of, err := t.read(c)
	if err != nil {
		return native.Result{}, err
	}
	code, err := codeOf(c)
	if err != nil {
		return native.Result{}, err
	}
	if err := t.checkService(ctx, c); err != nil {
		return native.Result{}, err
	}
	name := rowName(c, id)
	made, err := t.Functions.Create(ctx, registry.Item[registry.Function]{Scope: c.Place, Name: name, Owner: c.Holder(), Of: of}, code)
	if err != nil {
		return c.Failed(ctx, id, id, err, resources.Holding(t.Catalog.Functions, c.Place, name))
	}
	return t.result(ctx, c, id, made.Owner)
}

// Update implements [resources.Maker]. The file name of inline code depends on the runtime.
func (t function) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	of, err := t.read(c)
	if err != nil {
		return native.Result{}, err
	}
	var code *registry.Code
	if c.Changed("Code") || c.Changed("Runtime") && !c.At("Code", "SourceCode").IsNull() {
		fresh, err := codeOf(c)
		if err != nil {
			return native.Result{}, err
		}
		code = &fresh
	}
	made, err := t.Functions.Update(ctx, registry.Item[registry.Function]{Scope: c.Place, Name: rowName(c, c.Physical()), Of: of}, code)
	if errors.Is(err, registry.ErrNotFound) {
		err = c.Lost()
	}
	if err != nil {
		return native.Result{}, err
	}
	return t.result(ctx, c, c.Physical(), made.Owner)
}

// Remove implements [resources.Maker].
func (t function) Remove(ctx context.Context, c *resources.Call) error {
	name := rowName(c, c.Physical())
	if mine, err := resources.Own(ctx, c, t.Catalog.Functions, c.Place, name); err != nil || !mine {
		return err
	}
	return resources.IgnoreMissing(t.Functions.Delete(ctx, c.Place, name))
}

// rowName returns the catalog name of a call's function. A changed service replaces the resource, so the declared
// service is that of the function with the ID.
func rowName(c *resources.Call, id string) string { return registry.FCName(c.Text("ServiceName"), id) }

// checkService returns an error if the service of a function does not exist.
func (t function) checkService(ctx context.Context, c *resources.Call) error {
	name := c.Text("ServiceName")
	if name == "" {
		return nil
	}
	_, err := t.Catalog.Records.Get(ctx, c.Place, serviceRecord(name))
	if errors.Is(err, registry.ErrNotFound) {
		return resources.Reasonf("ServiceNotFound: service '%s' does not exist", name)
	}
	return err
}

func (t function) result(ctx context.Context, c *resources.Call, id, holder string) (native.Result, error) {
	attributes := []string{
		"ARN", c.ARN("fc", rowName(c, id)), "FunctionId", uniqueID(holder), "FunctionName", id,
	}
	if name := c.Text("ServiceName"); name != "" {
		// A duplicate request may have deleted the service meanwhile. The service ID then has no meaning.
		there, err := t.Catalog.Records.Get(ctx, c.Place, serviceRecord(name))
		if err != nil && !errors.Is(err, registry.ErrNotFound) {
			return native.Result{PhysicalID: wire.PhysicalID(id)}, err
		}
		attributes = append(attributes, "ServiceId", uniqueID(there.Owner), "ServiceName", name)
	}
	return resources.Result(id, attributes...), nil
}

// uniqueID returns an ID derived from holder. A function that is created again under the same name gets a new ID.
func uniqueID(holder string) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(holder)).String() }

// functionOf2 reads the declaration of a Function Compute 2.0 function, except for its code.
func functionOf2(c *resources.Call) (registry.Function, error) {
	if !fcLetters.MatchString(c.Text("ServiceName")) || len(c.Text("ServiceName")) > fcNameLength {
		return registry.Function{}, c.Bad("ServiceName", fmt.Sprintf("be 1 to %d characters that match %s", fcNameLength, fcLetters))
	}
	f, err := functionOf(c)
	f.Initializer = c.Text("Initializer")
	f.Rest = c.Rest("Code CustomRuntimeConfig Description EnvironmentVariables FunctionName Handler Initializer MemorySize Runtime ServiceName Timeout")
	return f, err
}

// functionOf3 reads the declaration of a Function Compute 3.0 function, except for its code.
func functionOf3(c *resources.Call) (registry.Function, error) {
	f, err := functionOf(c)
	if err == nil {
		f.Tags, err = c.Tags()
	}
	f.Role, f.Layers = c.Text("Role"), c.Texts("Layers")
	f.Initializer = c.Text("InstanceLifecycleConfig", "Initializer", "Handler")
	f.LogProject, f.LogStore = c.Text("LogConfig", "Project"), c.Text("LogConfig", "Logstore")
	f.Rest = c.Rest("Code CustomRuntimeConfig Description EnvironmentVariables FunctionName Handler Layers MemorySize Role Runtime Tags Timeout")
	return f, err
}

// functionOf reads the properties that both versions share.
func functionOf(c *resources.Call) (registry.Function, error) {
	if !c.At("CustomContainerConfig").IsNull() || c.Text("Runtime") == "custom-container" {
		return registry.Function{}, errors.New("functions from container images are not supported: use Code, with a Runtime and a Handler")
	}
	environment, err := c.TextMap("EnvironmentVariables")
	if err != nil {
		return registry.Function{}, err
	}
	f := registry.Function{
		Contract: registry.ContractFC, Runtime: c.Text("Runtime"), Handler: c.Text("Handler"), Description: c.Text("Description"),
		Timeout: c.Number("Timeout"), Memory: c.Number("MemorySize"), Environment: environment,
		Command: append(c.Texts("CustomRuntimeConfig", "Command"), c.Texts("CustomRuntimeConfig", "Args")...),
	}
	for _, variable := range c.At("EnvironmentVariables").Members() {
		if variable.Value.HasSecret() {
			f.Hidden = append(f.Hidden, variable.Key)
		}
	}
	return f, nil
}

// codeOf reads the code source of a function: a zip file takes precedence over inline code, and inline code over an
// OSS object.
func codeOf(c *resources.Call) (registry.Code, error) {
	archive, source := c.At("Code", "ZipFile"), c.At("Code", "SourceCode")
	switch {
	case !archive.IsNull():
		zip, err := base64.StdEncoding.DecodeString(archive.Text())
		if err != nil || len(zip) == 0 {
			return registry.Code{}, c.Bad("Code.ZipFile", "be a zip file in Base64")
		}
		return registry.Code{Zip: zip}, nil
	case !source.IsNull():
		text, runtime := source.Text(), c.Text("Runtime")
		switch length := utf8.RuneCountInString(text); {
		case !source.IsScalar() || length == 0:
			return registry.Code{}, c.Bad("Code.SourceCode", "be the text of the file index")
		case !strings.HasPrefix(runtime, "nodejs") && !strings.HasPrefix(runtime, "python"):
			return registry.Code{}, errors.New("SourceCode works only with Node.js and Python runtimes: use Code.ZipFile")
		case length > maxSource:
			return registry.Code{}, c.Bad("Code.SourceCode", fmt.Sprintf("have at most %d characters, it has %d: give a ZipFile", maxSource, length))
		}
		return registry.Code{Inline: &text}, nil
	case !c.At("Code", "OssBucketName").IsNull() || !c.At("Code", "OssObjectName").IsNull():
		code := registry.Code{Bucket: c.Text("Code", "OssBucketName"), Key: c.Text("Code", "OssObjectName")}
		if code.Bucket == "" || code.Key == "" {
			return code, errors.New("Code must have both an OssBucketName and an OssObjectName") //nolint:staticcheck // a property's name
		}
		return code, nil
	}
	return registry.Code{}, errors.New("Property Code must have a SourceCode, a ZipFile, or an OssBucketName and an OssObjectName") //nolint:staticcheck // a property's name
}
