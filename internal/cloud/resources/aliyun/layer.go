package aliyun

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

var layerTable = resources.Table{
	Name: "ALIYUN::FC::Layer", Dialect: wire.ROS,
	Texts: "Description LayerName", Lists: "CompatibleRuntime", Objects: "Code",
	Required: "Code CompatibleRuntime LayerName", Replaces: "Code CompatibleRuntime Description LayerName",
	Attributes: "Arn LayerName Version",
	Named:      "LayerName", Longest: fcNameLength, Letters: fcLetters,
}

// layer is ALIYUN::FC::Layer: a layer version, whose ID is its ARN.
type layer struct{ Config }

// Create implements [resources.Maker].
func (t layer) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	code, err := codeOf(c)
	if err != nil {
		return native.Result{}, err
	}
	arn, err := t.Functions.CreateLayer(ctx, registry.Item[registry.Layer]{
		Scope: c.Place, Name: c.Text("LayerName"), Owner: c.Holder(),
		Of: registry.Layer{
			Description: c.Text("Description"), Runtimes: c.Texts("CompatibleRuntime"), Made: t.Now().UTC(), Contract: registry.ContractFC,
		},
	}, code)
	if err != nil {
		return native.Result{}, err
	}
	return layerResult(arn), nil
}

// Update implements [resources.Maker]. It changes nothing, because every changed property creates a new version.
func (layer) Update(_ context.Context, c *resources.Call) (native.Result, error) {
	return layerResult(c.Physical()), nil
}

// Remove implements [resources.Maker].
func (t layer) Remove(ctx context.Context, c *resources.Call) error {
	name, version, ok := layerNamed(c.Physical())
	if !ok {
		return nil // the ID of a failed Create
	}
	if mine, err := resources.Own(ctx, c, t.Catalog.Layers, c.Place, name+":"+version); err != nil || !mine {
		return err
	}
	return resources.IgnoreMissing(t.Functions.DeleteLayer(ctx, c.Physical()))
}

// layerNamed returns the name and the version in a layer ARN.
func layerNamed(arn string) (name, version string, ok bool) {
	_, rest, ok := strings.Cut(arn, ":layers/")
	name, version, found := strings.Cut(rest, "/versions/")
	return name, version, ok && found
}

func layerResult(arn string) native.Result {
	name, version, _ := layerNamed(arn)
	return resources.Result(arn, "Arn", arn, "LayerName", name, "Version", version)
}
