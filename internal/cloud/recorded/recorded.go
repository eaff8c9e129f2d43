// Package recorded serves calls of AWS services for resources that stacks only record, such as a VPC or a hosted
// zone. It serves the read and attach calls that the CDK's own custom resource handlers make. If a call attaches
// something to a resource, it is stored with the record of the resource. If a call creates a resource, such as an
// OIDC provider, the resource is recorded too.
//
// A table in each file maps operations to functions. Any other operation of a service returns an error that names the
// environment variable that sends clients to another endpoint.
//
// Source: the API references of the services; the handlers of aws-cdk-lib 2.276.0.
package recorded

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/base/awsapi/names"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Config configures an [API].
type Config struct {
	// Catalog stores the records. Required.
	Catalog *registry.Catalog
	// Caller returns the caller of a request. False means an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Zones returns the availability zones of a region. Required.
	Zones func(region string) []string
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

// API serves calls. It is safe for concurrent use.
type API struct {
	Config
	models *awsapi.Models
}

// New returns an API. It returns an error if config is incomplete.
func New(config Config) (*API, error) {
	if config.Catalog == nil || config.Caller == nil || config.Zones == nil {
		return nil, errors.New("recorded: the catalog, the caller and the zones are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &API{config, &awsapi.Models{}}, nil
}

// operation serves a call. An error that is not an [awsapi.Error] is an internal error.
type operation func(c *call) (map[string]any, error)

// service is an AWS service. Several services can share a name in signatures.
type service struct {
	model      string // see [awsapi.Models.Service]
	operations map[string]operation
}

// services maps names in the scope of a signature to services.
var services = map[string][]service{
	"ec2":     {{"ec2", ec2Operations}},
	"iam":     {{"iam", iamOperations}},
	"route53": {{"route53", route53Operations}},
	"acm":     {{"acm", acmOperations}},
	"ecr":     {{"ecr", ecrOperations}},

	"dynamodb":       {{"dynamodb", dynamodbOperations}},
	"cognito-idp":    {{"cognito-idp", cognitoOperations}},
	"cloudfront":     {{"cloudfront", cloudfrontOperations}},
	"es":             {{"opensearch", opensearchOperations}, {"es", elasticsearchOperations}},
	"codedeploy":     {{"codedeploy", codedeployOperations}},
	"synthetics":     {{"synthetics", syntheticsOperations}},
	"glue":           {{"glue", glueOperations}},
	"emr-containers": {{"emr-containers", emrContainersOperations}},
}

// Services returns the sorted names of the services in the scope of a signature.
func Services() []string { return slices.Sorted(maps.Keys(services)) }

// Operations returns the sorted names of the supported operations of a service in [Services].
func Operations(service string) []string {
	var names []string
	for _, s := range services[service] {
		names = append(names, slices.Collect(maps.Keys(s.operations))...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Handler returns the handler of a service in [Services].
func (a *API) Handler(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.serve(name, w, r) })
}

// Refuse writes an error for a call that was not authenticated, in the protocol of the service.
func (a *API) Refuse(name string, w http.ResponseWriter, e *awsapi.Error) {
	model, err := a.models.Service(services[name][0].model)
	if err != nil {
		a.Log.Error("the model of a service cannot be read", "service", name, "error", err)
		http.Error(w, e.Message, http.StatusInternalServerError)
		return
	}
	model.WriteError(w, e)
}

func (a *API) serve(name string, w http.ResponseWriter, r *http.Request) {
	out, model, operation, err := a.answer(name, r)
	if err == nil {
		err = model.Write(w, operation, out)
	}
	if err == nil {
		return
	}
	refused, ok := errors.AsType[*awsapi.Error](err)
	if !ok {
		if errors.Is(r.Context().Err(), context.Canceled) {
			return // the client has disconnected
		}
		a.Log.ErrorContext(r.Context(), "internal failure", "service", name, "operation", operation, "error", err)
		refused = &awsapi.Error{Code: "InternalFailure", Message: "An internal error occurred.", Status: http.StatusInternalServerError}
	}
	a.Refuse(name, w, refused)
}

func (a *API) answer(name string, r *http.Request) (out map[string]any, model *awsapi.Service, operation string, err error) {
	body := r.Body
	for i, s := range services[name] {
		if model, err = a.models.Service(s.model); err != nil {
			return nil, nil, "", err
		}
		request, err := model.Read(r)
		if err != nil {
			return nil, model, "", err
		}
		operation = request.Operation
		do := s.operations[operation]
		if do == nil {
			if operation != "" || i == len(services[name])-1 {
				break
			}
			r.Body = request.Body(body) // for the next model
			continue
		}
		caller, ok := a.Caller(r.Context())
		if !ok {
			return nil, model, operation, errors.New("a call has no caller")
		}
		in, err := model.Input(request)
		if err != nil {
			return nil, model, operation, err
		}
		out, err = do(&call{Context: r.Context(), api: a, place: registry.ScopeOf(caller), in: in})
		return out, model, operation, err
	}
	variables := names.EndpointVariables(name, names.Of(r, name, func() string { return "" })) // the version does not matter here
	if operation != "" {
		variables = []string{model.EndpointVariable()}
	}
	return nil, model, operation, awsapi.Refuse("InvalidAction", "This version of Pintle does not serve %s of %s. About recorded resources, "+
		"it serves %s. Set %s to the address of a server for the others.",
		cmp.Or(operation, "the operation"), name, strings.Join(Operations(name), ", "), strings.Join(variables, " or "))
}

// call is an API call.
type call struct {
	context.Context
	api   *API
	place registry.Scope
	in    map[string]any
}

func (c *call) now() time.Time { return c.api.Now().UTC() }

// object is a structure of an input.
type object = map[string]any

// text returns a text member, or "" if it is not set.
func text(in object, name string) string {
	v, _ := in[name].(string)
	return v
}

// integer returns an integer member.
func integer(in object, name string) (int64, bool) {
	v, ok := in[name].(int64)
	return v, ok
}

// flag returns a boolean member.
func flag(in object, name string) bool {
	v, _ := in[name].(bool)
	return v
}

// child returns a structure member, or nil if it is not set.
func child(in object, name string) object {
	v, _ := in[name].(object)
	return v
}

// items returns the structures of a list.
func items(in object, name string) []object {
	list, _ := in[name].([]any)
	var out []object
	for _, v := range list {
		if item, ok := v.(object); ok {
			out = append(out, item)
		}
	}
	return out
}

// texts returns the texts of a list.
func texts(in object, name string) []string {
	list, _ := in[name].([]any)
	var out []string
	for _, v := range list {
		if t, ok := v.(string); ok {
			out = append(out, t)
		}
	}
	return out
}

// anys converts a list for output.
func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

func (c *call) arn(service, rest string) string {
	region := c.place.Region
	if slices.Contains([]string{"iam", "route53", "cloudfront"}, service) {
		region = ""
	}
	return strings.Join([]string{"arn", wire.Partition(c.place.Region), service, region, c.place.Account, rest}, ":")
}

// missing returns an error with a status for a resource that does not exist.
func missing(status int, code, format string, args ...any) *awsapi.Error {
	e := awsapi.Refuse(code, format, args...)
	e.Status = status
	return e
}

// global reports whether records of a type are shared by all regions of an account.
func global(kind string) bool {
	for _, prefix := range []string{"AWS::Route53::", "AWS::IAM::", "AWS::CloudFront::", "AWS::GlobalAccelerator::"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

func placeOf(kind string, place registry.Scope) registry.Scope {
	if global(kind) {
		place.Region = registry.Global.Region
	}
	return place
}

// record is a recorded resource.
type record struct {
	registry.Item[registry.Record]
	// id is the physical ID, or the ID that replaces it.
	id         string
	properties object
}

func recordOf(item registry.Item[registry.Record]) (record, error) {
	_, id, _ := strings.Cut(item.Name, "/")
	r := record{Item: item, id: id}
	if len(item.Of.Properties) == 0 {
		return r, nil
	}
	return r, json.Unmarshal(item.Of.Properties, &r.properties)
}

// state reads an attached value into into. It leaves into unchanged if the value is not attached.
func (r *record) state(name string, into any) error {
	raw := r.Of.State[name]
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// attach attaches a value to a record.
func (r *record) attach(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if r.Of.State = maps.Clone(r.Of.State); r.Of.State == nil {
		r.Of.State = map[string]json.RawMessage{}
	}
	r.Of.State[name] = raw
	return nil
}

// get returns a record, or an error that wraps [registry.ErrNotFound].
func (c *call) get(kind, id string) (record, error) {
	if !valid(id) {
		return record{}, registry.ErrNotFound
	}
	item, err := c.api.Catalog.Records.Get(c, placeOf(kind, c.place), kind+"/"+id)
	if of, attribute, found := cutLast(id, "."); found && errors.Is(err, registry.ErrNotFound) && strings.HasSuffix(attribute, "Id") {
		// The ID may be the result of Fn::GetAtt, see native.StandIn.
		item, err = c.api.Catalog.Records.Get(c, placeOf(kind, c.place), kind+"/"+of)
	}
	if err != nil {
		return record{}, err
	}
	return recordOf(item)
}

// tags returns the tags of a record, including those of its stack and of CloudFormation.
func (r *record) tags() map[string]string {
	own := maps.Clone(r.Of.Tags)
	for _, t := range items(r.properties, "Tags") {
		if own == nil {
			own = map[string]string{}
		}
		own[text(t, "Key")] = text(t, "Value")
	}
	return registry.TagsOf(r.Owner, own)
}

// tagList returns the tags in the format of most services, sorted by key.
func (r *record) tagList() []any {
	list, tags := []any{}, r.tags()
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, object{"Key": key, "Value": tags[key]})
	}
	return list
}

// cutLast is [strings.Cut] at the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	if at := strings.LastIndex(s, separator); at >= 0 {
		return s[:at], s[at+len(separator):], true
	}
	return s, "", false
}

// valid reports whether a text is a valid record ID.
func valid(id string) bool {
	return id != "" && len(id) <= 1024 && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// perPage is how many records are read from the store at a time.
const perPage = 200

// maxRecords is the maximum number of records of a type that one call reads.
const maxRecords = 10_000

// all returns the records of a type, sorted by ID.
func (c *call) all(kind string) ([]record, error) {
	var list []record
	after := kind + "/"
	for {
		page, err := c.api.Catalog.Records.List(c, placeOf(kind, c.place), after, perPage)
		if err != nil {
			return nil, err
		}
		for _, item := range page {
			if !strings.HasPrefix(item.Name, kind+"/") {
				return list, nil
			}
			r, err := recordOf(item)
			if err != nil {
				return nil, err
			}
			list = append(list, r)
			after = item.Name
		}
		if len(page) < perPage {
			return list, nil
		}
		if len(list) >= maxRecords {
			return nil, awsapi.Refuse("LimitExceeded", "More than %d resources of type %s are recorded.", maxRecords, kind)
		}
	}
}

// change applies change to a record. If change returns an error, that error is returned unchanged.
func (c *call) change(kind, id string, change func(*record) error) (record, error) {
	if !valid(id) {
		return record{}, registry.ErrNotFound
	}
	var changed record
	_, err := c.api.Catalog.Records.Change(c, placeOf(kind, c.place), kind+"/"+id, func(item *registry.Item[registry.Record]) error {
		r, err := recordOf(*item)
		if err != nil {
			return err
		}
		if err := change(&r); err != nil {
			return err
		}
		*item, changed = r.Item, r
		return nil
	})
	return changed, err
}

// create creates a record with properties. It returns [registry.ErrExists] if the ID is taken.
func (c *call) create(kind, id string, properties any) error {
	raw, err := json.Marshal(properties)
	if err != nil {
		return err
	}
	_, err = c.api.Catalog.Records.Put(c, registry.Item[registry.Record]{
		Scope: placeOf(kind, c.place), Name: kind + "/" + id, Of: registry.Record{Properties: raw, Made: c.now()},
	})
	return err
}

// drop deletes a record.
func (c *call) drop(kind, id string) error {
	if !valid(id) {
		return registry.ErrNotFound
	}
	return c.api.Catalog.Records.Delete(c, placeOf(kind, c.place), kind+"/"+id, 0)
}

// page returns the part of a sorted list after a token, and the token of the next part, or "" on the last.
func page[T any](list []T, key func(T) string, token string, limit, most int64) ([]T, string, error) {
	if limit <= 0 || limit > most {
		limit = most
	}
	if token != "" {
		after, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return nil, "", err
		}
		at := slices.IndexFunc(list, func(v T) bool { return key(v) > string(after) })
		if at < 0 {
			return nil, "", nil
		}
		list = list[at:]
	}
	if int64(len(list)) <= limit {
		return list, "", nil
	}
	list = list[:limit]
	return list, base64.RawURLEncoding.EncodeToString([]byte(key(list[limit-1]))), nil
}

// kept are the types whose records are kept for calls.
var kept = []string{
	"AWS::CertificateManager::Certificate", "AWS::CloudFront::Distribution", "AWS::Cognito::UserPoolClient", "AWS::Cognito::UserPoolDomain",
	"AWS::DynamoDB::GlobalTable", "AWS::DynamoDB::Table", "AWS::EC2::SecurityGroup", "AWS::EC2::VPC", "AWS::EC2::VPCEndpointService",
	"AWS::EMRContainers::VirtualCluster", "AWS::Elasticsearch::Domain", "AWS::GlobalAccelerator::EndpointGroup", "AWS::Glue::Table",
	"AWS::IAM::OIDCProvider", "AWS::Logs::ResourcePolicy", "AWS::OpenSearchService::Domain", "AWS::Route53::HostedZone", "AWS::Route53::RecordSet",
	"AWS::Synthetics::Canary",
}

// Keep stores a recorded resource for later calls, as [native.Config] describes. It ignores types that no call uses. If two
// resources have the same declared name, the record is that of the later one.
func Keep(records *registry.Collection[registry.Record], now func() time.Time) func(context.Context, *store.Request, wire.PhysicalID) error {
	return func(ctx context.Context, r *store.Request, id wire.PhysicalID) error {
		kind := r.Body.ResourceType
		if _, known := slices.BinarySearch(kept, kind); !known || !valid(string(id)) {
			return nil
		}
		stack, err := wire.ParseStackARN(r.Body.StackID)
		if err != nil {
			return err
		}
		place, name := placeOf(kind, registry.Scope{Account: stack.Account, Region: stack.Region}), kind+"/"+string(id)
		if r.Type == wire.Delete {
			return forget(ctx, records, place, name, r)
		}
		owner := registry.OwnerOf(r.Body.StackID, r.Logical, r.ID)
		properties, tags := r.Body.Properties.JSON(), resources.TagMap(r.Body.Tags)
		_, err = records.Change(ctx, place, name, func(item *registry.Item[registry.Record]) error {
			item.Of.Properties, item.Of.Tags = properties, tags
			if r.Type == wire.Create || r.Type == store.TypeImport {
				item.Owner = owner
			}
			item.Of.State = maps.Clone(item.Of.State)
			delete(item.Of.State, deletedState) // it is declared again
			return nil
		})
		if errors.Is(err, registry.ErrNotFound) {
			_, err = records.Put(ctx, registry.Item[registry.Record]{
				Scope: place, Name: name, Owner: owner,
				Of: registry.Record{Properties: properties, Tags: tags, Made: now().UTC()},
			})
		}
		return err
	}
}

// forget removes the record of a deleted resource, unless another resource has taken its name.
func forget(ctx context.Context, records *registry.Collection[registry.Record], place registry.Scope, name string, r *store.Request) error {
	for {
		item, err := records.Get(ctx, place, name)
		if err == nil && !strings.HasPrefix(item.Owner, registry.OwnerOf(r.Body.StackID, r.Logical, "")) || errors.Is(err, registry.ErrNotFound) {
			return nil
		}
		if err == nil {
			err = records.Delete(ctx, place, name, item.Version)
		}
		if !errors.Is(err, registry.ErrChanged) { // by a call about the resource
			return err
		}
	}
}

// deletedState marks a record set of a stack that a call deleted.
const deletedState = "deleted"
