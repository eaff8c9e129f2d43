package aws

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

var versionTable = resources.Table{
	Name:       "AWS::Lambda::Version",
	Identifier: "FunctionArn",
	Texts:      "CodeSha256 Description FunctionName",
	Objects:    "FunctionScalingConfig ProvisionedConcurrencyConfig RuntimePolicy",
	Required:   "FunctionName", Replaces: "CodeSha256 Description FunctionName ProvisionedConcurrencyConfig RuntimePolicy",
	Attributes: "FunctionArn Version",
	Named:      "FunctionName", Longest: 140, Letters: functionForm,
}

// version is AWS::Lambda::Version. Publishing an unchanged function again returns the existing version, so a version
// has its own holder. Until a resource claims it, it has the holder of the function.
type version struct{ Config }

// Create implements [resources.Maker].
func (t version) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	name := functionNamed(c.Text("FunctionName"))
	function, err := t.Catalog.Functions.Get(ctx, c.Place, name)
	if errors.Is(err, registry.ErrNotFound) {
		return native.Result{}, resources.Reason("Function not found: " + c.ARN("lambda", "function:"+name))
	}
	if err != nil {
		return native.Result{}, err
	}
	if want := c.Text("CodeSha256"); want != "" {
		if is := codeSha256(function.Of.Code); is != want {
			return native.Result{}, resources.Reasonf("CodeSHA256 (%s) is different from current CodeSHA256 in $LATEST (%s). Please try again with the CodeSHA256 in $LATEST.", want, is)
		}
	}
	number, err := t.Functions.Publish(ctx, c.Place, name, c.Text("Description"))
	if err != nil {
		return native.Result{}, err
	}
	_, err = t.Catalog.Functions.Change(ctx, c.Place, name+":"+number, func(there *registry.Item[registry.Function]) error {
		if there.Owner != function.Owner && there.Owner != c.Holder() {
			return resources.Reasonf("A version for this Lambda function exists ( %s ). Modify the function to create a new version.", number)
		}
		there.Owner = c.Holder()
		return nil
	})
	if err != nil {
		return native.Result{}, err
	}
	return versionResult(c.ARN("lambda", "function:"+name+":"+number)), nil
}

// codeSha256 returns the hash of code in Lambda's format.
func codeSha256(code string) string {
	sum, err := hex.DecodeString(code)
	if err != nil {
		return "" // such code cannot exist
	}
	return base64.StdEncoding.EncodeToString(sum)
}

func versionResult(arn string) native.Result {
	return resources.Result(arn, "FunctionArn", arn, "Version", arn[strings.LastIndex(arn, ":")+1:])
}

// Update implements [resources.Maker]. Properties that do not need a new version are recorded with the resource.
func (t version) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	if _, err := t.Catalog.Functions.Get(ctx, c.Place, versionNamed(c)); err != nil {
		if errors.Is(err, registry.ErrNotFound) {
			err = c.Lost()
		}
		return native.Result{}, err
	}
	return versionResult(c.Physical()), nil
}

// Remove implements [resources.Maker].
func (t version) Remove(ctx context.Context, c *resources.Call) error {
	if mine, err := resources.Own(ctx, c, t.Catalog.Functions, c.Place, versionNamed(c)); err != nil || !mine {
		return err
	}
	return resources.IgnoreMissing(t.Functions.Delete(ctx, c.Place, versionNamed(c)))
}

// versionNamed returns the name of a version, NAME:NUMBER.
func versionNamed(c *resources.Call) string {
	return strings.TrimPrefix(c.Physical(), c.ARN("lambda", "function:"))
}

// functionNamed returns the name in a reference to a function: a name or a full or partial ARN, with or without a
// qualifier.
func functionNamed(text string) string {
	return functionForm.FindStringSubmatch(text)[1]
}

// functionForm matches a reference to a function. Its group is the name. Source: Lambda, PublishVersion.
var functionForm = regexp.MustCompile(`^(?:(?:arn:[\w-]+:lambda:[\w-]+:)?(?:\w+:)?function:)?([\w-]+)(?::[$\w-]+)?$`)
