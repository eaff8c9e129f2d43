package pintletest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/pintletest"
)

type doorProperties struct {
	Port int    `pintle:"immutable"`
	Kind string `pintle:"immutable"`
	Size int    `pintle:"min=1,default=1"`
	Tags []string
}

type doorAttributes struct{ Size int }

// doors makes a new door for every Create, so an extra Create would replace a door.
type doors struct {
	made  int
	calls []string
}

func (d *doors) Create(_ context.Context, r *pintle.CreateRequest[doorProperties]) (pintle.Response[doorAttributes], error) {
	d.made++
	id := pintle.PhysicalID(fmt.Sprint("door-", d.made))
	d.calls = append(d.calls, fmt.Sprintf("Create %s %d%s", id, r.Properties.Port, r.Properties.Kind))
	return pintle.Response[doorAttributes]{ID: id, Attributes: doorAttributes{r.Properties.Size}}, nil
}

func (d *doors) Update(_ context.Context, r *pintle.UpdateRequest[doorProperties]) (pintle.Response[doorAttributes], error) {
	call := fmt.Sprintf("Update %s size %d was %d tags %q", r.ID, r.Properties.Size, r.Old.Size, r.Old.Tags)
	if len(r.OldProblems) > 0 {
		call += " but " + strings.Join(r.OldProblems, ", ")
	}
	d.calls = append(d.calls, call)
	return pintle.Response[doorAttributes]{Attributes: doorAttributes{r.Properties.Size}}, nil
}

func (d *doors) Delete(_ context.Context, r *pintle.DeleteRequest[doorProperties]) error {
	d.calls = append(d.calls, "Delete "+string(r.ID))
	return nil
}

func (d *doors) Validate(_ context.Context, r *pintle.ValidateRequest[doorProperties]) error {
	p := r.Properties
	if p.Size == 13 {
		return errors.New("not thirteen")
	}
	if p.Size == 14 {
		panic("fourteen")
	}
	return nil
}

// A refused Update has changed nothing, so its rollback must keep the resource and succeed, even though the unreadable
// properties return as old properties.
func TestRefusedUpdateIsRolledBack(t *testing.T) {
	good := m{"Port": 80, "Kind": "a", "Size": 5}
	for _, tt := range []struct {
		name    string
		refused m
		fails   string
	}{
		{"the wrong type", m{"Port": 80, "Kind": "a", "Size": "large"}, "Size: want a whole number"},
		{"the wrong type within", m{"Port": 80, "Kind": "a", "Size": 5, "Tags": []any{"x", m{}}}, "Tags[1]: want"},
		{"wrong type of an immutable property", m{"Port": "http", "Kind": "a", "Size": 5}, "Port: want a whole number"},
		{"replacement with a wrong type", m{"Port": 81, "Kind": "b", "Size": "large"}, "Size: want a whole number"},
		{"value out of range", m{"Port": 81, "Kind": "a", "Size": 0}, "Size: want a whole number"},
		{"unknown property", m{"Port": 81, "Kind": "a", "Size": 5, "Colour": "red"}, "Colour: is not known"},
		{"replacement that Validate rejects", m{"Port": 81, "Kind": "a", "Size": 13}, "not thirteen"},
		{"panic in Validate", m{"Port": 81, "Kind": "a", "Size": 14}, "fourteen"},
	} {
		for _, form := range []pintletest.Transport{pintletest.CloudFormation, pintletest.ROSFunction, pintletest.ROSWeb, pintletest.ROSWebSync} {
			d := &doors{}
			report := pintletest.Lifecycle{Handler: pintle.New(d), Transport: form, Steps: []pintletest.Step{
				{Properties: good, WantID: "door-1"},
				{Properties: tt.refused, WantError: tt.fails, WantID: "door-1", Redeliveries: 1},
				{Name: "once more", Properties: tt.refused, WantError: tt.fails, WantID: "door-1"},
				{Properties: m{"Port": 80, "Kind": "a", "Size": 6}, WantAttributes: m{"Size": 6}, WantID: "door-1"},
			}}.Simulate(t.Context())
			want := []string{"Create door-1 80a", `Update door-1 size 5 was 5 tags []`, `Update door-1 size 5 was 5 tags []`,
				`Update door-1 size 6 was 5 tags []`, "Delete door-1"}
			if len(report.Problems) > 0 || strings.Join(d.calls, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s, %s: %q\ncalls %q\nwant  %q\n%s\n%s", tt.name, form, report.Problems, d.calls, want, report.Transcript, report.Log)
			}
		}
	}
}

