package cloudformation_test

import (
	"context"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// The tests TestRecordedDnn compare answers with those that were recorded on AWS, one test for each row in which Pintle once
// differed. Each case has the date of the recording where it is known.

// errPrefix begins the refusals of most rows.
const errPrefix = "400 ValidationError: "

// worldWith is newWorld with another configuration of the engine.
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

// refusals sends each template to the calls that read one and are refused.
func (w *world) refusals(body string) map[string]string {
	return map[string]string{
		"CreateStack":     w.refusal("Action=CreateStack&StackName=refused&TemplateBody=" + escape(body)),
		"CreateChangeSet": w.refusal("Action=CreateChangeSet&StackName=refused&ChangeSetName=c&ChangeSetType=CREATE&TemplateBody=" + escape(body)),
		"UpdateStack":     w.refusal("Action=UpdateStack&StackName=live&TemplateBody=" + escape(body)),
	}
}
