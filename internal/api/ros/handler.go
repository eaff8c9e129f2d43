// Package ros is the API of Resource Orchestration Service (ROS) of Alibaba Cloud, as the aliyun CLI, the SDKs and
// the tools built on them call it.
//
// The package holds no state. It translates parameters into calls of the engine, rows into the structures of the API,
// and missing items into the codes and messages that clients look for. A call for an unsupported feature gets an error
// that names the feature. It is never ignored. Parameters that the API does not define are ignored, as on ROS.
//
// Source: ROS API Reference, version 2019-09-10.
package ros

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Version is the version of the API.
const Version = "2019-09-10"

// Caller is the sender of a call.
type Caller struct {
	// Account is the account of the visible stacks, 16 digits.
	Account string
	// ID is the ID of the account or of a user in it: digits.
	ID string
}

// Engine is the part of [engine.Engine] that the API needs.
type Engine interface {
	Create(context.Context, engine.CreateStack) (engine.Started, error)
	Update(context.Context, engine.UpdateStack) (engine.Started, error)
	Delete(context.Context, engine.DeleteStack) (engine.Started, error)
	ContinueCreate(context.Context, engine.ContinueCreate) (engine.Started, error)
	CancelUpdate(context.Context, engine.CancelUpdate) error
	Preview(context.Context, engine.PreviewStack) (engine.Preview, error)
	Protect(ctx context.Context, ref engine.Ref, on bool) (wire.StackID, error)
	SetPolicy(ctx context.Context, ref engine.Ref, text string) error
	Tag(context.Context, engine.TagStack) error
	MoveToGroup(ctx context.Context, ref engine.Ref, group string) error
	Find(context.Context, engine.Ref) (store.Stack, error)
	FindOperation(ctx context.Context, account, region, id string) (store.Stack, store.Operation, error)
	LastOperations(context.Context, store.Stack) ([]store.Operation, error)
	Revision(context.Context, store.Stack) (store.Revision, error)
	Expected(context.Context, store.Stack) ([]store.Instance, error)
	CheckIn(dialect engine.Dialect, text string) (*template.Template, error)
	CreateChangeSet(context.Context, engine.CreateChangeSet) (engine.Planned, error)
	ChangeSet(context.Context, engine.ChangeSetRef) (engine.ChangeSet, error)
	ChangeSets(context.Context, store.Stack) ([]engine.ChangeSet, error)
	ExecuteChangeSet(context.Context, engine.ExecuteChangeSet) (engine.Started, error)
	DeleteChangeSet(context.Context, engine.ChangeSetRef) error
}

// Rows is the part of [store.Store] that the API needs.
type Rows interface {
	Stacks(ctx context.Context, account, region string, deleted bool, after store.StackKey, limit int) ([]store.Stack, error)
	Events(ctx context.Context, stack store.StackKey, before store.EventCursor, limit int) ([]store.EventRow, error)

	// Templates are stored as entries.
	Entry(ctx context.Context, key store.EntryKey) (store.Entry, error)
	Entries(ctx context.Context, after store.EntryKey, limit int) ([]store.Entry, error)
	PutEntry(ctx context.Context, entry store.Entry) (version int64, err error)
	DropEntry(ctx context.Context, key store.EntryKey, version int64) error
}

// Texts fetches texts by URL: a [fetch.Fetcher].
type Texts interface {
	// Template returns the text behind a URL, or a [fetch.Error].
	Template(ctx context.Context, url string) (string, error)
}

