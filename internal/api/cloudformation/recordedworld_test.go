package cloudformation_test

import (
	"context"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// The tests TestRecordedDnn compare answers with those recorded on AWS, one test for each row in which Pintle once
// differed. Cases have the date of the recording if it is known.

// errPrefix is the prefix of most errors.
const errPrefix = "400 ValidationError: "

// worldWith is newWorld with a different configuration of the engine.
func worldWith(t *testing.T, change func(*engine.Config), configure ...func(*cloudformation.Config)) *world {
	t.Helper()
	return newWorld(t, func(w *world, c *cloudformation.Config) {
		config := engine.Config{Store: w.store, Alone: true, Upfront: true, Dispatch: func(ready []store.Request) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.inbox = append(w.inbox, ready...)
		}}
		change(&config)
		var err error
		w.engine, err = engine.Open(context.WithoutCancel(t.Context()), config)
		w.must(err)
		c.Engine = w.engine
		for _, f := range configure {
			f(c)
		}
	})
}

// refusals sends a template in each call that reads one, and returns the errors.
func (w *world) refusals(body string) map[string]string {
	return map[string]string{
		"CreateStack":     w.refusal("Action=CreateStack&StackName=refused&TemplateBody=" + escape(body)),
		"CreateChangeSet": w.refusal("Action=CreateChangeSet&StackName=refused&ChangeSetName=c&ChangeSetType=CREATE&TemplateBody=" + escape(body)),
		"UpdateStack":     w.refusal("Action=UpdateStack&StackName=live&TemplateBody=" + escape(body)),
	}
}
