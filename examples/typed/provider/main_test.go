package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/pintletest"
)

func TestLife(t *testing.T) {
	for _, form := range []pintletest.Transport{pintletest.CloudFormation, pintletest.ROSFunction, pintletest.ROSWeb, pintletest.ROSWebSync} {
		t.Run(form.String(), func(t *testing.T) { testLife(t, form) })
	}
}

// TestROSHidesNothing checks that the password is not sent where everyone could read it, unless the configuration allows
// that.
func TestROSHidesNothing(t *testing.T) {
	a := accounts{filepath.Join(t.TempDir(), "accounts"), "open sesame"}
	pintletest.Lifecycle{
		Handler:   pintle.New(a),
		Transport: pintletest.ROSWebSync,
		Steps: []pintletest.Step{{
			Properties: pintletest.Map{"AdminKey": "open sesame", "Region": "north"}, WantError: "ROS has no NoEcho",
			Check: func() error {
				if _, err := os.Stat(a.dir); err == nil {
					return errors.New("an account was made all the same")
				}
				return nil
			},
		}},
	}.Run(t)
}

func testLife(t *testing.T, form pintletest.Transport) {
	const key = "open sesame"
	a := accounts{filepath.Join(t.TempDir(), "accounts"), key}
	with := func(more pintletest.Map) pintletest.Map {
		all := pintletest.Map{"AdminKey": key, "Region": "north"}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	var password string
	// only checks that there is one account, and passes to want whether its password is the same as at the last check.
	only := func(want func(is account, samePassword bool) bool) func() error {
		return func() error {
			files, err := filepath.Glob(filepath.Join(a.dir, "*.json"))
			if err != nil || len(files) != 1 {
				return fmt.Errorf("accounts %q, want one; %w", files, err)
			}
			name := filepath.Base(files[0])
			is, err := a.read(pintle.PhysicalID(name[:len(name)-len(".json")]))
			same := is.Password == password
			password = is.Password
			if err != nil || !want(is, same) {
				return fmt.Errorf("the account is not as it should be: region %s, quota %d, speed %g, same password %t; %w",
					is.Region, is.Quota, is.Speed, same, err)
			}
			return nil
		}
	}
	pintletest.Lifecycle{
		Handler:      pintle.For("Custom::Account", pintle.New(a)),
		Transport:    form,
		PlainSecrets: true, // Password, to ROS
		ResourceType: "Custom::Account",
		Secrets:      []string{key, "knock knock"},
		Steps: []pintletest.Step{
			{Properties: pintletest.Map{"AdminKey": "knock knock", "Region": "north"}, WantError: "AdminKey is wrong"},
			{Properties: with(pintletest.Map{"Quota": 0}), WantError: "Quota: want a whole number from 1 to 1000"},
			{Properties: with(nil), Redeliveries: 1, Check: only(func(is account, _ bool) bool { return is.Quota == 10 && is.Password != "" })},
			{Properties: with(pintletest.Map{"Quota": 20}), Check: only(func(is account, same bool) bool { return is.Quota == 20 && same })},
			{Properties: with(pintletest.Map{"Quota": 20, "Rotation": 2}), Check: only(func(_ account, same bool) bool { return !same })},
			{Name: "moved and back", Properties: with(pintletest.Map{"Region": "south"}), WantReplacement: true, RollBack: true,
				Check: only(func(is account, _ bool) bool { return is.Region == "north" })},
			{Name: "moved", Properties: with(pintletest.Map{"Region": "south"}), WantReplacement: true, Check: only(func(is account, same bool) bool { return is.Region == "south" && !same })},
			{Name: "a stack of old", RecordedProperties: with(pintletest.Map{"Region": "south", "Rate": 120}), Properties: with(pintletest.Map{"Region": "south", "Speed": 3}), RollBack: true,
				Check: only(func(is account, same bool) bool { return is.Speed == 2 && same })},
			{Name: "gone", Restart: true, Properties: with(pintletest.Map{"Region": "south", "Quota": 3}),
				Check: func() error { return os.RemoveAll(a.dir) }},
		},
	}.Run(t)
}

func TestSchema(t *testing.T) {
	if _, err := pintle.Schema(pintle.For("Custom::Account", pintle.New(accounts{}))); err != nil {
		t.Error(err)
	}
}
