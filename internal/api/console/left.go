package console

import (
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/store"
)

// leftRow is a physical resource that a stack has retained.
type leftRow struct {
	store.Instance
	Of     *store.Stack
	Orphan bool
}

func leftOf(stack *store.Stack, i store.Instance) leftRow {
	return leftRow{i, stack, i.Role == store.RoleOrphan}
}

// orphansView is the content of the list of retained resources.
type orphansView struct {
	Rows []leftRow
	Next string
}

// orphansPage lists the retained resources of all stacks.
func (lp *listPages) orphansPage(v *visit) error {
	var after store.InstancePlace
	if text := v.r.URL.Query().Get("after"); text != "" {
		if n, err := fmt.Sscanf(text, "%d.%d", &after.Stack, &after.Number); err != nil || n != 2 {
			return &failure{400, "The address of this page is not right: begin at the first page."}
		}
	}
	ctx := v.r.Context()
	rows, err := lp.Rows.LeftBehind(ctx, v.session.accounts(), after, pageSize+1)
	if err != nil {
		return err
	}
	var view orphansView
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		last := rows[pageSize-1]
		view.Next = fmt.Sprintf("%sorphans?after=%d.%d", Prefix, last.Stack, last.Number)
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
		view.Rows = append(view.Rows, leftOf(stacks[row.Stack], row))
	}
	lp.show(v, 200, "orphans.html", page{Title: "Left behind", Here: "orphans", Content: view})
	return nil
}
