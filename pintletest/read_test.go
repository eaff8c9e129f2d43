package pintletest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/pintletest"
)

// disk is a provider that reads its only resource back.
type disk struct {
	now  *diskProperties // nil: no resource
	fail error
}

type diskProperties struct {
	Name  string `pintle:"required"`
	Size  int    `pintle:"default=10"`
	Sync  bool
	Every time.Duration
	Tags  map[string]string
	Zones []struct{ Name string }
	Key   pintle.Secret
	Login struct {
		User     string
		Password pintle.Secret
	}
	Share pintle.Secret
}

type diskAttributes struct{ Path string }

func (d *disk) Create(_ context.Context, r *pintle.CreateRequest[diskProperties]) (pintle.Response[diskAttributes], error) {
	d.now = &r.Properties
	return pintle.Response[diskAttributes]{ID: "disk-1"}, nil
}

func (d *disk) Update(_ context.Context, r *pintle.UpdateRequest[diskProperties]) (pintle.Response[diskAttributes], error) {
	d.now = &r.Properties
	return pintle.Response[diskAttributes]{}, nil
}

func (d *disk) Delete(context.Context, *pintle.DeleteRequest[diskProperties]) error {
	d.now = nil
	return nil
}

func (d *disk) Read(_ context.Context, r *pintle.ReadRequest[diskProperties]) (pintle.ReadResponse[diskProperties, diskAttributes], error) {
	var response pintle.ReadResponse[diskProperties, diskAttributes]
	switch {
	case d.fail != nil:
		return response, d.fail
	case d.now == nil:
		return response, fmt.Errorf("%s: %w", r.ID, pintle.ErrGone)
	}
	response.Properties, response.Attributes.Path = *d.now, "/dev/"+string(r.ID)
	response.Properties.Share = pintle.Secret{} // cannot be read
	return response, nil
}

// A Read is the same on every transport: properties that equal the template return as declared, and secrets never return.
func TestRead(t *testing.T) {
	for _, transport := range []pintletest.Transport{
		pintletest.CloudFormation, pintletest.ROSFunction, pintletest.ROSWeb, pintletest.ROSWebSync,
	} {
		t.Run(transport.String(), func(t *testing.T) {
			d := &disk{}
			text := func(v any) any { // in the service's form
				if transport == pintletest.CloudFormation {
					return fmt.Sprint(v)
				}
				return v
			}
			declared := m{
				"Name": "a", "Sync": true, "Every": "90s", "Tags": m{"a": "1", "b": "2"}, "Zones": []any{m{"Name": "x"}},
				"Key": "hunter2", "Login": m{"User": "root", "Password": "hunter3"}, "Share": "hunter4",
			}
			same := m{
				"Name": "a", "Sync": text(true), "Every": "90s", "Tags": m{"a": "1", "b": "2"}, "Zones": []any{m{"Name": "x"}},
				"Key": "hunter2", "Login": m{"User": "root", "Password": "hunter3"}, "Share": "hunter4",
			}
			change := func() error {
				*d.now = diskProperties{
					Name: "b", Size: 20, Every: time.Hour, Tags: map[string]string{"a": "1", "c": "3"},
					Key: pintle.NewSecret("swordfish"), Zones: []struct{ Name string }{{"x"}, {"y"}},
				}
				d.now.Login.User, d.now.Login.Password = "admin", pintle.NewSecret("swordfish2")
				return nil
			}
			report := pintletest.Lifecycle{
				Handler: pintle.For("Custom::Test", pintle.New(d)), Transport: transport,
				Secrets: []string{"hunter2", "hunter3", "hunter4", "swordfish"},
				Steps: []pintletest.Step{
					{Properties: declared},
					{Type: pintle.Read, Redeliveries: 1, WantProperties: same, WantAttributes: m{"Path": "/dev/disk-1"}, Check: change},
					{Name: "drifted", Type: pintle.Read, WantProperties: m{
						"Name": "b", "Size": 20, "Sync": false, "Every": "1h0m0s", "Tags": m{"a": "1", "c": "3"}, "Zones": []any{m{"Name": "x"}, m{"Name": "y"}},
						"Key": "****", "Login": m{"User": "admin", "Password": "****"}, "Share": "hunter4",
					}, Check: func() error { d.now = nil; return nil }},
					{Name: "gone", Type: pintle.Read, WantGone: true, Check: func() error {
						d.fail = fmt.Errorf("no access with hunter2")
						return nil
					}},
					{Name: "fails", Type: pintle.Read, WantError: "no access with ****"},
				},
			}.Simulate(t.Context())
			for _, problem := range report.Problems {
				t.Error(problem)
			}
			if strings.Contains(report.Transcript, "swordfish") {
				t.Errorf("a secret left the provider:\n%s", report.Transcript)
			}
		})
	}
}

// A handler that does not declare it never gets a Read.
func TestReadOfOthers(t *testing.T) {
	asked := false
	function := pintle.HandlerFunc(func(_ context.Context, r *pintle.Request) (pintle.Answer, error) {
		asked = asked || r.Type == pintle.Read
		return pintle.Answer{ID: "a"}, nil
	})
	for name, handler := range map[string]pintle.Handler{"a function": function, "without Read": pintle.New(newShelf())} {
		report := pintletest.Lifecycle{Handler: handler, Steps: []pintletest.Step{
			{Properties: m{"Name": "a"}}, {Type: pintle.Read, WantError: "this provider has no method Read"},
		}}.Simulate(t.Context())
		if len(report.Problems) > 0 || asked {
			t.Errorf("%s: asked %t, %q\n%s", name, asked, report.Problems, report.Transcript)
		}
	}
}

// rawDisk does not decode its properties.
type rawDisk struct{ now string }

func (d *rawDisk) Create(context.Context, *pintle.CreateRequest[json.RawMessage]) (pintle.Response[m], error) {
	return pintle.Response[m]{ID: "disk"}, nil
}

func (d *rawDisk) Update(context.Context, *pintle.UpdateRequest[json.RawMessage]) (pintle.Response[m], error) {
	return pintle.Response[m]{}, nil
}

func (d *rawDisk) Delete(context.Context, *pintle.DeleteRequest[json.RawMessage]) error { return nil }

func (d *rawDisk) Read(context.Context, *pintle.ReadRequest[json.RawMessage]) (pintle.ReadResponse[json.RawMessage, m], error) {
	return pintle.ReadResponse[json.RawMessage, m]{Properties: json.RawMessage(d.now), Attributes: m{"Path": "/"}}, nil
}

func TestReadRawProperties(t *testing.T) {
	d := &rawDisk{`{"Size": "10"}`}
	set := func(text string) func() error { return func() error { d.now = text; return nil } }
	pintletest.Lifecycle{Handler: pintle.New(d), Steps: []pintletest.Step{
		{Properties: m{"Size": 10}},
		{Type: pintle.Read, WantProperties: m{"Size": "10"}, WantAttributes: m{"Path": "/"}, Check: set(`[]`)},
		{Type: pintle.Read, WantError: "not a JSON object", Check: set(``)},
		{Type: pintle.Read, WantError: "not a JSON object", Check: set(`{"Text": "` + strings.Repeat("x", 5000) + `"}`)},
		{Type: pintle.Read, WantError: "4096 are allowed: the properties from Read take"},
	}}.Run(t)
}
