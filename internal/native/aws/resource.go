package aws

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// maker makes the resources of a type.
type maker interface {
	// create makes what is declared. If the same request has made it before, it is brought to what is declared. With an error
	// the result has a physical id only if something of this very request is there.
	create(ctx context.Context, c *call) (native.Result, error)
	// update changes what the call's physical id names, and returns all attributes.
	update(ctx context.Context, c *call) (native.Result, error)
	// remove removes it if the resource has made it.
	remove(ctx context.Context, c *call) error
}

// resource is one type.
type resource struct {
	table
	schema   *native.Schema
	maker    maker
	ready    bool
	patience time.Duration
}

// errOff is the reason of what is served where there is no cloud.
var errOff = errors.New("the cloud of this machine is off: start the server with --dev or --run-functions")

// Schema implements [native.Type].
func (t *resource) Schema() *native.Schema { return t.schema }

// Declare implements [native.Declarer]: a name, and the path that is part of it, is shown to whoever may list names, so it cannot
// be a secret.
func (t *resource) Declare(d native.Declaration) (native.Wanted, error) {
	wanted := native.Wanted{Timeout: native.DefaultTimeout}
	for _, property := range []string{t.named, "Path"} {
		if v, given := d.Properties.Get(property); given && v.Secret() {
			return wanted, reason("Value of property " + property + " must not be a secret: names are shown")
		}
	}
	name, given := d.Properties.Get(t.named)
	switch {
	case !given:
		return wanted, nil
	case name.Text() == "":
		return wanted, reasonf("Property validation failure: [Value of property {/%s} must not be empty]", t.named)
	case t.letters != nil && (len(name.Text()) > t.longest || !t.letters.MatchString(name.Text())):
		return wanted, reasonf("Property validation failure: [Value of property {/%s} must be 1 to %d characters that match %s]", t.named, t.longest, t.letters)
	}
	return wanted, nil
}

// Serve implements [native.Type].
func (t *resource) Serve(ctx context.Context, r *store.Request) (native.Result, error) {
	if !t.ready {
		return native.Result{}, errOff
	}
	c, err := readCall(t.schema.Name, r)
	if err != nil {
		return native.Result{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	result, err := t.serve(bounded, c)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it took longer than %s: %w", t.patience, err)
	}
	return result, err
}

func (t *resource) serve(ctx context.Context, c *call) (native.Result, error) {
	switch c.Type {
	case wire.Create:
		return t.maker.create(ctx, c)
	case wire.Update:
		return t.maker.update(ctx, c)
	case wire.Delete:
		return native.Result{}, t.maker.remove(ctx, c)
	}
	return native.Result{}, fmt.Errorf("resources of type %s are not asked for a %s", t.schema.Name, c.Type)
}

// Forms of names. Sources: the resource schemas of CloudFormation.
var (
	identityLetters  = regexp.MustCompile(`^[\w+=,.@-]+$`)
	machineLetters   = regexp.MustCompile(`^[\w-]+$`)
	groupLetters     = regexp.MustCompile(`^[.\-_/#A-Za-z0-9]+$`)
	parameterLetters = regexp.MustCompile(`^[\w./-]+$`)
	layerLetters     = regexp.MustCompile(`^(arn:[\w-]+:lambda:[\w-]+:\d{12}:layer:)?[\w-]+$`)
	bucketForm       = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`)
	repositoryForm   = regexp.MustCompile(`^[a-z0-9]+([._/-]+[a-z0-9]+)*$`)
	aliasForm        = regexp.MustCompile(`^alias/[\w:/-]+$`)
)