// If another process has no note of the refusal, unreadable old properties do not fail an Update unless they are
// immutable. They are zero, and the provider gets their names.
func TestInvalidOldProperties(t *testing.T) {
	good := m{"Port": 80, "Kind": "a", "Size": 5}
	for _, form := range []pintletest.Transport{pintletest.CloudFormation, pintletest.ROSFunction, pintletest.ROSWeb, pintletest.ROSWebSync} {
		d := &doors{}
		report := pintletest.Lifecycle{Handler: pintle.New(d), Transport: form, Steps: []pintletest.Step{
			{Properties: good},
			{RecordedProperties: m{"Port": 80, "Kind": "a", "Size": "large", "Tags": []any{"x", m{}}}, Restart: true, Properties: good},
			{Name: "immutable", RecordedProperties: m{"Port": "http", "Kind": "a"}, Restart: true, Properties: good,
				WantError: "old properties: Port: want a whole number", WantRollbackError: "Port: want a whole number"},
			{RecordedProperties: good, Properties: good},
		}}.Simulate(t.Context())
		want := []string{"Create door-1 80a", `Update door-1 size 5 was 0 tags ["x" ""] but Size: want a whole number, 1 or more, Tags[1]: want a text`,
			`Update door-1 size 5 was 5 tags []`, "Delete door-1"}
		if len(report.Problems) > 0 || strings.Join(d.calls, "\n") != strings.Join(want, "\n") || !strings.Contains(report.Log, "Size: want") {
			t.Errorf("%s: %q\ncalls %q\nwant  %q\n%s\n%s", form, report.Problems, d.calls, want, report.Transcript, report.Log)
		}
	}
}

// TestRefusedOnceAcceptedLater checks that a later version may accept properties that an earlier one refused.
// Reverting them is then a change like any other.
func TestRefusedOnceAcceptedLater(t *testing.T) {
	d := &doors{}
	picky := true
	h := pintle.New(versions{d, &picky})
	a, b := m{"Port": 80}, m{"Port": 81}
	pintletest.Lifecycle{Handler: h, Steps: []pintletest.Step{
		{Properties: a, WantID: "same"},
		{Properties: b, WantError: "not 81", WantID: "same", Check: func() error { picky = false; return nil }},
		{Type: pintle.Delete},
		{Properties: b, WantID: "same"},
		{Properties: a, WantID: "same"},
	}}.Run(t)
	want := []string{"Create door-1 80", `Update same size 1 was 1 tags []`, "Delete same", "Create door-2 81", "Create door-3 80", "Delete same"}
	if strings.Join(d.calls, "\n") != strings.Join(want, "\n") {
		t.Errorf("calls %q\nwant  %q", d.calls, want)
	}
}

// versions refuses a port at first, and uses one ID for all doors.
type versions struct {
	*doors
	picky *bool
}

func (v versions) Create(ctx context.Context, r *pintle.CreateRequest[doorProperties]) (pintle.Response[doorAttributes], error) {
	answer, err := v.doors.Create(ctx, r)
	answer.ID = "same"
	return answer, err
}

func (v versions) Validate(_ context.Context, r *pintle.ValidateRequest[doorProperties]) error {
	p := r.Properties
	if *v.picky && p.Port == 81 {
		return errors.New("not 81")
	}
	return nil
}
