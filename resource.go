package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
	"github.com/pintle-dev/pintle/wire"
)

// Resource is a [Handler] that [New] makes from a [Provider].
type Resource struct {
	properties, attributes *shape
	migrates, reads, plans bool
	handle                 func(context.Context, *Request) (Answer, error)
}

// New returns a handler that decodes and checks properties, calls the provider, and encodes its attributes:
//
//	pintle.Main(pintle.New(site{}))
//
// It panics if the provider's types are invalid: an unknown option in a tag, an invalid default, a field type that
// cannot hold a property, or a method Poll, Read, Plan, Validate or Migrate with the wrong signature.
//
// The json tags name the fields of the properties. Fields are read from the values that CloudFormation sends: "5"
// into a number, "true" into a bool, "90s" or a number of seconds into a [time.Duration], a string into a type with
// an UnmarshalText method. Lists, maps, structs and pointers of these also work, and [json.RawMessage] keeps the raw
// value. A property without a field is an error that names it. The tag pintle has options, separated by commas:
//
//	required            the property must be there
//	default=VALUE       its value if it is not there; JSON for lists, maps and structs
//	min=N, max=N        range of a number or duration
//	length=A..B         length of a text in characters, of a list or map; either end may be left out
//	pattern=REGEXP      must match somewhere in a text; anchor it with ^ and $ to match the whole
//	enum=A|B|C          the allowed values
//	immutable           a change replaces the resource
//	secret              **** replaces its value in reasons and logs, as it does for a [Secret]
//	help=TEXT           description for the schema
//
// Put a value with a comma into single quotes: pattern='^[a-z]{1,8}$'. On a list or map, all rules but length apply
// to each item. Properties that were accepted before (those of a Delete, the old ones of an Update) are read without
// these checks; see [Migrator] and [UpdateRequest].
func New[P, A any](p Provider[P, A], opts ...Option) *Resource {
	var o options
	for _, set := range opts {
		set(&o)
	}
	x, err := newResource(p, o)
	if err != nil {
		panic(fmt.Sprintf("pintle: provider %T: %v", p, err))
	}
	return &Resource{
		properties: x.properties, attributes: x.attributes, migrates: x.migrator != nil, reads: x.reader != nil, plans: x.planner != nil,
		handle: x.handle,
	}
}

// Handle calls the provider for one request.
func (r *Resource) Handle(ctx context.Context, request *Request) (Answer, error) {
	return r.handle(ctx, request)
}

// resource is a provider and the shapes of its types.
type resource[P, A any] struct {
	provider               Provider[P, A]
	poller                 Poller[P, A] // nil if the provider does not implement it; likewise for the others
	reader                 Reader[P, A]
	planner                Planner[P]
	validator              Validator[P]
	migrator               Migrator
	policy                 PollPolicy
	properties, attributes *shape
}

