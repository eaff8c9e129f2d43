// Package cloudformation is the API of CloudFormation, as the AWS CLI, the SDKs and the tools built on them call it.
//
// The package holds no state. It translates forms into calls of the engine, rows into CloudFormation's structures, and
// missing items into the exact messages that clients look for. A request for an unsupported feature gets an error that
// names the feature. It is never ignored.
//
// Source: CloudFormation API Reference, version 2010-05-15.
package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// Version is the version of the API.
	Version = "2010-05-15"
	// Namespace is the xmlns of the responses.
	Namespace = "http://cloudformation.amazonaws.com/doc/2010-05-15/"
)

// Engine is the part of [engine.Engine] that the API needs.
type Engine interface {
	Create(context.Context, engine.CreateStack) (engine.Started, error)
	Update(context.Context, engine.UpdateStack) (engine.Started, error)
	Delete(context.Context, engine.DeleteStack) (engine.Started, error)
	Rollback(context.Context, engine.RollbackStack) (engine.Started, error)
	CancelUpdate(context.Context, engine.CancelUpdate) error
	ContinueRollback(context.Context, engine.ContinueRollback) (engine.Started, error)
	SignalResource(context.Context, engine.SignalResource) error
	Protect(ctx context.Context, ref engine.Ref, on bool) (wire.StackID, error)
	SetPolicy(ctx context.Context, ref engine.Ref, text string) error
	Find(context.Context, engine.Ref) (store.Stack, error)
	Revision(context.Context, store.Stack) (store.Revision, error)
	Resources(context.Context, store.Stack) ([]store.Instance, error)
	FindOperation(ctx context.Context, account, region, id string) (store.Stack, store.Operation, error)
	LastOperations(context.Context, store.Stack) ([]store.Operation, error)
	Outline(text string, types bool) (*template.Template, error)
	Parse(text string) (*template.Template, error)
	Unrecognized(*template.Template) []string
	Identifiers(ctx context.Context, account, region string, t *template.Template) map[string][]string
	CreateChangeSet(context.Context, engine.CreateChangeSet) (engine.Planned, error)
	ChangeSet(context.Context, engine.ChangeSetRef) (engine.ChangeSet, error)
	ChangeSets(context.Context, store.Stack) ([]engine.ChangeSet, error)
	ExecuteChangeSet(context.Context, engine.ExecuteChangeSet) (engine.Started, error)
	DeleteChangeSet(context.Context, engine.ChangeSetRef) error
}

// Rows is the part of [store.Store] that the API needs.
type Rows interface {
	Stacks(ctx context.Context, account, region string, deleted bool, after store.StackKey, limit int) ([]store.Stack, error)
	Operation(ctx context.Context, stack store.StackKey, number int) (store.Operation, error)
	Events(ctx context.Context, stack store.StackKey, before store.EventCursor, limit int) ([]store.EventRow, error)
	Exports(ctx context.Context, account, region, after string, limit int) ([]store.Exported, error)
	Importers(ctx context.Context, account, region, export, after string, limit int) ([]string, error)
}

// Texts fetches texts by URL: a [fetch.Fetcher].
type Texts interface {
	// Template returns the template behind a URL, or a [fetch.Error].
	Template(ctx context.Context, url string) (string, error)
}

