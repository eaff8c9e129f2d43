package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle"
)

// fileProperties are the properties of Custom::S3File. The location identifies an object: another bucket or key is
// another object.
type fileProperties struct {
	BucketName string `pintle:"required,immutable,pattern='^[A-Za-z0-9._-]{3,63}$'"`
	ObjectKey  string `pintle:"immutable,length=0..1024,help='Without it the object is named after the stack and the resource'"`
	Contents   string `pintle:"required"`
	Public     bool   `pintle:"help='Whether everybody may read the object'"`
}

// fileAttributes are the values that a template can read.
type fileAttributes struct {
	ObjectKey, ETag, URL string
}

// files is the provider of objects.
type files struct{ store *store }

// Validate rejects the key "/".
func (files) Validate(_ context.Context, r *pintle.ValidateRequest[fileProperties]) error {
	p := r.Properties
	if p.ObjectKey == "/" {
		return errors.New("ObjectKey is /: the first slash of a key is left out, and nothing remains; give the object a name, or leave ObjectKey out")
	}
	return nil
}

// Create writes the object. A repeated Create writes to the same key, because the key follows from the request.
func (f files) Create(ctx context.Context, r *pintle.CreateRequest[fileProperties]) (pintle.Response[fileAttributes], error) {
	return f.write(ctx, &r.Request, r.Properties)
}

// Update overwrites the object in place.
func (f files) Update(ctx context.Context, r *pintle.UpdateRequest[fileProperties]) (pintle.Response[fileAttributes], error) {
	return f.write(ctx, &r.Request, r.Properties)
}

// Delete deletes the object in the ID, regardless of the current properties. It keeps an object that another resource, or
// a person, has put there since.
func (f files) Delete(ctx context.Context, r *pintle.DeleteRequest[fileProperties]) error {
	is, known := parse(string(r.ID))
	if !known {
		is = place(&r.Request, r.Properties) // the location of a Create that was never answered
	}
	owner, err := f.store.owner(ctx, is)
	if errors.Is(err, errNone) {
		return pintle.ErrGone
	}
	if err != nil {
		return err
	}
	if owner != r.Name() {
		r.Log().Warn("this resource did not write the existing object, so it stays", "object", is.String(), "owner", owner)
		return pintle.ErrGone
	}
	return f.store.remove(ctx, is)
}

func (f files) write(ctx context.Context, r *pintle.Request, p fileProperties) (pintle.Response[fileAttributes], error) {
	is := place(r, p)
	id := is.String()
	if limit := r.Dialect.MaxPhysicalID(); len(id) > limit {
		return pintle.Response[fileAttributes]{}, fmt.Errorf("ObjectKey is too long: %d bytes with its bucket, and an ID may have %d", len(id), limit)
	}
	etag, err := f.store.put(ctx, is, p.Contents, r.Name(), p.Public)
	if err != nil && !undecided(err) {
		return pintle.Response[fileAttributes]{}, err // nothing was made, so there is nothing to delete
	}
	return pintle.Response[fileAttributes]{
		ID:         pintle.PhysicalID(id),
		Attributes: fileAttributes{ObjectKey: is.key, ETag: etag, URL: f.store.url(is)},
	}, err
}

// place returns the location of the object. A generated name is the same in every request for a resource.
func place(r *pintle.Request, p fileProperties) object {
	key := strings.TrimPrefix(p.ObjectKey, "/")
	if p.ObjectKey == "" {
		key = r.Name() + ".txt"
	}
	return object{p.BucketName, key}
}
