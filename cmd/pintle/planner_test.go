package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pintle-dev/pintle"
)

// planner is the provider reader with a Plan: files cannot shrink, and have at most a hundred bytes.
type planner struct{ reader }

func runPlanner() {
	shelf := os.Getenv("SHELF")
	if err := os.MkdirAll(shelf, 0o700); err != nil {
		panic(err)
	}
	pintle.Main(pintle.New(planner{reader{shelf}}))
}

func (p planner) Plan(_ context.Context, r *pintle.PlanRequest[readerProperties]) (pintle.PlanResponse, error) {
	old := "nothing"
	if r.Old != nil {
		old = fmt.Sprintf("%d %s", r.Old.Size, r.Old.Key.Reveal())
	}
	if err := p.note("Plan", pintle.PhysicalID(fmt.Sprintf("%s: %d %s from %s", r.Properties.Name, r.Properties.Size, r.Properties.Key.Reveal(), old))); err != nil {
		return pintle.PlanResponse{}, err
	}
	switch {
	case r.Properties.Size == 99:
		os.Exit(3)
	case r.Properties.Size > 100:
		return pintle.PlanResponse{}, fmt.Errorf("no room for %d bytes under %s", r.Properties.Size, r.Properties.Key.Reveal())
	case r.Old != nil && r.Properties.Size < r.Old.Size:
		return pintle.PlanResponse{Replace: true, Reason: "a file cannot shrink"}, nil
	}
	return pintle.PlanResponse{}, nil
}
