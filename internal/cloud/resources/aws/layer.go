package aws

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

var layerTable = resources.Table{
	Name:       "AWS::Lambda::LayerVersion",
	Identifier: "LayerVersionArn",
	Texts:      "Description LayerName LicenseInfo",
	Lists:      "CompatibleArchitectures CompatibleRuntimes",
	Objects:    "Content",
	Required:   "Content", Replaces: "CompatibleArchitectures CompatibleRuntimes Content Description LayerName LicenseInfo",
	Attributes: "LayerVersionArn",
	Named:      "LayerName", Longest: 256, Letters: layerLetters,
}

// layerName is the maximum length of a layer name. Source: Lambda, PublishLayerVersion.
const layerName = 140

// layer is AWS::Lambda::LayerVersion. A layer without a name uses the logical ID. Stacks may then share the layer,
// with separate versions.
type layer struct{ Config }

// Create implements [resources.Maker].
func (t layer) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	name := c.Text("LayerName")
	name = name[strings.LastIndex(name, ":")+1:] // it may be an ARN
	if name == "" {
		name = string(c.Logical)
		name = name[:min(len(name), layerName)]
	}
	code, err := codeOf(c, "Content")
	if err != nil {
		return native.Result{}, err
	}
	arn, err := t.Functions.CreateLayer(ctx, registry.Item[registry.Layer]{
		Scope: c.Place, Name: name, Owner: c.Holder(),
		Of: registry.Layer{Description: c.Text("Description"), Runtimes: c.Texts("CompatibleRuntimes"), Made: t.Now().UTC()},
	}, code)
	if err != nil {
		return native.Result{}, err
	}
	return resources.Result(arn, "LayerVersionArn", arn), nil
}

// Update implements [resources.Maker]. It changes nothing, because every changed property creates a new version.
func (layer) Update(_ context.Context, c *resources.Call) (native.Result, error) {
	return resources.Result(c.Physical(), "LayerVersionArn", c.Physical()), nil
}

// Remove implements [resources.Maker].
func (t layer) Remove(ctx context.Context, c *resources.Call) error {
	_, name, ok := strings.Cut(c.Physical(), ":layer:")
	if !ok {
		return nil // the ID of a failed Create
	}
	if mine, err := resources.Own(ctx, c, t.Catalog.Layers, c.Place, name); err != nil || !mine {
		return err
	}
	return resources.IgnoreMissing(t.Functions.DeleteLayer(ctx, c.Physical()))
}
