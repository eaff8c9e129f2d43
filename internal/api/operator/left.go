package operator

import (
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// maxLeft is the maximum number of retained resources in an answer.
const maxLeft = 1000

// Left is a physical resource that a stack has retained.
type Left struct {
	Logical    wire.LogicalID  `json:"logicalId"`
	PhysicalID wire.PhysicalID `json:"physicalId"`
	Resource   string          `json:"resourceType"`
	// Orphan means that the resource could not be deleted and was abandoned. False means that it was retained on
	// purpose.
	Orphan bool `json:"orphan"`
	// Reason is the error of the last Delete, or the reason for retaining the resource.
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
	// Advice is a recommendation for the user.
	Advice string `json:"advice"`
}

// LeftBehind is the answer of stacks/{name}/left, oldest first.
type LeftBehind struct {
	Left []Left `json:"left"`
	// More is the number of additional, newer resources.
	More int `json:"more,omitempty"`
}

// Recommendations for retained resources.
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
