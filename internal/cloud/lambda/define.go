package lambda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

type item = registry.Item[registry.Function]

// definitions creates, changes and deletes the functions of the catalog.
type definitions struct {
	*finder

	settings *settings
	code     *codeStore
	ready    *preparer
}

// Create creates a function. If its Holder created it before, Create updates it. Create sets Code, CodeSize,
// LayerCode, Modified, Revision and Last. The error is an [*Error], which may wrap [ErrExists], or an error of the
// store or disk.
func (de *definitions) Create(ctx context.Context, i item, code registry.Code) (item, error) {
	if err := checkName(i); err != nil {
		return i, err
	}
	i.Version, i.Of.Last = 0, 0
	if err := de.complete(ctx, &i, &code); err != nil {
		return i, err
	}
	made, err := de.config.Catalog.Functions.Put(ctx, i)
	if !errors.Is(err, registry.ErrExists) {
		return made, err
	}
	there, err := de.config.Catalog.Functions.Get(ctx, i.Scope, i.Name)
	if err != nil {
		return i, known(err, of(i)) // it was deleted meanwhile
	}
	if there.Owner == "" || there.Owner != i.Owner {
		return there, &Error{
			Code: "ResourceConflictException", Message: "Function already exist: " + i.Name, Status: http.StatusConflict, kind: ErrExists,
		}
	}
	return de.replace(ctx, i)
}

// complete validates a function and fills in the fields that are set here. With a nil code, the code does not change.
func (de *definitions) complete(ctx context.Context, i *item, code *registry.Code) error {
	if err := check(&i.Of); err != nil {
		return err
	}
	if err := de.findLayers(ctx, i); err != nil {
		return err
	}
	if code != nil {
		kept, err := de.code.keep(ctx, i.Scope, *code, i.Of.Runtime, i.Of.Contract)
		if err != nil {
			return err
		}
		i.Of.Code, i.Of.CodeSize = kept.sum, kept.size
	}
	i.Of.Modified, i.Of.Revision = de.config.Now().UTC().Truncate(time.Millisecond), uuid.NewString()
	return nil
}

// findLayers sets the code of the layers. Layers that the function already has may have been deleted.
func (de *definitions) findLayers(ctx context.Context, i *item) error {
	before := i.Of.LayerCode
	i.Of.LayerCode = nil
	for _, arn := range i.Of.Layers {
		r, ok := parseLayer(arn)
		if !ok {
			return invalid("Layer version %.200s does not exist.", arn)
		}
		if r.Account != i.Account {
			return &Error{
				Code: "AccessDeniedException", Status: http.StatusForbidden,
				Message: fmt.Sprintf("The account %s is not authorized to perform: lambda:GetLayerVersion on resource: %.256s", i.Account, arn),
			}
		}
		layer, err := de.config.Catalog.Layers.Get(ctx, r.Scope, r.name)
		if err == nil {
			err = de.code.renew(r.Scope, layer.Of.Code) // it may be about to be deleted
		}
		switch {
		case err == nil:
			i.Of.LayerCode = append(i.Of.LayerCode, registry.LayerCode{ARN: arn, Scope: r.Scope, Code: layer.Of.Code, Size: layer.Of.CodeSize})
			continue
		case !errors.Is(err, registry.ErrNotFound):
			return err
		}
		found := false
		for _, had := range before {
			if found = had.ARN == arn; found {
				i.Of.LayerCode = append(i.Of.LayerCode, had)
				break
			}
		}
		if !found {
			return invalid("Layer version %s does not exist.", arn)
		}
	}
	return nil
}

// replace updates the function to i, and keeps the rest of its state.
func (de *definitions) replace(ctx context.Context, i item) (item, error) {
	changed, err := de.config.Catalog.Functions.Change(ctx, i.Scope, i.Name, func(there *item) error {
		last := there.Of.Last
		there.Of = i.Of
		there.Of.Last = last
		return nil
	})
	return changed, known(err, of(i))
}

// Update updates a function to the item, which is a changed result of [Functions.Get]. It changes the code only if
// code is not nil. The function must still have the item's Revision, unless that is empty.
func (de *definitions) Update(ctx context.Context, i item, code *registry.Code) (item, error) {
	there, err := de.config.Catalog.Functions.Get(ctx, i.Scope, i.Name)
	if err != nil {
		return i, known(err, of(i))
	}
	read := i.Of.Revision
	i.Of.LayerCode, i.Of.Code, i.Of.CodeSize = there.Of.LayerCode, there.Of.Code, there.Of.CodeSize
	if err := de.complete(ctx, &i, code); err != nil {
		return i, err
	}
	changed, err := de.config.Catalog.Functions.Change(ctx, i.Scope, i.Name, func(now *item) error {
		if read != "" && read != now.Of.Revision {
			return registry.ErrChanged
		}
		if code == nil { // it may have changed since it was read
			i.Of.Code, i.Of.CodeSize = now.Of.Code, now.Of.CodeSize
		}
		i.Of.Last = now.Of.Last
		i.Of.Declared = cmp.Or(i.Of.Declared, now.Of.Declared)
		now.Of = i.Of
		return nil
	})
	if err = known(err, of(i)); err == nil {
		de.code.collect(ctx, i.Scope)
	}
	return changed, err
}

// Get returns a function, or one of its versions if the name is NAME:VERSION.
func (fi *finder) Get(ctx context.Context, place registry.Scope, name string) (item, error) {
	r, err := ParseReference(place, name, "")
	if err != nil {
		return item{}, err
	}
	i, err := fi.config.Catalog.Functions.Get(ctx, r.Scope, r.row())
	return i, known(err, r)
}