// Config configures the handler.
type Config struct {
	// Engine and Rows are required.
	Engine Engine
	Rows   Rows
	// Caller returns the caller. False is an internal error. Required.
	Caller func(context.Context) (Caller, bool)
	// Texts fetches templates and policies. Nil rejects those that are not part of the call.
	Texts Texts
	// Drift compares resources with their live state. Nil checks none.
	Drift Drift
	// Now is the clock. Nil means the system's.
	Now func() time.Time
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

// handler answers the actions.
type handler struct {
	engine Engine
	rows   Rows
	texts  Texts
	caller func(context.Context) (Caller, bool)
	drift  Drift
	now    func() time.Time
}

// New returns a service that answers the actions of ROS. It returns an error if a required field is missing.
func New(config Config) (*rpc.Service, error) {
	if config.Engine == nil || config.Rows == nil || config.Caller == nil {
		return nil, errors.New("ros: the engine, the rows and the caller are required")
	}
	f := &handler{engine: config.Engine, rows: config.Rows, texts: config.Texts, caller: config.Caller, drift: config.Drift, now: config.Now}
	if f.now == nil {
		f.now = time.Now
	}
	service, err := rpc.New(rpc.Config{Name: "ros", Version: Version, Errors: shown, Log: config.Log})
	if err != nil {
		return nil, err
	}
	rpc.Handle(service, "CreateStack", f.createStack)
	rpc.Handle(service, "UpdateStack", f.updateStack)
	rpc.Handle(service, "DeleteStack", f.deleteStack)
	rpc.Handle(service, "ContinueCreateStack", f.continueCreateStack)
	rpc.Handle(service, "CancelUpdateStack", f.cancelUpdateStack)
	rpc.Handle(service, "SetDeletionProtection", f.setDeletionProtection)
	rpc.Handle(service, "GetStack", store.Reread(f.getStack))
	rpc.Handle(service, "ListStacks", store.Reread(f.listStacks))
	rpc.Handle(service, "ListStackEvents", store.Reread(f.listStackEvents))
	rpc.Handle(service, "GetStackResource", store.Reread(f.getStackResource))
	rpc.Handle(service, "ListStackResources", store.Reread(f.listStackResources))
	rpc.Handle(service, "GetTemplate", store.Reread(f.getTemplate))
	rpc.Handle(service, "CreateTemplate", storedTemplates{f}.createTemplate)
	rpc.Handle(service, "UpdateTemplate", storedTemplates{f}.updateTemplate)
	rpc.Handle(service, "DeleteTemplate", storedTemplates{f}.deleteTemplate)
	rpc.Handle(service, "ListTemplates", store.Reread(storedTemplates{f}.listTemplates))
	rpc.Handle(service, "ListTemplateVersions", store.Reread(storedTemplates{f}.listTemplateVersions))
	rpc.Handle(service, "ValidateTemplate", f.validateTemplate)
	rpc.Handle(service, "PreviewStack", f.previewStack)
	rpc.Handle(service, "CreateChangeSet", changeSets{f}.createChangeSet)
	rpc.Handle(service, "GetChangeSet", store.Reread(changeSets{f}.getChangeSet))
	rpc.Handle(service, "ListChangeSets", store.Reread(changeSets{f}.listChangeSets))
	rpc.Handle(service, "ExecuteChangeSet", changeSets{f}.executeChangeSet)
	rpc.Handle(service, "DeleteChangeSet", changeSets{f}.deleteChangeSet)
	rpc.Handle(service, "GetStackPolicy", store.Reread(f.getStackPolicy))
	rpc.Handle(service, "SetStackPolicy", f.setStackPolicy)
	rpc.Handle(service, "TagResources", tags{f}.tagResources)
	rpc.Handle(service, "UntagResources", tags{f}.untagResources)
	rpc.Handle(service, "ListTagResources", store.Reread(tags{f}.listTagResources))
	rpc.Handle(service, "DescribeRegions", store.Reread(f.describeRegions))
	rpc.Handle(service, "GetTemplateSummary", store.Reread(f.getTemplateSummary))
	rpc.Handle(service, "GetTemplateParameterConstraints", store.Reread(f.getTemplateParameterConstraints))
	rpc.Handle(service, "DetectStackDrift", drifts{f}.detectStackDrift)
	rpc.Handle(service, "DetectStackResourceDrift", drifts{f}.detectStackResourceDrift)
	rpc.Handle(service, "GetStackDriftDetectionStatus", store.Reread(drifts{f}.getStackDriftDetectionStatus))
	rpc.Handle(service, "ListStackResourceDrifts", store.Reread(drifts{f}.listStackResourceDrifts))
	rpc.Handle(service, "MoveResourceGroup", f.moveResourceGroup)
	rpc.Handle(service, "ListTagKeys", store.Reread(tags{f}.listTagKeys))
	rpc.Handle(service, "ListTagValues", store.Reread(tags{f}.listTagValues))
	for _, group := range refusals {
		for action := range strings.FieldsSeq(group.actions) {
			rpc.Handle(service, action, func(context.Context, rpc.None) (rpc.None, error) {
				return rpc.None{}, rpc.NotSupported(action, group.remedy)
			})
		}
	}
	return service, nil
}

// shown converts the engine's input errors to client errors.
func shown(err error) *rpc.Error {
	input, ok := engine.InputError(err)
	if !ok {
		return nil
	}
	status := http.StatusBadRequest
	switch input.Code {
	case engine.CodeStackNotFound, engine.CodeResourceNotFound, engine.CodeChangeSetNotFound:
		status = http.StatusNotFound
	case engine.CodeStackExists, engine.CodeActionInProgress, engine.CodeChangeSetExists:
		status = http.StatusConflict
	case engine.CodeStackValidationFailed, engine.CodeNotSupported, engine.CodeInvalidParameter, engine.CodePolicyDenied, engine.CodeTokenUsed:
	case engine.CodeValidation, engine.CodeAlreadyExists, engine.CodeTokenAlreadyExists, engine.CodeInsufficientRights,
		engine.CodeOperationInProgress, engine.CodeLimitExceeded, engine.CodeChangeSetStatus: // only for CloudFormation stacks
	default: // the codes of templates have this type too
	}
	return &rpc.Error{Code: string(input.Code), Message: input.Message, Status: status}
}

// stackInput identifies a stack.
type stackInput struct {
	region
	StackID string `rpc:"StackId,required" length:",64"`
}

// ref returns a reference to a stack of the caller.
func (f *handler) ref(ctx context.Context, in stackInput) (engine.Ref, Caller, error) {
	caller, err := f.who(ctx)
	return engine.Ref{Account: caller.Account, Region: in.RegionID, Stack: strings.ToLower(in.StackID), ByID: true}, caller, err
}

// find returns a stack, even if it is deleted.
func (f *handler) find(ctx context.Context, in stackInput) (store.Stack, error) {
	ref, _, err := f.ref(ctx, in)
	if err != nil {
		return store.Stack{}, err
	}
	stack, err := f.engine.Find(ctx, ref)
	if errors.Is(err, store.ErrNotFound) || err == nil && stack.Dialect != engine.ROS.Name() {
		return store.Stack{}, noStack(in.StackID)
	}
	return stack, err
}

func noStack(given string) error {
	return &rpc.Error{Code: "StackNotFound", Message: "The Stack (" + given + ") could not be found.", Status: http.StatusNotFound}
}

func (f *handler) who(ctx context.Context) (Caller, error) {
	caller, ok := f.caller(ctx)
	if !ok {
		return Caller{}, errors.New("the call reached ROS without a caller")
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

// paging selects a page of a list.
type paging struct {
	PageNumber int `range:"1,"`
	PageSize   int `range:"1,50"`
}

// paged describes the page in a response.
type paged struct {
	TotalCount int
	PageNumber int
	PageSize   int
}

// page returns the selected page. Source: ROS, ListStacks: ten items by default.
func page[T any](in paging, all []T) ([]T, paged) {
	at := paged{TotalCount: len(all), PageNumber: cmp.Or(in.PageNumber, 1), PageSize: cmp.Or(in.PageSize, 10)}
	from := min(len(all), (at.PageNumber-1)*at.PageSize)
	return append([]T{}, all[from:min(len(all), from+at.PageSize)]...), at
}

// timeText formats a time for responses, "" for the zero time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}
