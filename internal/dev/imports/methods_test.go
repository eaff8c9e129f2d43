package imports_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// maxMethods is how many methods a type may have. A type with more has more than one responsibility: split it by subject.
const maxMethods = 40

// manyMethods are the types that may have more methods, and how many. The table only gets shorter.
var manyMethods = map[string]int{
	// The interface of the store has a method for each transaction.
	"internal/store/memory.Store":   68,
	"internal/store/postgres.Store": 84,
	"internal/store/sqlite.Store":   82,
	// Its exported methods are the options of a provider in the public SDK.
	"Server": 49,

	"internal/cloud/objects/ossapi.call": 56,
	"internal/provider/local.process":    44,
	"internal/store/postgres.batch":      42,
}

// TestMethods checks that no type has many methods.
func TestMethods(t *testing.T) {
	count := methods(t)
	for name, n := range count {
		allowed, listed := manyMethods[name]
		switch {
		case n > maxMethods && !listed:
			t.Errorf("%s has %d methods, and a type may have %d: split it by subject", name, n, maxMethods)
		case listed && n > allowed:
			t.Errorf("%s has %d methods, and may have %d: split it by subject", name, n, allowed)
		case listed && n <= maxMethods:
			t.Errorf("%s has %d methods only: remove it from the table", name, n)
		}
	}
	for name := range manyMethods {
		if count[name] == 0 {
			t.Errorf("there is no type %s: remove it from the table", name)
		}
	}
}

// methods returns how many methods each type has, outside of tests. Types are named after the directory of their package.
func methods(t *testing.T) map[string]int {
	t.Helper()
	count := map[string]int{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(name))
		for _, declaration := range parsed.Decls {
			if of := receiver(declaration); of != "" {
				count[strings.TrimPrefix(dir+"."+of, "..")]++ // a type of the root package has its name alone
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// receiver returns the name of the type that a declaration is a method of, or "".
func receiver(declaration ast.Decl) string {
	method, ok := declaration.(*ast.FuncDecl)
	if !ok || method.Recv == nil {
		return ""
	}
	of := method.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}
