package check_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/cdkprovider"
)

// bugVar is the environment variable that names the seeded bug of a provider on the SDK; see also [notesVar].
const bugVar = "TEST_BUG"

// plainNote has no form: all is up to the handler.
type plainNote struct {
	Name     string `pintle:"required,pattern=^[a-z0-9-]+$"`
	Text     string `pintle:"default=hello"`
	Size     int    `pintle:"default=1"`
	Open     bool
	Password string
}

// sdkNotes is a provider of notes on the SDK, with one mistake or none.
type sdkNotes struct {
	notes
	bug  string
	made map[pintle.PhysicalID]bool // state that a seeded bug keeps in memory
}

type sdkAttributes struct {
	Path  string
	Size  int
	Open  bool
	Login string
}

func newSDKNotes(dir, bug string) pintle.Handler {
	if bug == "events" {
		return eventNotes(dir)
	}
	if optional := optionalNotes(dir, bug); optional != nil {
		return optional
	}
	return pintle.New(&sdkNotes{notes{dir}, bug, map[pintle.PhysicalID]bool{}})
}

// Migrate drops properties of an earlier version that this one cannot read.
func (n *sdkNotes) Migrate(_ context.Context, r *pintle.MigrateRequest) error { return migrate(r) }

func migrate(r *pintle.MigrateRequest) error {
	properties := r.Properties
	for name, value := range properties {
		if _, ok := value.([]any); ok {
			delete(properties, name)
		}
	}
	if _, ok := properties["Name"]; !ok {
		properties["Name"] = "unknown"
	}
	return nil
}

func (n *sdkNotes) save(id pintle.PhysicalID, p plainNote) (pintle.Response[sdkAttributes], error) {
	n.made[id] = true
	if n.bug == "prints" {
		fmt.Println("saving", p)
	}
	made := pintle.Response[sdkAttributes]{ID: id, Attributes: sdkAttributes{Path: n.path(id), Size: p.Size, Open: p.Open}}
	if n.bug == "password-in-data" {
		made.Attributes.Login = "user:" + p.Password
	}
	return made, os.WriteFile(n.path(id), []byte(p.Text), 0o600)
}

func (n *sdkNotes) Create(_ context.Context, r *pintle.CreateRequest[plainNote]) (pintle.Response[sdkAttributes], error) {
	id := pintle.PhysicalID("note-" + r.Properties.Name)
	switch n.bug {
	case "constant":
		id = "note"
	case "password-as-id":
		id = pintle.PhysicalID(r.Properties.Name + ":" + r.Properties.Password)
	}
	return n.save(id, r.Properties)
}

func (n *sdkNotes) Update(_ context.Context, r *pintle.UpdateRequest[plainNote]) (pintle.Response[sdkAttributes], error) {
	id := pintle.PhysicalID("note-" + r.Properties.Name)
	switch n.bug {
	case "constant", "rename-in-place":
		id = r.ID
	case "password-as-id":
		id = pintle.PhysicalID(r.Properties.Name + ":" + r.Properties.Password)
	case "new-id":
		id += pintle.PhysicalID(fmt.Sprintf("-%x", time.Now().UnixNano()))
	case "exits":
		os.Exit(1)
	case "only-grows":
		if r.Properties.Size < r.Old.Size {
			return pintle.Response[sdkAttributes]{}, errors.New("a note cannot shrink")
		}
	}
	known := true
	if _, err := os.Stat(n.path(id)); err != nil || n.bug == "in-memory" && !n.made[id] {
		known = false
	}
	if id == r.ID && !known {
		return pintle.Response[sdkAttributes]{}, errors.New("there is no such note")
	}
	made, err := n.save(id, r.Properties)
	made.Replaces = id != r.ID
	return made, err
}

func (n *sdkNotes) Delete(_ context.Context, r *pintle.DeleteRequest[plainNote]) error {
	if n.bug == "deletes-all" {
		all, err := filepath.Glob(filepath.Join(n.dir, "*"))
		for _, path := range all {
			err = errors.Join(err, os.Remove(path))
		}
		return err
	}
	err := os.Remove(n.path(r.ID))
	if os.IsNotExist(err) && n.bug != "gone-is-an-error" {
		return pintle.ErrGone
	}
	return err
}

// eventNotes is a provider on functions as the CDK's framework has them, whose operations are complete when they are asked about
// again.
func eventNotes(dir string) pintle.Handler {
	n := notes{dir}
	onEvent := func(_ context.Context, event map[string]any) (map[string]any, error) {
		id, _ := event["PhysicalResourceId"].(string)
		properties, _ := event["ResourceProperties"].(map[string]any)
		name, _ := properties["Name"].(string)
		switch {
		case event["RequestType"] == "Delete":
			if err := os.Remove(n.path(pintle.PhysicalID(id))); !os.IsNotExist(err) {
				return nil, err
			}
			return nil, nil //nolint:nilnil // an empty result
		case !noteName.MatchString(name):
			return nil, errors.New("Name: want lower-case letters")
		}
		id = "note-" + name
		return map[string]any{"PhysicalResourceId": id}, os.WriteFile(n.path(pintle.PhysicalID(id)), nil, 0o600)
	}
	isComplete := func(_ context.Context, event map[string]any) (map[string]any, error) {
		id, _ := event["PhysicalResourceId"].(string)
		_, err := os.Stat(n.path(pintle.PhysicalID(id)))
		if event["RequestType"] == "Delete" {
			return map[string]any{"IsComplete": os.IsNotExist(err)}, nil
		}
		return map[string]any{"IsComplete": true, "Data": map[string]any{"Path": "/notes/" + id}}, err
	}
	return cdkprovider.New(onEvent, isComplete, pintle.WithPollPolicy(pintle.PollPolicy{Interval: 10 * time.Millisecond}))
}

// sdkBugs are mistakes that the SDK lets its users make.
var sdkBugs = []bug{
	{name: "exits", rule: "crash", wild: "log.Fatal in a handler"},
	{name: "constant", rule: "id-shared", also: "not-replaced", wild: "constants as IDs"},
	{name: "new-id", rule: "id-changed", wild: "a time in the ID"},
	{name: "rename-in-place", rule: "not-replaced", wild: "renames in place that cannot be"},
	{name: "only-grows", rule: "rollback-refused", wild: "sizes that cannot shrink"},
	{name: "in-memory", rule: "state-in-memory", also: "update-refused,delete-harms-other,redelivery-refused", wild: "maps for databases"},
	{name: "deletes-all", rule: "delete-harms-other", wild: "clean-up of the folder"},
	{name: "gone-is-an-error", rule: "delete-unknown-refused", wild: "APIs' 404 passed on"},
	{name: "prints", rule: "secret-in-log", wild: "structs printed whole"},
	{name: "password-in-data", rule: "secret-in-data", wild: "a string where a pintle.Secret should be"},
	{name: "password-as-id", rule: "secret-in-id", also: "secret-in-log,secret-in-data", wild: "connection strings as IDs"},
}
