package cloudformation

import (
	"context"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
)

type continueUpdateRollbackInput struct {
	StackName          string   `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	ClientRequestToken string   `length:"1,128" pattern:"[a-zA-Z0-9][-a-zA-Z0-9]*"`
	RoleARN            string   `length:"20,2048"`
	ResourcesToSkip    []string `each-pattern:"[a-zA-Z0-9]+|[a-zA-Z][-a-zA-Z0-9]*\\.[a-zA-Z0-9]+"`
	ForceRollback      bool
}

type rollbackStackInput struct {
	StackName            string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	ClientRequestToken   string `length:"1,128" pattern:"[a-zA-Z0-9][-a-zA-Z0-9]*"`
	RoleARN              string `length:"20,2048"`
	RetainExceptOnCreate bool
	DeploymentConfig     deploymentInput // no effect: a rollback is the same in both modes
}

func (f *handler) rollbackStack(ctx context.Context, in rollbackStackInput) (startedOutput, error) {
	ref, err := f.ref(ctx, in.StackName)
	if err != nil {
		return startedOutput{}, err
	}
	s, err := f.engine.Rollback(ctx, engine.RollbackStack{
		Stack: ref, Token: in.ClientRequestToken, RoleARN: in.RoleARN, RetainExceptOnCreate: in.RetainExceptOnCreate,
	})
	return started(s), err
}

type cancelUpdateStackInput struct {
	StackName          string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	ClientRequestToken string `length:"1,128" pattern:"[a-zA-Z0-9][-a-zA-Z0-9]*"`
}

func (f *handler) cancelUpdateStack(ctx context.Context, in cancelUpdateStackInput) (query.None, error) {
	ref, err := f.ref(ctx, in.StackName)
	if err != nil {
		return query.None{}, err
	}
	return query.None{}, f.engine.CancelUpdate(ctx, engine.CancelUpdate{Stack: ref, Token: in.ClientRequestToken})
}

// empty is a result without members.
type empty struct{}

func (f *handler) continueUpdateRollback(ctx context.Context, in continueUpdateRollbackInput) (empty, error) {
	ref, err := f.ref(ctx, in.StackName)
	if err != nil {
		return empty{}, err
	}
	_, err = f.engine.ContinueRollback(ctx, engine.ContinueRollback{
		Stack: ref, Token: in.ClientRequestToken, RoleARN: in.RoleARN,
		Skip: logicalIDs(in.ResourcesToSkip), Force: in.ForceRollback,
	})
	return empty{}, err
}
