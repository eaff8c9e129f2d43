package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/pintle-dev/pintle"
)

// watchedNote is a note with a secret that the SDK knows.
type watchedNote struct {
	Name     string `pintle:"required,pattern=^[a-z0-9-]+$"`
	Text     string `pintle:"default=hello"`
	Size     int    `pintle:"default=1"`
	Open     bool
	Password pintle.Secret
}

// storedNote is a note in its file.
type storedNote struct {
	Name, Text string
	Size       int
	Open       bool
	Password   string
}

type watchedAttributes struct {
	Path string
	Size int
}

// readNotes is a provider of notes with a Read, with one mistake or none.
type readNotes struct {
	notes
	bug string
}

// plannedNotes is the same with a Plan.
type plannedNotes struct{ readNotes }

// optionalNotes returns the provider for a bug of optionalBugs; nil for another bug.
func optionalNotes(dir, bug string) pintle.Handler {
	n := readNotes{notes{dir}, bug}
	switch {
	case strings.HasPrefix(bug, "read-"):
		return pintle.New(n)
	case strings.HasPrefix(bug, "plan-"), bug == "optional":
		return pintle.New(plannedNotes{n})
	}
	return nil
}

func (n readNotes) save(id pintle.PhysicalID, p watchedNote) (pintle.Response[watchedAttributes], error) {
	text, err := json.Marshal(storedNote{p.Name, p.Text, p.Size, p.Open, p.Password.Reveal()})
	made := pintle.Response[watchedAttributes]{ID: id, Attributes: watchedAttributes{n.path(id), p.Size}}
	return made, errors.Join(err, os.WriteFile(n.path(id), text, 0o600))
}

func (n readNotes) Create(_ context.Context, r *pintle.CreateRequest[watchedNote]) (pintle.Response[watchedAttributes], error) {
	return n.save(pintle.PhysicalID("note-"+r.Properties.Name), r.Properties)
}

func (n readNotes) Update(_ context.Context, r *pintle.UpdateRequest[watchedNote]) (pintle.Response[watchedAttributes], error) {
	id := pintle.PhysicalID("note-" + r.Properties.Name)
	if _, err := os.Stat(n.path(id)); err != nil && id == r.ID {
		return pintle.Response[watchedAttributes]{}, errors.New("there is no such note")
	}
	made, err := n.save(id, r.Properties)
	made.Replaces = id != r.ID
	return made, err
}

func (n readNotes) Delete(_ context.Context, r *pintle.DeleteRequest[watchedNote]) error {
	err := os.Remove(n.path(r.ID))
	if os.IsNotExist(err) {
		return pintle.ErrGone
	}
	return err
}

// Migrate drops properties of an earlier version that this one cannot read.
func (n readNotes) Migrate(_ context.Context, r *pintle.MigrateRequest) error { return migrate(r) }

func (n readNotes) Read(_ context.Context, r *pintle.ReadRequest[watchedNote]) (
	response pintle.ReadResponse[watchedNote, watchedAttributes], err error,
) {
	switch n.bug {
	case "read-fails":
		return response, errors.New("access denied")
	case "read-is-gone":
		return response, pintle.ErrGone
	case "read-echoes":
		response.Properties, response.Attributes = r.Properties, watchedAttributes{n.path(r.ID), r.Properties.Size}
		return response, nil
	}
	text, err := os.ReadFile(n.path(r.ID))
	switch {
	case os.IsNotExist(err) && n.bug == "read-not-found":
		return response, errors.New("404 not found")
	case os.IsNotExist(err):
		return response, pintle.ErrGone
	case err != nil:
		return response, err
	}
	var now storedNote
	if err := json.Unmarshal(text, &now); err != nil {
		return response, err
	}
	response.Properties = watchedNote{now.Name, now.Text, now.Size, now.Open, pintle.NewSecret(now.Password)}
	response.Attributes = watchedAttributes{n.path(r.ID), now.Size}
	switch n.bug {
	case "read-upper-case":
		response.Properties.Text = strings.ToUpper(now.Text)
	case "read-without-attributes":
		response.Attributes = watchedAttributes{}
	case "read-touches":
		changed := response.Properties
		changed.Text += " (read)"
		_, err = n.save(r.ID, changed)
	}
	return response, err
}

func (n plannedNotes) Plan(_ context.Context, r *pintle.PlanRequest[watchedNote]) (pintle.PlanResponse, error) {
	replace := r.Old != nil && r.ID != pintle.PhysicalID("note-"+r.Properties.Name)
	switch {
	case n.bug == "plan-refuses" && r.Properties.Size > 5:
		return pintle.PlanResponse{}, errors.New("no room")
	case n.bug == "plan-refuses-create" && r.Old == nil:
		return pintle.PlanResponse{}, errors.New("there is no such note")
	case n.bug == "plan-exits":
		os.Exit(1)
	case n.bug == "plan-panics" && r.Old != nil:
		panic("no plan")
	case n.bug == "plan-never-replaces":
		replace = false
	case n.bug == "plan-always-replaces":
		replace = true
	case n.bug == "plan-applies" && r.Old != nil:
		if _, err := n.save(r.ID, r.Properties); err != nil {
			return pintle.PlanResponse{}, err
		}
	case n.bug == "plan-deletes" && r.Old != nil:
		if err := os.Remove(n.path(r.ID)); err != nil && !os.IsNotExist(err) {
			return pintle.PlanResponse{}, err
		}
	}
	return pintle.PlanResponse{Replace: replace}, nil
}

// optionalBugs are mistakes in the methods Read and Plan.
var optionalBugs = []bug{
	{name: "read-fails", rule: "read-refused", also: "read-gone", wild: "a role without the permission to describe"},
	{name: "read-is-gone", rule: "read-refused", wild: "a lookup by a name that has another case"},
	{name: "read-echoes", rule: "read-gone", wild: "the properties of the request as the state"},
	{name: "read-not-found", rule: "read-gone", wild: "APIs' 404 passed on"},
	{name: "read-upper-case", rule: "read-differs", wild: "APIs that normalize values"},
	{name: "read-without-attributes", rule: "read-differs", wild: "attributes that only Create computes"},
	{name: "read-touches", rule: "read-changes", wild: "a time of the last access"},
	{name: "plan-refuses", rule: "plan-refused", wild: "a check against a quota that includes the resource itself"},
	{name: "plan-refuses-create", rule: "plan-refused", wild: "a lookup of a resource that is not created yet"},
	{name: "plan-exits", rule: "plan-failed", wild: "log.Fatal in a handler"},
	{name: "plan-panics", rule: "plan-failed", wild: "a nil pointer in a path that no test runs"},
	{name: "plan-never-replaces", rule: "plan-wrong", wild: "return nil"},
	{name: "plan-always-replaces", rule: "plan-wrong", wild: "every difference as a replacement"},
	{name: "plan-applies", rule: "plan-changes", wild: "Plan that calls Update"},
	{name: "plan-deletes", rule: "plan-changes", wild: "Plan that calls Delete"},
}
