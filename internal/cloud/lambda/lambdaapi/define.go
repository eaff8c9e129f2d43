package lambdaapi

import (
	"maps"
	"net/http"
	"strconv"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// settings are the function settings of CreateFunction and UpdateFunctionConfiguration. Other settings are ignored.
type settings struct {
	Runtime       *string
	Role          *string
	Handler       *string
	Description   *string
	Timeout       *int
	MemorySize    *int
	Environment   *environment
	Layers        []string // nil keeps them
	LoggingConfig *logging
	RevisionId    string
}

func (s settings) apply(f *registry.Function) {
	set(&f.Runtime, s.Runtime)
	set(&f.Role, s.Role)
	set(&f.Handler, s.Handler)
	set(&f.Description, s.Description)
	set(&f.Timeout, s.Timeout)
	set(&f.Memory, s.MemorySize)
	if s.Environment != nil {
		f.Environment = maps.Clone(s.Environment.Variables)
	}
	if s.Layers != nil {
		f.Layers = s.Layers
	}
	if l := s.LoggingConfig; l != nil {
		f.LogFormat, f.LogLevel, f.LogGroup = l.LogFormat, l.ApplicationLogLevel, l.LogGroup
	}
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// source is the source of code.
type source struct {
	ZipFile                          []byte // base64 in JSON
	S3Bucket, S3Key, S3ObjectVersion string
	ImageUri, SourceKMSKeyArn        string
}

func (s source) code() (registry.Code, error) {
	if s.ImageUri != "" {
		return registry.Code{}, &lambda.Error{
			Code: "InvalidParameterValueException", Message: lambda.NoImages, Status: http.StatusBadRequest,
		}
	}
	return registry.Code{Zip: s.ZipFile, Bucket: s.S3Bucket, Key: s.S3Key, ObjectVersion: s.S3ObjectVersion}, nil
}

type createInput struct {
	settings
	FunctionName  string
	Code          source
	Publish       bool
	PackageType   string
	Architectures []string
	Tags          map[string]string
}

func (c *call) create() (answer, error) {
	in, err := decode[createInput](c, maxUpload, "CreateFunction")
	if err != nil {
		return answer{}, err
	}
	r, err := lambda.ParseReference(c.place, in.FunctionName, "")
	if err == nil {
		err = c.config.Functions.Fixed(c.place, in.FunctionName)
	}
	if err != nil {
		return answer{}, err
	}
	if in.PackageType != "" && in.PackageType != "Zip" {
		in.Code.ImageUri = in.PackageType
	}
	code, err := in.Code.code()
	if err != nil {
		return answer{}, err
	}
	i := registry.Item[registry.Function]{Scope: r.Scope, Name: r.Name}
	in.apply(&i.Of)
	i.Of.Architectures, i.Of.Tags = in.Architectures, in.Tags
	if in.Timeout != nil && *in.Timeout == 0 {
		return answer{}, constraint("timeout", "0", "Member must have value greater than or equal to 1")
	}
	if i, err = c.config.Functions.Create(c.ctx, i, code); err != nil {
		return answer{}, err
	}
	return c.shown(i, in.Publish, http.StatusCreated)
}

// shown answers with a function, and publishes it first if requested.
func (c *call) shown(i registry.Item[registry.Function], publish bool, status int) (answer, error) {
	if publish {
		version, err := c.config.Functions.Publish(c.ctx, i.Scope, i.Name, "")
		if err != nil {
			return answer{}, err
		}
		if i, err = c.config.Functions.Get(c.ctx, i.Scope, i.Name+":"+version); err != nil {
			return answer{}, err
		}
	}
	return answer{status: status, value: view(i, false)}, nil
}

type getOutput struct {
	Configuration configuration
	Code          codeView
	Tags          map[string]string `json:",omitempty"`
	Concurrency   *concurrency      `json:",omitempty"`
}

type (
	codeView    struct{ RepositoryType string }
	concurrency struct{ ReservedConcurrentExecutions *int }
)

func (c *call) get() (answer, error) {
	i, err := c.function()
	if err != nil {
		return answer{}, err
	}
	out := getOutput{Configuration: view(i, c.qualified()), Code: codeView{"S3"}, Tags: registry.TagsOf(i.Owner, i.Of.Tags)}
	if i.Of.Concurrency != nil {
		out.Concurrency = &concurrency{i.Of.Concurrency}
	}
	return answer{value: out}, nil
}

// listTags returns the tags of the function with the ARN in the path.
func (c *call) listTags() (answer, error) {
	i, err := c.function()
	if err != nil {
		return answer{}, err
	}
	tags := registry.TagsOf(i.Owner, i.Of.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	return answer{value: map[string]any{"Tags": tags}}, nil
}

// qualified reports whether the call names a version.
func (c *call) qualified() bool {
	r, err := c.reference()
	return err == nil && r.Qualifier != ""
}

func (c *call) getConfiguration() (answer, error) {
	i, err := c.function()
	return answer{value: view(i, c.qualified())}, err
}

func (c *call) updateConfiguration() (answer, error) {
	in, err := decode[settings](c, maxBody, "UpdateFunctionConfiguration")
	if err != nil {
		return answer{}, err
	}
	i, err := c.toChange(in.RevisionId)
	if err != nil {
		return answer{}, err
	}
	in.apply(&i.Of)
	if i, err = c.config.Functions.Update(c.ctx, i, nil); err != nil {
		return answer{}, err
	}
	return answer{value: view(i, false)}, nil
}

// toChange returns the function to change. It returns an error if a revision is given and the function has another
// one.
func (c *call) toChange(revision string) (registry.Item[registry.Function], error) {
	r, err := c.reference()
	if err == nil {
		err = c.config.Functions.Fixed(c.place, c.r.PathValue("name"))
	}
	if err != nil {
		return registry.Item[registry.Function]{}, err
	}
	i, err := c.config.Functions.Get(c.ctx, r.Scope, r.Name)
	if err == nil && revision != "" && revision != i.Of.Revision {
		err = &lambda.Error{
			Code: "PreconditionFailedException", Status: http.StatusPreconditionFailed,
			Message: "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to retrieve the latest Revision Id",
		}
	}
	return i, err
}

type updateCodeInput struct {
	source
	Publish       bool
	DryRun        bool
	RevisionId    string
	Architectures []string
}

func (c *call) updateCode() (answer, error) {
	in, err := decode[updateCodeInput](c, maxUpload, "UpdateFunctionCode")
	if err != nil {
		return answer{}, err
	}
	i, err := c.toChange(in.RevisionId)
	if err != nil {
		return answer{}, err
	}
	code, err := in.code()
	if err != nil {
		return answer{}, err
	}
	if in.DryRun {
		return answer{value: view(i, false)}, nil
	}
	if in.Architectures != nil {
		i.Of.Architectures = in.Architectures
	}
	if i, err = c.config.Functions.Update(c.ctx, i, &code); err != nil {
		return answer{}, err
	}
	return c.shown(i, in.Publish, http.StatusOK)
}

func (c *call) remove() (answer, error) {
	r, err := c.reference()
	if err == nil {
		err = c.config.Functions.Fixed(c.place, c.r.PathValue("name"))
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, c.config.Functions.Delete(c.ctx, r.Scope, r.ARN())
}

type listOutput struct {
	Functions  []configuration
	NextMarker string `json:",omitempty"`
}

func (c *call) list() (answer, error) {
	query := c.r.URL.Query()
	limit := 50
	if text := query.Get("MaxItems"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 10000 {
			return answer{}, constraint("maxItems", text, "Member must have value between 1 and 10000")
		}
		limit = min(limit, n)
	}
	versions := query.Get("FunctionVersion")
	if versions != "" && versions != "ALL" {
		return answer{}, constraint("functionVersion", versions, "Member must satisfy enum value set: [ALL]")
	}
	list, err := c.config.Functions.List(c.ctx, c.place, query.Get("Marker"), limit+1, versions != "")
	if err != nil {
		return answer{}, err
	}
	out := listOutput{Functions: []configuration{}}
	for _, i := range list[:min(limit, len(list))] {
		out.Functions = append(out.Functions, view(i, versions != ""))
	}
	if len(list) > limit {
		out.NextMarker = list[limit-1].Name
	}
	return answer{value: out}, nil
}
