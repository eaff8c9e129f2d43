package forward

import (
	"context"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Foresee implements [native.Forward].
func (f *Forwarder) Foresee(ctx context.Context, r *store.Request) (native.Foreseen, error) {
	t, ok := f.Type(r.Body.ResourceType).(*forwarded)
	if !ok || r.Type != wire.Update {
		return native.Foreseen{}, nil
	}
	j, err := t.job(r)
	if err != nil {
		return native.Foreseen{}, err
	}
	if err := f.config.Allowed(j.place.Account, "cloudformation:CreateChangeSet"); err != nil || j.place.Account != f.config.Account {
		return native.Foreseen{Maybe: true}, err
	}
	of, stray, ok, err := j.find(ctx)
	switch {
	case err != nil:
		return native.Foreseen{}, err
	case stray:
		return native.Foreseen{}, j.failure("the endpoint replaced %s on its own: it cannot be updated", r.Body.PhysicalID)
	case !ok:
		return native.Foreseen{Replaces: true, Reason: "Pintle created it itself, before its type was forwarded"}, nil
	}
	s, err := j.describe(ctx, of.Of.Stack)
	switch {
	case err != nil:
		return native.Foreseen{}, err
	case s == nil:
		return native.Foreseen{}, j.failure("it no longer has the stack %s with this resource", of.Of.Stack)
	}
	d, err := j.write()
	if err != nil {
		return native.Foreseen{}, err
	}
	return j.foresee(ctx, s, &d, j.token("foresee "+d.digest))
}

// foresee reports whether the endpoint would replace the resource. If the endpoint does not say so, the properties
// that are known to be create-only decide.
func (j *job) foresee(ctx context.Context, s *inner, d *document, name string) (native.Foreseen, error) {
	f := native.Foreseen{Maybe: true}
	if !j.e.moto.Load() { // whose change sets have no replacements
		var err error
		if f, err = j.ask(ctx, s, d, name); err != nil || !f.Maybe {
			return f, err
		}
	}
	if names := native.Replacing(j.r.Body.ResourceType, j.r.Body.OldProperties, j.r.Body.Properties); names != nil {
		f = replacedBy(names)
	}
	return f, nil
}

// replacedBy returns the effect of a change of properties that replaces a resource.
func replacedBy(properties []string) native.Foreseen {
	return native.Foreseen{Replaces: true, Reason: "a change of " + strings.Join(properties, ", ") + " replaces it"}
}

// ask makes a change set for an inner stack, reads it and deletes it. An endpoint without change sets may replace the
// resource.
func (j *job) ask(ctx context.Context, s *inner, d *document, name string) (native.Foreseen, error) {
	stack := j.nameOf(s) // ministack does not find change sets by the ARN of the stack
	params := d.params(stack)
	params["ChangeSetName"], params["ChangeSetType"], params["ClientToken"] = name, "UPDATE", name
	_, err := j.e.call(ctx, j.place.Region, cloudFormation, "CreateChangeSet", params)
	switch {
	case err == nil || exists(err):
	case lacks(err):
		return native.Foreseen{Maybe: true}, nil
	default:
		return native.Foreseen{}, err
	}
	defer func() { // also after ctx has ended
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		params := map[string]any{"StackName": stack, "ChangeSetName": name}
		if _, err := j.e.call(ctx, j.place.Region, cloudFormation, "DeleteChangeSet", params); err != nil && !missing(err) {
			j.config.Log.Warn("a change set at an endpoint was not deleted", "endpoint", j.e.host, "changeSet", name, "error", err)
		}
	}()
	out, err := j.changeSet(ctx, stack, name)
	if err != nil {
		return native.Foreseen{}, err
	}
	reason := text(out, "StatusReason")
	switch status := text(out, "Status"); {
	case status == "CREATE_COMPLETE":
		return foreseen(objects(out, "Changes"), string(j.r.Logical)), nil
	case status == "FAILED" && (strings.Contains(reason, "didn't contain changes") || strings.Contains(reason, "No updates are to be performed")):
		return native.Foreseen{}, nil
	default:
		return native.Foreseen{}, j.failure("%s (change set in %s)", reason, status)
	}
}

// changeSet waits until a change set of an inner stack is ready or has failed, and returns it.
func (j *job) changeSet(ctx context.Context, stack, name string) (map[string]any, error) {
	for look := 0; ; look++ {
		out, err := j.e.call(ctx, j.place.Region, cloudFormation, "DescribeChangeSet", map[string]any{"StackName": stack, "ChangeSetName": name})
		if err != nil {
			return nil, err
		}
		if status := text(out, "Status"); !strings.HasSuffix(status, "_PENDING") && !strings.HasSuffix(status, "_IN_PROGRESS") {
			return out, nil
		}
		if !backoff.Wait(ctx, backoff.Bound(j.config.Backoff, maxPoll, look/2)) {
			return nil, j.failure("its change set was not ready in time")
		}
	}
}

// foreseen reads the changes of a change set.
func foreseen(changes []map[string]any, logical string) native.Foreseen {
	for _, change := range changes {
		of, _ := change["ResourceChange"].(map[string]any)
		if text(of, "LogicalResourceId") != logical {
			continue
		}
		var properties []string
		for _, detail := range objects(of, "Details") {
			target, _ := detail["Target"].(map[string]any)
			if text(target, "RequiresRecreation") == "Always" && text(target, "Name") != "" {
				properties = append(properties, text(target, "Name"))
			}
		}
		switch replacement := text(of, "Replacement"); {
		case replacement == "True" && properties != nil:
			return replacedBy(properties)
		case replacement != "False":
			return native.Foreseen{Replaces: replacement == "True", Maybe: replacement != "True"}
		}
	}
	return native.Foreseen{}
}
