package cloudformation

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/store"
)

type listExportsInput struct{ pageInput }

// exportView is the structure Export.
type exportView struct {
	ExportingStackID string `query:"ExportingStackId"`
	Name             string
	Value            string
}

type listExportsOutput struct {
	Exports   []exportView
	NextToken string `query:",omitempty"`
}

// afterExport is a place in the list of exports: after all of a stack, and after those of another that were shown.
type afterExport struct {
	Stack store.StackKey `json:"s"`
	Next  store.StackKey `json:"x"`
	Shown int            `json:"n"`
}

// listExports shows what the outputs of live stacks export, by stack, newest first. It looks at a bounded number of
// stacks for a page.
func (f *face) listExports(ctx context.Context, in listExportsInput) (out listExportsOutput, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	scope := caller.listScope("ListExports")
	var at afterExport
	if err := f.position(in.pageInput, scope, &at); err != nil {
		return out, err
	}
	for scanned := 0; scanned < maxScanned; {
		stacks, err := f.rows.Stacks(ctx, caller.Account, caller.Region, false, at.Stack, pageSize)
		if errors.Is(err, store.ErrNotFound) {
			return out, query.Validation("NextToken is of a stack that is gone: start again without it.")
		}
		if err != nil {
			return out, err
		}
		for _, stack := range stacks {
			shown := 0
			if stack.Key == at.Next { // and not another one, should that be gone
				shown = at.Shown
			}
			exports := exportsOf(stack)
			for ; shown < len(exports); shown++ {
				if len(out.Exports) == pageSize {
					out.NextToken, err = f.tokens.Encode(scope, afterExport{Stack: at.Stack, Next: stack.Key, Shown: shown})
					return out, err
				}
				out.Exports = append(out.Exports, exports[shown])
			}
			at = afterExport{Stack: stack.Key}
			scanned++
		}
		if len(stacks) < pageSize {
			return out, nil
		}
	}
	out.NextToken, err = f.tokens.Encode(scope, at)
	return out, err
}

func exportsOf(stack store.Stack) []exportView {
	var exports []exportView
	for _, o := range stack.Outputs {
		if o.ExportName != "" {
			result, _ := stack.OutputValues.Get(o.Key)
			exports = append(exports, exportView{string(stack.ID), o.ExportName, plainText(result)})
		}
	}
	return exports
}

type listImportsInput struct {
	ExportName string `query:",required" length:"1,"`
	pageInput
}

type listImportsOutput struct {
	Imports   []string
	NextToken string `query:",omitempty"`
}

// listImports finds none, as no template of this version imports anything; the service calls that an error.
func (f *face) listImports(_ context.Context, in listImportsInput) (listImportsOutput, error) {
	return listImportsOutput{}, query.Validation("Export '%.1024s' is not imported by any stack.", in.ExportName)
}
