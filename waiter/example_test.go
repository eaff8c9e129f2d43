package waiter_test

import (
	"context"
	"database/sql"
	"log"
	"os"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/waiter"
)

// A provider behind HTTP whose waits and answers survive a restart. The program imports a driver for the database.
func ExampleNew() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:waits.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
	if err != nil {
		log.Fatal(err)
	}
	w, err := waiter.New(ctx, waiter.Config{DB: db, Keys: [][]byte{[]byte(os.Getenv("WAIT_KEY"))}})
	if err != nil {
		log.Fatal(err)
	}
	handler := pintle.HandlerFunc(func(context.Context, *pintle.Request) (pintle.Answer, error) { return pintle.Answer{}, nil })
	c, err := pintle.RunConfigFromEnvironment(handler)
	if err != nil {
		log.Fatal(err)
	}
	c.Listen, c.Waiter, c.Idempotency = ":8080", w, w
	if err := pintle.Run(ctx, c); err != nil {
		log.Fatal(err)
	}
}