func newResource[P, A any](p Provider[P, A], o options) (*resource[P, A], error) {
	if p == nil {
		return nil, errors.New("it is nil")
	}
	x := &resource[P, A]{provider: p, policy: o.policy}
	x.poller, _ = p.(Poller[P, A])
	x.reader, _ = p.(Reader[P, A])
	x.planner, _ = p.(Planner[P])
	x.validator, _ = p.(Validator[P])
	x.migrator, _ = p.(Migrator)
	for _, optional := range []struct {
		method string
		has    bool
		want   reflect.Type
		// find looks for the method. Its name is a constant there: for any other name, the linker keeps all exported methods
		// of all types in the program.
		find func(reflect.Type) (reflect.Method, bool)
	}{
		{"Poll", x.poller != nil, reflect.TypeFor[Poller[P, A]](), func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Poll") }},
		{"Read", x.reader != nil, reflect.TypeFor[Reader[P, A]](), func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Read") }},
		{"Plan", x.planner != nil, reflect.TypeFor[Planner[P]](), func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Plan") }},
		{
			"Validate", x.validator != nil, reflect.TypeFor[Validator[P]](),
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Validate") },
		},
		{
			"Migrate", x.migrator != nil, reflect.TypeFor[Migrator](),
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Migrate") },
		},
	} {
		// Without this check, a method with almost the right signature would be ignored silently.
		if _, there := optional.find(reflect.TypeOf(p)); there && !optional.has {
			want, _ := optional.find(optional.want)
			return nil, fmt.Errorf("its method %s has another signature than the package calls, want %s", optional.method,
				strings.Replace(want.Type.String(), "func", optional.method, 1))
		}
	}
	if err := x.policy.check(); err != nil {
		return nil, err
	}
	if x.policy != (PollPolicy{}) && x.poller == nil {
		return nil, errors.New("it has a PollPolicy, but no method Poll")
	}
	var err error
	if x.properties, err = compileObject(reflect.TypeFor[P]()); err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	if x.attributes, err = compileAttributes(reflect.TypeFor[A]()); err != nil {
		return nil, fmt.Errorf("attributes: %w", err)
	}
	return x, nil
}

func (x *resource[P, A]) handle(ctx context.Context, r *Request) (Answer, error) {
	if r.wait != nil && r.wait.resumed != nil {
		return x.resume(ctx, r)
	}
	switch r.Type {
	case Create:
		properties, err := x.wanted(ctx, r)
		if err != nil {
			noteRefusedCreate(ctx, r)
			return Answer{}, err
		}
		return x.create(ctx, r, properties)
	case Update:
		u, err := x.accept(ctx, r)
		if err != nil {
			return Answer{}, err
		}
		return x.update(ctx, u)
	case Delete:
		last := lastAttempt(ctx, r)
		properties, err := x.kept(ctx, r)
		if err != nil && last == refusedCreate(r) {
			r.Log().Info("nothing to delete, the Create had been refused")
			return Answer{}, nil
		}
		forgetAttempt(ctx, r, last) // another resource may get this ID
		if err != nil {
			return Answer{}, err
		}
		return x.remove(ctx, r, properties)
	case Read:
		return x.readBack(ctx, r)
	case Plan:
		return x.plan(ctx, r)
	}
	return Answer{}, fmt.Errorf("unknown request type %q", r.Type)
}

// create also runs the Create of a replacement; then r looks like a Create.
func (x *resource[P, A]) create(ctx context.Context, r *Request, properties P) (Answer, error) {
	response, err := x.provider.Create(ctx, &CreateRequest[P]{*r, properties})
	if err == nil && response.ID == "" {
		response.ID = PhysicalID(r.RequestID)
	}
	return x.finish(ctx, r, properties, response, err)
}

// accept reads the properties of an Update. If they are refused, also by a panic of Validate or Migrate, nothing was
// changed, and accept records that.
func (x *resource[P, A]) accept(ctx context.Context, r *Request) (*UpdateRequest[P], error) {
	last := lastAttempt(ctx, r)
	accepted := false
	defer func() {
		if !accepted {
			noteRefused(ctx, r, last)
		}
	}()
	properties, err := x.wanted(ctx, r)
	if err != nil {
		return nil, err
	}
	u := &UpdateRequest[P]{Request: *r, Properties: properties, Old: properties}
	this := attemptOf(r)
	if !this.undoes(last) {
		if u.Old, u.OldProblems, err = x.former(ctx, r); err != nil {
			return nil, err
		}
		change, err := x.immutableChange(properties, u.Old)
		if err != nil {
			return nil, err
		}
		this.From, this.To = change.before, change.now
	}
	accepted = true
	if this.undoes(last) {
		r.Log().Info("the Update that is undone had been refused or had failed, so the resource is still the one of these properties")
		u.Old, u.OldProblems = properties, nil
		keepAttempt(ctx, r, r.ID, last) // renewed: if this Update fails, its next attempt needs the note
	} else {
		forgetAttempt(ctx, r, last)
	}
	if len(u.OldProblems) > 0 {
		r.Log().Warn("old properties cannot be read and count as zero", "error", &PropertiesError{Old: true, Problems: u.OldProblems})
	}
	return u, nil
}

func (x *resource[P, A]) update(ctx context.Context, u *UpdateRequest[P]) (Answer, error) {
	r, properties := &u.Request, u.Properties
	change, err := x.immutableChange(properties, u.Old)
	if err != nil {
		return Answer{}, err
	}
	if len(change.names) > 0 && r.Dialect == wire.ROS {
		change.note(ctx, r) // so that the rollback knows that nothing was changed
		return Answer{}, noReplacement(r, change.names)
	}
	if len(change.names) > 0 {
		r.Log().Info("replacing the resource", "changed", strings.Join(change.names, ", "))
		return x.replace(ctx, r, properties, &change)
	}
	response, err := x.provider.Update(ctx, u)
	if errors.Is(err, ErrGone) {
		r.Log().Warn("the resource does not exist, creating it again", "error", logText(err))
		return x.replace(ctx, r, properties, nil)
	}
	if err == nil && response.ID != "" && response.ID != r.ID && r.Dialect == wire.ROS {
		return Answer{ID: response.ID}, nil // the answer becomes FAILED; another resource is not polled
	}
	if err == nil && response.ID != "" && response.ID != r.ID && !response.Replaces {
		return Answer{}, errors.New(notReplaced(r.ID, response.ID, r.hide)) // before another resource is polled
	}
	return x.finish(ctx, r, properties, response, err)
}

// replace answers an Update by calling Create. If that fails, the answer must keep the ID of the old resource: with
// the ID of an incomplete replacement, the service would delete the good resource. So replace deletes the incomplete
// one here.
func (x *resource[P, A]) replace(ctx context.Context, r *Request, properties P, change *immutableChange) (Answer, error) {
	create := *r
	create.Type, create.ID, create.RawOldProperties = Create, "", json.RawMessage("{}")
	// A crash after this leaves a note of a replacement that may have succeeded. Then the service knows the new ID,
	// which has no note.
	change.note(ctx, r)
	create.replaces, create.noted = true, change != nil
	answer, err := x.create(ctx, &create, properties)
	if errors.Is(err, ErrInProgress) {
		return answer, err
	}
	return x.replaced(ctx, r, &create, properties, change, answer, err)
}

// replaced turns the result of the Create into the answer to the Update.
func (x *resource[P, A]) replaced(ctx context.Context, r, create *Request, properties P, change *immutableChange, answer Answer, err error) (Answer, error) {
	if err == nil && r.Dialect == wire.ROS && answer.ID != r.ID {
		err = errOtherID(r.ID, answer.ID)
	}
	if err == nil {
		if answer.ID == r.ID {
			change.forget(ctx, r)
			r.Log().Warn("the replacement has the ID of the old resource, so nothing will be deleted", "physicalId", r.ID)
		}
		answer.Replaces = true
		return answer, nil
	}
	made := answer.ID
	answer.ID = ""
	if made != "" && made != r.ID {
		err = x.undo(ctx, create, properties, made, &answer, err)
	}
	return answer, err
}

func (x *resource[P, A]) remove(ctx context.Context, r *Request, properties P) (Answer, error) {
	d := &DeleteRequest[P]{Request: *r, Properties: properties}
	err := x.provider.Delete(ctx, d)
	if err == nil {
		return x.finish(ctx, r, properties, Response[A]{State: d.state}, nil)
	}
	if errors.Is(err, ErrGone) {
		err = nil
	}
	return Answer{}, err
}

// finish waits for the operation, if the provider polls, and makes the answer.
func (x *resource[P, A]) finish(ctx context.Context, r *Request, properties P, response Response[A], err error) (Answer, error) {
	answer := Answer{ID: response.ID, Replaces: response.Replaces, Reason: response.Reason, NoEcho: response.NoEcho}
	if err != nil {
		return answer, err
	}
	if r.Type != Delete {
		x.attributes.addTo(&answer, reflect.ValueOf(response.Attributes))
		hideSecrets(r, answer)
	}
	if x.poller != nil {
		poll := *r
		if response.ID != "" {
			poll.ID = response.ID
		}
		w := newWait(r, x.policy)
		w.Replaces, w.Noted = r.replaces, r.noted
		if err = w.keepState(response.State); err == nil {
			err = x.await(ctx, &PollRequest[P]{Request: poll, Properties: properties}, w, &answer)
		}
	}
	return answer, err
}

// showable refuses a request of ROS before anything is done if its answer could never be sent: if even the zero value
// of the attributes is secret. An attribute that is secret only when it has a value is found when the answer is sent.
func (x *resource[P, A]) showable(r *Request) error {
	if r.Dialect != wire.ROS || r.plain || r.Type == Delete {
		return nil
	}
	var none A
	var answer Answer
	x.attributes.addTo(&answer, reflect.ValueOf(none))
	if _, secrets, err := clearJSON(answer.Attributes); answer.NoEcho || err == nil && len(secrets) > 0 {
		return errSecretAttributes
	}
	return nil
}

// wanted reads and checks the new properties of a resource.
func (x *resource[P, A]) wanted(ctx context.Context, r *Request) (properties P, err error) {
	if err := x.showable(r); err != nil {
		return properties, err
	}
	d := &decoder{}
	if properties, err = x.read(ctx, r, r.RawProperties, d); err != nil {
		return properties, err
	}
	if len(d.problems) > 0 {
		return properties, &PropertiesError{Problems: d.problems}
	}
	if x.validator != nil {
		err = x.validator.Validate(ctx, &ValidateRequest[P]{*r, properties})
	}
	return properties, err
}

// kept reads properties that some version of the provider accepted.
func (x *resource[P, A]) kept(ctx context.Context, r *Request) (P, error) {
	d := &decoder{lenient: true}
	properties, err := x.read(ctx, r, r.RawProperties, d)
	if err == nil && len(d.problems) > 0 {
		err = errNotMigrated(&PropertiesError{Problems: d.problems})
	}
	return properties, err
}

// former reads the properties before an Update. Unreadable ones are zero and are listed in problems: the Update that
// this one rolls back may have been refused because of them, and the new properties are good. But immutable
// properties must be readable, or a replacement could be missed.
func (x *resource[P, A]) former(ctx context.Context, r *Request) (old P, problems []string, err error) {
	d := &decoder{lenient: true, old: true}
	old, err = x.read(ctx, r, r.RawOldProperties, d)
	switch {
	case err != nil && x.properties.hasImmutable(map[*shape]bool{}):
		return old, nil, fmt.Errorf("old properties: %w", err)
	case err != nil:
		return old, []string{err.Error()}, nil //nolint:nilerr // the problems report it
	case d.immutable:
		return old, nil, errNotMigrated(&PropertiesError{Old: true, Problems: d.problems})
	}
	return old, d.problems, nil
}

func errNotMigrated(wrong *PropertiesError) error {
	return fmt.Errorf("%w; they were accepted once: give the provider a method Migrate that converts them", wrong)
}

// read reads a set of properties. The decoder collects the problems with them.
func (x *resource[P, A]) read(ctx context.Context, r *Request, raw json.RawMessage, d *decoder) (properties P, err error) {
	if x.properties.kind == kindRaw && x.migrator == nil {
		reflect.ValueOf(&properties).Elem().SetBytes(bytes.Clone(raw))
		return properties, nil
	}
	object, err := parseProperties(raw, x.properties)
	if err != nil {
		return properties, err
	}
	if x.migrator != nil {
		m := &MigrateRequest{Request: *r, Properties: object, Old: d.old}
		if err := x.migrator.Migrate(ctx, m); err != nil {
			return properties, fmt.Errorf("Migrate: %w", err)
		}
		object = m.Properties
	}
	if x.properties.kind == kindRaw {
		text, err := clearjson.Encode(object)
		if err != nil {
			return properties, fmt.Errorf("the properties from Migrate cannot be encoded: %w", err)
		}
		reflect.ValueOf(&properties).Elem().SetBytes(text)
		return properties, nil
	}
	d.object(reflect.ValueOf(&properties).Elem(), x.properties, object, "")
	r.hide.Add(d.secrets...)
	return properties, nil
}

// immutableChange compares the immutable properties.
func (x *resource[P, A]) immutableChange(properties, old P) (immutableChange, error) {
	now, err := x.properties.immutables(reflect.ValueOf(&properties).Elem())
	if err != nil {
		return immutableChange{}, err
	}
	before, err := x.properties.immutables(reflect.ValueOf(&old).Elem())
	if err != nil {
		return immutableChange{}, err
	}
	change := immutableChange{before: digest(before), now: digest(now)}
	all := maps.Clone(now)
	maps.Copy(all, before)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if now[name] != before[name] {
			change.names = append(change.names, name)
		}
	}
	return change, nil
}