// List returns up to limit functions in a scope, sorted by name, including declared functions. It starts after a
// name, or with the first if after is empty. With versions, the published versions of each function follow it.
func (de *definitions) List(ctx context.Context, place registry.Scope, after string, limit int, versions bool) ([]item, error) {
	declared, names := []item{}, map[string]bool{}
	for _, i := range de.Declared(place) {
		names[i.Name] = true
		if i.Name > after {
			declared = append(declared, i)
		}
	}
	list, err := de.listCatalog(ctx, place, after, limit, func(i item) bool {
		return !names[i.Name] && (versions || !strings.Contains(i.Name, ":"))
	})
	if err != nil {
		return nil, err
	}
	list = append(list, declared...)
	slices.SortFunc(list, func(a, b item) int { return strings.Compare(a.Name, b.Name) })
	return list[:min(limit, len(list))], nil
}

// listCatalog returns up to limit wanted functions of the catalog, sorted by name.
func (de *definitions) listCatalog(ctx context.Context, place registry.Scope, after string, limit int, wanted func(item) bool) ([]item, error) {
	var list []item
	for !de.config.DeclaredOnly && len(list) < limit {
		page, err := de.config.Catalog.Functions.List(ctx, place, after, limit)
		if err != nil {
			return nil, err
		}
		for _, i := range page {
			if after = i.Name; wanted(i) && len(list) < limit {
				list = append(list, i)
			}
		}
		if len(page) < limit {
			break
		}
	}
	return list, nil
}

// Versions returns the published versions of a function, the oldest first.
func (de *definitions) Versions(ctx context.Context, place registry.Scope, name string) ([]item, error) {
	i, err := de.Get(ctx, place, name)
	if err != nil {
		return nil, err
	}
	var list []item
	for n := 1; n <= i.Of.Last; n++ {
		v, err := de.config.Catalog.Functions.Get(ctx, place, i.Name+":"+strconv.Itoa(n))
		switch {
		case err == nil:
			list = append(list, v)
		case !errors.Is(err, registry.ErrNotFound):
			return nil, err
		}
	}
	return list, nil
}

// Delete removes a function with all its versions, or one version if the name is NAME:VERSION. Running calls
// continue. The error is [ErrNotFound] if it does not exist.
func (de *definitions) Delete(ctx context.Context, place registry.Scope, name string) error {
	r, err := ParseReference(place, name, "")
	if err != nil {
		return err
	}
	if r.Qualifier == Latest {
		return invalid("$LATEST version cannot be deleted without deleting the function.")
	}
	i, err := de.config.Catalog.Functions.Get(ctx, r.Scope, r.row())
	if err != nil {
		return known(err, r)
	}
	// Delete the versions first: a client that repeats an interrupted delete must still find the function.
	for n := 1; n <= i.Of.Last; n++ {
		v := Reference{Scope: r.Scope, Name: r.Name, Qualifier: strconv.Itoa(n)}
		if err := de.settings.dropStatements(ctx, v); err != nil {
			return err
		}
		if err := de.config.Catalog.Functions.Delete(ctx, v.Scope, v.row(), 0); err != nil && !errors.Is(err, registry.ErrNotFound) {
			return err
		}
		de.ready.forget(v.ARN())
	}
	if err := de.settings.dropStatements(ctx, r); err != nil {
		return err
	}
	if r.Qualifier == "" {
		if err := de.settings.dropEventConfigs(ctx, r); err != nil {
			return err
		}
	}
	if err := de.config.Catalog.Functions.Delete(ctx, r.Scope, r.row(), 0); err != nil {
		return known(err, r)
	}
	de.ready.forget(r.ARN())
	de.code.collect(ctx, r.Scope)
	return nil
}

// Publish creates a version of the current function and returns its number. If nothing changed since the last
// version, it returns the number of that one.
func (de *definitions) Publish(ctx context.Context, place registry.Scope, name, description string) (version string, err error) {
	r, err := ParseReference(place, name, "")
	if err != nil {
		return "", err
	}
	for {
		i, err := de.config.Catalog.Functions.Get(ctx, r.Scope, r.Name)
		if err != nil {
			return "", known(err, r)
		}
		n := i.Of.Last
		if n > 0 {
			last, err := de.config.Catalog.Functions.Get(ctx, r.Scope, r.Name+":"+strconv.Itoa(n))
			if err == nil && sameVersion(last.Of, i.Of) {
				return strconv.Itoa(n), nil
			}
			if err != nil && !errors.Is(err, registry.ErrNotFound) {
				return "", err
			}
		}
		if err := de.code.renew(r.Scope, i.Of.Code); err != nil { // the function may be about to change
			return "", fmt.Errorf("publish a version of %s: its code: %w", r.Name, err)
		}
		n++
		// Save the number first, so that it is never used twice, even after a crash at this point.
		i.Of.Last = n
		i, err = de.config.Catalog.Functions.Put(ctx, i)
		if errors.Is(err, registry.ErrChanged) {
			continue
		}
		if err != nil {
			return "", known(err, r)
		}
		v := i
		v.Name, v.Version, v.Of.Last, v.Of.Concurrency = r.Name+":"+strconv.Itoa(n), 0, 0, nil
		if description != "" {
			v.Of.Description = description
		}
		if _, err := de.config.Catalog.Functions.Put(ctx, v); err != nil {
			return "", fmt.Errorf("publish version %d of %s: %w", n, r.Name, err)
		}
		return strconv.Itoa(n), nil
	}
}

// sameVersion reports whether a version still equals the function.
func sameVersion(version, function registry.Function) bool {
	for _, f := range []*registry.Function{&version, &function} {
		f.Last, f.Concurrency, f.Description, f.Tags = 0, nil, "", nil
		f.Modified, f.Revision = time.Time{}, ""
	}
	return reflect.DeepEqual(version, function)
}
