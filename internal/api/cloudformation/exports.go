package cloudformation

import (
	"context"

	"github.com/pintle-dev/pintle/internal/api/query"
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

// afterName is a position in a list that is sorted by name.
type afterName struct {
	Name string `json:"n"`
}

// listExports returns the exports of an account and region, sorted by name.
func (f *handler) listExports(ctx context.Context, in listExportsInput) (out listExportsOutput, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	scope := listScope(caller, "ListExports")
	var at afterName
	if err := f.position(in.pageInput, scope, &at); err != nil {
		return out, err
	}
	// One more row than the page size shows whether another page exists.
	exports, err := f.rows.Exports(ctx, caller.Account, caller.Region, at.Name, pageSize+1)
	if err != nil {
		return out, err
	}
	if len(exports) > pageSize {
		exports = exports[:pageSize]
		if out.NextToken, err = f.tokens.Encode(scope, afterName{exports[pageSize-1].Name}); err != nil {
			return out, err
		}
	}
	for _, e := range exports {
		out.Exports = append(out.Exports, exportView{string(e.StackID), e.Name, textOf(f.shown(e.Value))})
	}
	return out, nil
}

type listImportsInput struct {
	ExportName string `query:",required" length:"1,"`
	pageInput
}

type listImportsOutput struct {
	Imports   []string
	NextToken string `query:",omitempty"`
}

// listImports returns the names of the stacks that import an export. It returns an error if no stack does, or if the
// export does not exist.
func (f *handler) listImports(ctx context.Context, in listImportsInput) (out listImportsOutput, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	scope := listScope(caller, "ListImports|"+in.ExportName)
	var at afterName
	if err := f.position(in.pageInput, scope, &at); err != nil {
		return out, err
	}
	names, err := f.rows.Importers(ctx, caller.Account, caller.Region, in.ExportName, at.Name, pageSize+1)
	switch {
	case err != nil:
		return out, err
	case len(names) == 0 && at.Name == "":
		return out, query.Validation("Export '%.1024s' is not imported by any stack.", in.ExportName)
	case len(names) > pageSize:
		names = names[:pageSize]
		if out.NextToken, err = f.tokens.Encode(scope, afterName{names[pageSize-1]}); err != nil {
			return out, err
		}
	}
	out.Imports = names
	return out, nil
}
