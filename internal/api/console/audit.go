package console

import (
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/store"
)

// auditLine is an entry of the audit list with its stack.
type auditLine struct {
	store.Audit
	Of *store.Stack
}

// auditView is the content of the audit list.
type auditView struct {
	Rows []auditLine
	Next string
}

// auditPage lists the audit entries of all stacks, newest first.
func (lp *listPages) auditPage(v *visit) error {
	var before store.AuditPlace
	if text := v.r.URL.Query().Get("before"); text != "" {
		if n, err := fmt.Sscanf(text, "%d.%d.%d", &before.At, &before.Stack, &before.Number); err != nil || n != 3 {
			return &failure{400, "The address of this page is not right: begin at the first page."}
		}
	}
	ctx := v.r.Context()
	rows, err := lp.Rows.AuditTrail(ctx, v.session.accounts(), before, pageSize+1)
	if err != nil {
		return err
	}
	var view auditView
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		last := rows[pageSize-1].Place
		view.Next = fmt.Sprintf("%saudit?before=%d.%d.%d", Prefix, last.At, last.Stack, last.Number)
	}
	stacks := map[store.StackKey]*store.Stack{}
	for _, row := range rows {
		if stacks[row.Stack] == nil {
			stack, err := lp.Rows.StackOf(ctx, row.Stack)
			if errors.Is(err, store.ErrNotFound) {
				continue // the stack has just been deleted
			} else if err != nil {
				return err
			}
			stacks[row.Stack] = &stack
		}
		view.Rows = append(view.Rows, auditLine{row.Audit, stacks[row.Stack]})
	}
	lp.show(v, 200, "audit.html", page{Title: "Audit", Here: "audit", Content: view})
	return nil
}
