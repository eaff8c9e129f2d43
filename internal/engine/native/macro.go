package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Names stores the names of macros. A [store.Store] implements it.
type Names interface {
	// PutProvider is the store's: it returns [store.ErrTaken] for a name that another holder has.
	PutProvider(ctx context.Context, provider store.Provider) error
	// DropProvider is the store's.
	DropProvider(ctx context.Context, name, holder string) error
}

// macro is AWS::CloudFormation::Macro: a function that templates of the account and region can call by a name.
//
// The physical ID, which Ref returns, is that name.
type macro struct{ names Names }

var macroSchema = Schema{Name: "AWS::CloudFormation::Macro", Properties: []Property{
	{Name: "Name", Required: true, Change: Replaces},
	{Name: "FunctionName", Required: true},
	{Name: "Description"},
	{Name: "LogGroupName"},
	{Name: "LogRoleARN"},
}}

// Schema implements [Type].
func (macro) Schema() *Schema { return &macroSchema }

// Declare implements [Declarer].
func (macro) Declare(d Declaration) (Wanted, error) {
	name, _ := d.Properties.Get("Name")
	if account, _, ok := template.SplitMacro(name.Text()); !ok || account != "" || strings.HasPrefix(name.Text(), "AWS") {
		return Wanted{}, errors.New("Property validation failure: [Value of property {/Name} must be 1 to 255 letters, digits, hyphens and underscores, and must not begin with AWS]")
	}
	return Wanted{Timeout: DefaultTimeout}, nil
}

// Serve implements [Type].
func (t macro) Serve(ctx context.Context, r *store.Request) (Result, error) {
	of, err := wire.ParseStackARN(r.Body.StackID)
	if err != nil {
		return Result{}, err
	}
	if t.names == nil {
		return Result{}, errors.New("macros are kept nowhere")
	}
	holder := string(r.Body.StackID) + "|" + string(r.Logical)
	if r.Type == wire.Delete {
		return Result{}, t.names.DropProvider(ctx, store.HeldMacro(of.Account, of.Region, string(r.Body.PhysicalID)), holder)
	}
	text := func(property string) string {
		v, _ := r.Body.Properties.Get(property)
		return v.Text()
	}
	name, function := text("Name"), text("FunctionName")
	if !strings.HasPrefix(function, "arn:") {
		function = "arn:" + wire.Partition(of.Region) + ":lambda:" + of.Region + ":" + of.Account + ":function:" + function
	}
	definition, err := json.Marshal(store.Macro{
		Function: function, Description: text("Description"), LogGroupName: text("LogGroupName"), LogRoleARN: text("LogRoleARN"),
	})
	if err != nil {
		return Result{}, err
	}
	err = t.names.PutProvider(ctx, store.Provider{Name: store.HeldMacro(of.Account, of.Region, name), Holder: holder, Definition: definition})
	if errors.Is(err, store.ErrTaken) {
		return Result{}, fmt.Errorf("%s already exists: another stack, or another resource of this one, has made a macro of this name", name)
	}
	return Result{PhysicalID: wire.PhysicalID(name)}, err
}
