package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/pintletest"
)

func TestLife(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := clusters{t.TempDir(), 10 * time.Second, func() time.Time {
		now = now.Add(10 * time.Second) // each reading of the clock takes that long
		return now
	}}
	has := func(want ...string) func() error {
		return func() error {
			var got []string
			files, err := filepath.Glob(filepath.Join(c.dir, "*.json"))
			for _, file := range files {
				name := filepath.Base(file)
				is, err := c.read(pintle.PhysicalID(name[:len(name)-len(".json")]))
				if err != nil {
					return err
				}
				got = append(got, fmt.Sprintf("%d in %s", is.To, is.Zone))
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("clusters %q, want %q; %w", got, want, err)
			}
			return nil
		}
	}
	m := func(zone string, nodes int) pintletest.Map { return pintletest.Map{"Zone": zone, "Nodes": nodes} }
	pintletest.Lifecycle{
		Handler:      pintle.For("Custom::Cluster", pintle.New(c, pintle.WithPollPolicy(policy))),
		ResourceType: "Custom::Cluster",
		Steps: []pintletest.Step{
			{Name: "a node that does not start", Properties: m("broken", 3), WantError: "node 2 does not start"},
			{Properties: m("a", 3), Redeliveries: 1, Check: has("3 in a")},
			{Properties: m("a", 5), Check: has("5 in a")},
			{Properties: m("a", 2), Restart: true, Check: has("2 in a")},
			{Name: "a replacement that fails", Properties: m("broken", 2), WantError: "node 2 does not start", Check: has("2 in a")},
			{Name: "moved", Properties: m("b", 2), WantReplacement: true, Check: has("2 in b")},
			{Name: "nothing to do", Properties: m("b", 2), Check: has("2 in b")},
		},
	}.Run(t)
	if err := has()(); err != nil {
		t.Error(err)
	}
}
