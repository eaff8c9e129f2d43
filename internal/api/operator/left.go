package operator

import (
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// maxLeft is how many resources a stack's list of what it left has.
const maxLeft = 1000

// Left is a physical resource that a stack has left behind.
type Left struct {
	Logical    wire.LogicalID  `json:"logicalId"`
	PhysicalID wire.PhysicalID `json:"physicalId"`
	Resource   string          `json:"resourceType"`
	// Orphan says that it could not be deleted and was given up; false that it was to be kept.
	Orphan bool `json:"orphan"`
	// Reason says what its last Delete failed with, or what kept it.
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
	// Advice says what to do about it.
	Advice string `json:"advice"`
}

// LeftBehind is the answer of stacks/{name}/left, oldest first.
type LeftBehind struct {
	Left []Left `json:"left"`
	// More is how many newer ones there are besides.
	More int `json:"more,omitempty"`
}

// What to do about what a stack has left.
const (
	adviceOrphan = "it may still exist, and the stack will not ask for its Delete again: find out why that failed, " +
		"and delete it where its provider created it"
	adviceRetained = "it is yours now: keep it, or delete it where its provider created it"
)

func (f *handler) left(r *http.Request) (any, error) {
	stack, err := f.stack(r)
	if err != nil {
		return nil, err
	}
	rows, err := f.Engine.Left(r.Context(), stack)
	if err != nil {
		return nil, err
	}
	shown := rows[:min(len(rows), maxLeft)]
	out := LeftBehind{Left: make([]Left, len(shown)), More: len(rows) - len(shown)}
	for i, row := range shown {
		out.Left[i] = Left{
			Logical: row.Logical, PhysicalID: row.PhysicalID, Resource: row.Body.Type, Orphan: row.Role == store.RoleOrphan,
			Reason: row.Left, Since: row.Changed, Advice: adviceRetained,
		}
		if out.Left[i].Orphan {
			out.Left[i].Advice = adviceOrphan
		}
	}
	return out, nil
}
