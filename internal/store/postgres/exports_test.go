package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/store/storetest"
)

// TestExportsOfTwoNodes checks that an export which a node has read is unchanged when the node commits, although
// another node changes exports.
func TestExportsOfTwoNodes(t *testing.T) {
	dsn := Shared.Server(t).Database(t)
	first := openTest(t, Config{DSN: dsn})
	storetest.ExportRace(t, first, openTest(t, Config{DSN: dsn}))
}

// TestMigrateExports migrates a database whose stacks have exports, but which has no table of exports.
func TestMigrateExports(t *testing.T) {
	ctx := context.Background()
	dsn := Shared.Server(t).Database(t)
	a, err := parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := a.connect(ctx, reading)
	if err != nil {
		t.Fatal(err)
	}
	err = migrate(ctx, conn, a.schema, migrations[:2])
	for _, row := range exportsBefore {
		if err == nil {
			_, err = conn.Exec(ctx, "INSERT INTO stack VALUES ($1, $2, 'a', 'r', $2, $3, $1)", row.key, row.name, row.live)
		}
		if err == nil {
			_, err = conn.Exec(ctx, "INSERT INTO stack_body VALUES ($1, $2, $3)", row.key, []byte(row.plain), []byte(`{"O":"v"}`))
		}
	}
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	exports, err := openTest(t, Config{DSN: dsn}).Exports(ctx, "a", "r", "", 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range exports {
		got = append(got, e.Name+" of "+e.StackName+": "+e.Value.Text())
	}
	if diff := cmp.Diff([]string{"x of first: v", "y of second: v"}, got); diff != "" {
		t.Error(diff)
	}
}

var exportsBefore = []struct {
	key         int64
	name, plain string
	live        bool
}{
	{1, "first", `{"kind":"create","reason":"\\\u0000 \\u0000 \\","outputs":[{"key":"O","exportName":"x"},{"key":"P"}]}`, true},
	{2, "second", `{"kind":"update","outputs":[{"key":"P","exportName":"x"},{"key":"O","exportName":"y"}]}`, true},
	{3, "third", `{"kind":"create"}`, true},
	{4, "going", `{"kind":"delete","outputs":[{"key":"O","exportName":"z"}]}`, true},
	{5, "gone", `{"kind":"delete","outputs":[{"key":"O","exportName":"g"}]}`, false},
	{6, "odd", `{"kind":"create","outputs":[{"key":"O","exportName":"\u0000"}]}`, true},
}
