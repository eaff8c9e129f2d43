package aws

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
)

var versionTable = table{
	name:     "AWS::Lambda::Version",
	texts:    "CodeSha256 Description FunctionName",
	objects:  "FunctionScalingConfig ProvisionedConcurrencyConfig RuntimePolicy",
	required: "FunctionName", replaces: "CodeSha256 Description FunctionName ProvisionedConcurrencyConfig RuntimePolicy",
	attributes: "FunctionArn Version",
	named:      "FunctionName", longest: 140, letters: functionForm,
}

// version is AWS::Lambda::Version. What is published again without a change is the version that there is, so that has a holder of
// its own: until a resource has it, it is that of the function.
type version struct{ Config }

// create implements [maker].
func (t version) create(ctx context.Context, c *call) (native.Result, error) {
	name := functionNamed(c.text("FunctionName"))
	function, err := t.Catalog.Functions.Get(ctx, c.place, name)
	if errors.Is(err, catalog.ErrNotFound) {
		return native.Result{}, reason("Function not found: " + c.arn("lambda", "function:"+name))
	}
	if err != nil {
		return native.Result{}, err
	}
	if want := c.text("CodeSha256"); want != "" {
		sum, err := hex.DecodeString(function.Of.Code)
		if is := base64.StdEncoding.EncodeToString(sum); err != nil || is != want {
			return native.Result{}, reasonf("CodeSHA256 (%s) is different from current CodeSHA256 in $LATEST (%s). Please try again with the CodeSHA256 in $LATEST.", want, is)
		}
	}
	number, err := t.Functions.Publish(ctx, c.place, name, c.text("Description"))
	if err != nil {
		return native.Result{}, err
	}
	_, err = t.Catalog.Functions.Change(ctx, c.place, name+":"+number, func(there *catalog.Item[catalog.Function]) error {
		if there.Holder != function.Holder && there.Holder != c.holder() {
			return reasonf("A version for this Lambda function exists ( %s ). Modify the function to create a new version.", number)
		}
		there.Holder = c.holder()
		return nil
	})
	if err != nil {
		return native.Result{}, err
	}
	return versionResult(c.arn("lambda", "function:"+name+":"+number)), nil
}

func versionResult(arn string) native.Result {
	return result(arn, "FunctionArn", arn, "Version", arn[strings.LastIndex(arn, ":")+1:])
}

// update implements [maker]: what can change without a new version is recorded with the resource.
func (t version) update(ctx context.Context, c *call) (native.Result, error) {
	if _, err := t.Catalog.Functions.Get(ctx, c.place, versionNamed(c)); err != nil {
		if errors.Is(err, catalog.ErrNotFound) {
			err = c.lost()
		}
		return native.Result{}, err
	}
	return versionResult(c.id()), nil
}

// remove implements [maker].
func (t version) remove(ctx context.Context, c *call) error {
	if mine, err := own(ctx, c, t.Catalog.Functions, c.place, versionNamed(c)); err != nil || !mine {
		return err
	}
	return ignoreMissing(t.Functions.Delete(ctx, c.place, versionNamed(c)))
}

// versionNamed is the name of a version, NAME:NUMBER.
func versionNamed(c *call) string { return strings.TrimPrefix(c.id(), c.arn("lambda", "function:")) }

// functionNamed returns the name in what names a function: a name or an ARN, whole or partial, with a qualifier or none.
func functionNamed(text string) string {
	return functionForm.FindStringSubmatch(text)[1]
}

// functionForm is what names a function, of which the group is the name. Source: Lambda, PublishVersion.
var functionForm = regexp.MustCompile(`^(?:(?:arn:[\w-]+:lambda:[\w-]+:)?(?:\w+:)?function:)?([\w-]+)(?::[$\w-]+)?$`)
