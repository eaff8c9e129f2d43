package lambda

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// LayerReference returns the scope and the name, NAME:NUMBER, of the layer version with an ARN.
func LayerReference(arn string) (place registry.Scope, name string, ok bool) {
	r, ok := parseLayer(arn)
	return r.Scope, r.name, ok
}

// layers stores layers, which functions get in addition to their code.
type layers struct {
	config Config
	code   *codeStore
}

// CreateLayer creates the next version of a layer and returns its ARN. The item has the name without a number. If the
// item's Holder already created a version, CreateLayer returns that one.
func (la *layers) CreateLayer(ctx context.Context, i registry.Item[registry.Layer], code registry.Code) (arn string, err error) {
	name := i.Name
	if !layerName.MatchString(name) {
		return "", constraint("layerName", name, "Member must satisfy regular expression pattern: [a-zA-Z0-9-_]+, and have length less than or equal to 140")
	}
	if i.Owner != "" {
		if made, err := la.layerOf(ctx, i); made != "" || err != nil {
			return made, err
		}
	}
	kept, err := la.code.keep(ctx, i.Scope, code, "", i.Of.Contract)
	if err != nil {
		return "", err
	}
	i.Version, i.Of.Code, i.Of.CodeSize = 0, kept.sum, kept.size
	i.Of.Made = la.config.Now().UTC().Truncate(time.Millisecond)
	number, err := la.nextLayer(ctx, i.Scope, name)
	if err != nil {
		return "", err
	}
	i.Name = name + ":" + strconv.Itoa(number)
	_, err = la.config.Catalog.Layers.Put(ctx, i)
	return layerReference{i.Scope, i.Name, i.Of.Contract == registry.ContractFC}.arn(), err
}

// layerOf returns the ARN of the version that the item's holder created, or "".
func (la *layers) layerOf(ctx context.Context, i registry.Item[registry.Layer]) (string, error) {
	const limit = 100
	for after := i.Name + ":"; ; {
		page, err := la.config.Catalog.Layers.List(ctx, i.Scope, after, limit)
		if err != nil {
			return "", err
		}
		for _, v := range page {
			after = v.Name
			switch {
			case !strings.HasPrefix(v.Name, i.Name+":"):
				return "", nil
			case v.Owner == i.Owner:
				return layerReference{v.Scope, v.Name, v.Of.Contract == registry.ContractFC}.arn(), nil
			}
		}
		if len(page) < limit {
			return "", nil
		}
	}
}

// nextLayer returns the next version number of a layer. An item with the layer's own name holds the counter, so that
// no number is used twice.
func (la *layers) nextLayer(ctx context.Context, place registry.Scope, name string) (int, error) {
	for {
		counter, err := la.config.Catalog.Layers.Get(ctx, place, name)
		if errors.Is(err, registry.ErrNotFound) {
			counter, err = registry.Item[registry.Layer]{Scope: place, Name: name}, nil
		}
		if err != nil {
			return 0, err
		}
		counter.Of.Last++
		_, err = la.config.Catalog.Layers.Put(ctx, counter)
		if err == nil {
			return counter.Of.Last, nil
		}
		if !errors.Is(err, registry.ErrChanged) && !errors.Is(err, registry.ErrExists) && !errors.Is(err, registry.ErrNotFound) {
			return 0, err
		}
	}
}

// Layer returns a layer version by its ARN. It returns [ErrNotFound] if it does not exist.
func (la *layers) Layer(ctx context.Context, arn string) (registry.Item[registry.Layer], error) {
	r, ok := parseLayer(arn)
	if !ok {
		return registry.Item[registry.Layer]{}, noLayer()
	}
	i, err := la.config.Catalog.Layers.Get(ctx, r.Scope, r.name)
	if errors.Is(err, registry.ErrNotFound) {
		return i, noLayer()
	}
	return i, err
}

func noLayer() error {
	return &Error{
		Code: "ResourceNotFoundException", Message: "The resource you requested does not exist.",
		Status: http.StatusNotFound, kind: ErrNotFound,
	}
}

// DeleteLayer removes a layer version. Functions that use it keep it. It returns [ErrNotFound] if it does not exist.
func (la *layers) DeleteLayer(ctx context.Context, arn string) error {
	r, ok := parseLayer(arn)
	if !ok {
		return noLayer()
	}
	err := la.config.Catalog.Layers.Delete(ctx, r.Scope, r.name, 0)
	if errors.Is(err, registry.ErrNotFound) {
		return noLayer()
	}
	if err == nil {
		la.code.collect(ctx, r.Scope)
	}
	return err
}

// LayerARN returns the ARN of the layer version with a name, NAME:NUMBER.
func LayerARN(place registry.Scope, name string) string {
	return layerReference{place, name, false}.arn()
}
