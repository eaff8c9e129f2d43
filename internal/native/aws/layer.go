package aws

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
)

var layerTable = table{
	name:     "AWS::Lambda::LayerVersion",
	texts:    "Description LayerName LicenseInfo",
	lists:    "CompatibleArchitectures CompatibleRuntimes",
	objects:  "Content",
	required: "Content", replaces: "CompatibleArchitectures CompatibleRuntimes Content Description LayerName LicenseInfo",
	attributes: "LayerVersionArn",
	named:      "LayerName", longest: 256, letters: layerLetters,
}

// layerName is how long the name of a layer may be. Source: Lambda, PublishLayerVersion.
const layerName = 140

// layer is AWS::Lambda::LayerVersion. A layer without a name has that of the resource, so stacks may share it: each has
// versions of its own.
type layer struct{ Config }

// create implements [maker].
func (t layer) create(ctx context.Context, c *call) (native.Result, error) {
	name := c.text("LayerName")
	name = name[strings.LastIndex(name, ":")+1:] // it may be an ARN
	if name == "" {
		name = string(c.Logical)
		name = name[:min(len(name), layerName)]
	}
	code, err := c.code("Content")
	if err != nil {
		return native.Result{}, err
	}
	arn, err := t.Functions.CreateLayer(ctx, catalog.Item[catalog.Layer]{
		Place: c.place, Name: name, Holder: c.holder(),
		Of: catalog.Layer{Description: c.text("Description"), Runtimes: c.texts("CompatibleRuntimes"), Made: t.Now().UTC()},
	}, code)
	if err != nil {
		return native.Result{}, err
	}
	return result(arn, "LayerVersionArn", arn), nil
}

// update implements [maker]: every property makes a new version, so there is nothing to change.
func (layer) update(_ context.Context, c *call) (native.Result, error) {
	return result(c.id(), "LayerVersionArn", c.id()), nil
}

// remove implements [maker].
func (t layer) remove(ctx context.Context, c *call) error {
	_, name, ok := strings.Cut(c.id(), ":layer:")
	if !ok {
		return nil // the id of a Create that made nothing
	}
	if mine, err := own(ctx, c, t.Catalog.Layers, c.place, name); err != nil || !mine {
		return err
	}
	return ignoreMissing(t.Functions.DeleteLayer(ctx, c.id()))
}