// Config configures the handler.
type Config struct {
	// Engine and Rows are required.
	Engine Engine
	Rows   Rows
	// Caller returns the caller of a request. False is an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Texts fetches templates. Nil rejects templates that are not part of the request.
	Texts Texts
	// Drift compares resources with their live state. Nil checks none.
	Drift Drift
	// Patience is how long DescribeStacks waits for the operation of a single stack to finish, counted from the start
	// of the operation. Clients check once and then after five or thirty seconds, so a short wait makes short
	// operations faster for them. Zero disables the wait.
	Patience time.Duration
	// FidelityAWS matches CloudFormation where this package differs by choice. Secret values in outputs, exports and
	// Metadata, and defaults of NoEcho parameters, are in clear text, and errors have no explanations. Otherwise
	// secrets are masked.
	FidelityAWS bool
	// Tokens makes paging tokens. Nil means tokens that are valid only for this process.
	Tokens *query.Tokens
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

// handler answers the operations.
type handler struct {
	engine Engine
	rows   Rows
	caller func(context.Context) (api.Caller, bool)
	texts  Texts
	tokens *query.Tokens
	now    func() time.Time
	drift  Drift

	patience time.Duration
	aws      bool
}

// New returns a service that answers CloudFormation's operations. It returns an error if a required field is missing.
func New(config Config) (*query.Service, error) {
	if config.Engine == nil || config.Rows == nil || config.Caller == nil {
		return nil, errors.New("cloudformation: the engine, the rows and the caller are required")
	}
	f := &handler{
		engine: config.Engine, rows: config.Rows, caller: config.Caller, texts: config.Texts, tokens: config.Tokens, now: config.Now,
		drift: config.Drift, patience: config.Patience, aws: config.FidelityAWS,
	}
	if f.now == nil {
		f.now = time.Now
	}
	if f.tokens == nil {
		var err error
		if f.tokens, err = query.NewTokens(nil); err != nil {
			return nil, err
		}
	}
	service, err := query.New(query.Config{
		Name: "cloudformation", Namespace: Namespace, Version: Version, Errors: shown, Logger: config.Log,
	})
	if err != nil {
		return nil, err
	}
	query.Handle(service, "CreateStack", f.createStack)
	query.Handle(service, "UpdateStack", f.updateStack)
	query.Handle(service, "DeleteStack", f.deleteStack)
	query.Handle(service, "RollbackStack", f.rollbackStack)
	query.Handle(service, "CancelUpdateStack", f.cancelUpdateStack)
	query.Handle(service, "ContinueUpdateRollback", f.continueUpdateRollback)
	query.Handle(service, "SignalResource", f.signalResource)
	query.Handle(service, "UpdateTerminationProtection", f.updateTerminationProtection)
	query.Handle(service, "SetStackPolicy", f.setStackPolicy)
	query.Handle(service, "GetStackPolicy", store.Reread(f.getStackPolicy))
	query.Handle(service, "DescribeStacks", store.Reread(f.describeStacks))
	query.Handle(service, "ListStacks", store.Reread(f.listStacks))
	query.Handle(service, "DescribeStackEvents", store.Reread(events{f}.describeStackEvents))
	query.Handle(service, "DescribeEvents", store.Reread(events{f}.describeEvents))
	query.Handle(service, "DescribeStackResource", store.Reread(f.describeStackResource))
	query.Handle(service, "DescribeStackResources", store.Reread(f.describeStackResources))
	query.Handle(service, "ListStackResources", store.Reread(f.listStackResources))
	query.Handle(service, "GetTemplate", store.Reread(f.getTemplate))
	query.Handle(service, "GetTemplateSummary", store.Reread(f.getTemplateSummary))
	query.Handle(service, "ValidateTemplate", f.validateTemplate)
	query.Handle(service, "ListExports", store.Reread(f.listExports))
	query.Handle(service, "ListImports", store.Reread(f.listImports))
	query.Handle(service, "DescribeAccountLimits", store.Reread(f.describeAccountLimits))
	query.Handle(service, "DetectStackDrift", drifts{f}.detectStackDrift)
	query.Handle(service, "DetectStackResourceDrift", drifts{f}.detectStackResourceDrift)
	query.Handle(service, "DescribeStackDriftDetectionStatus", store.Reread(drifts{f}.describeStackDriftDetectionStatus))
	query.Handle(service, "DescribeStackResourceDrifts", store.Reread(drifts{f}.describeStackResourceDrifts))
	query.Handle(service, "CreateChangeSet", changeSets{f}.createChangeSet)
	query.Handle(service, "DescribeChangeSet", store.Reread(changeSets{f}.describeChangeSet))
	query.Handle(service, "DescribeChangeSetHooks", store.Reread(changeSets{f}.describeChangeSetHooks))
	query.Handle(service, "ExecuteChangeSet", changeSets{f}.executeChangeSet)
	query.Handle(service, "DeleteChangeSet", changeSets{f}.deleteChangeSet)
	query.Handle(service, "ListChangeSets", store.Reread(changeSets{f}.listChangeSets))
	refuseLater(service)
	return service, nil
}

// shown converts the engine's input errors to client errors.
func shown(err error) *query.Error {
	input, ok := engine.InputError(err)
	if !ok {
		return nil
	}
	status := http.StatusBadRequest
	switch input.Code {
	case engine.CodeOperationInProgress:
		status = http.StatusConflict
	case engine.CodeChangeSetNotFound:
		status = http.StatusNotFound
	case engine.CodeValidation, engine.CodeAlreadyExists, engine.CodeTokenAlreadyExists, engine.CodeInsufficientRights,
		engine.CodeLimitExceeded, engine.CodeChangeSetStatus:
	case engine.CodeStackValidationFailed, engine.CodeStackExists, engine.CodeStackNotFound, engine.CodeResourceNotFound,
		engine.CodeActionInProgress, engine.CodeNotSupported, engine.CodeInvalidParameter, engine.CodePolicyDenied, engine.CodeTokenUsed,
		engine.CodeChangeSetExists: // of ROS stacks, which this API does not see
	}
	return &query.Error{Code: string(input.Code), Message: input.Message, Status: status, Sender: true}
}

// Messages for a stack that does not exist. Each operation always uses the same one, because clients compare it. The
// parameter is the name or ARN from the request.
const (
	noStackWithID  = "Stack with id %s does not exist"
	noStackBracket = "Stack [%s] does not exist"
	noStackQuoted  = "Stack '%s' does not exist"
)

// find returns a live stack by name, or any stack by ARN. missing is the error message.
func (f *handler) find(ctx context.Context, given, missing string) (store.Stack, error) {
	ref, err := f.ref(ctx, given)
	if err != nil {
		return store.Stack{}, err
	}
	stack, err := f.engine.Find(ctx, ref)
	if errors.Is(err, store.ErrNotFound) {
		return store.Stack{}, query.Validation(missing, given)
	}
	return stack, err
}

// ref returns a reference to a stack of the caller's account and region.
func (f *handler) ref(ctx context.Context, given string) (engine.Ref, error) {
	caller, err := f.who(ctx)
	return engine.Ref{Account: caller.Account, Region: caller.Region, Stack: given}, err
}

func (f *handler) who(ctx context.Context) (api.Caller, error) {
	caller, ok := f.caller(ctx)
	if !ok {
		return api.Caller{}, errors.New("the request reached CloudFormation without a caller")
	}
	return caller, nil
}

// revision returns a stack's current revision, or an empty one for a stack that has only change sets.
func (f *handler) revision(ctx context.Context, stack store.Stack) (store.Revision, error) {
	if stack.Revision == 0 {
		return store.Revision{}, nil
	}
	return f.engine.Revision(ctx, stack)
}

// listScope binds a paging token to a list of the caller.
func listScope(c api.Caller, action string) string {
	return fmt.Sprintf("%s|%s|%s", action, c.Account, c.Region)
}

// stackScope binds a paging token to a list of one stack.
func stackScope(action string, stack store.Stack) string {
	return fmt.Sprintf("%s|%d", action, stack.Key)
}

// pageSize is the number of items on a page. Source: CloudFormation, page size of its lists.
const pageSize = 100

// pageInput is embedded in the input of paged lists.
type pageInput struct {
	NextToken *string `length:"1,1024"`
}

// position decodes the token of a page into at. Without a token, at is unchanged.
func (f *handler) position(in pageInput, scope string, at any) error {
	if in.NextToken == nil {
		return nil
	}
	return f.tokens.Decode(scope, *in.NextToken, at)
}
