package ssmapi

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/store"
)

// Limits of a parameter. Source: Systems Manager API Reference, PutParameter; quotas.
const (
	maxName        = 1011
	maxLevels      = 15
	maxStandard    = 4 << 10 // characters of a value
	maxAdvanced    = 8 << 10
	maxDescription = 1024
	maxPattern     = 1024
	maxNames       = 10 // of GetParameters
)

var (
	parameterName = regexp.MustCompile(`^[a-zA-Z0-9_.\-/]+$`)
	reservedName  = regexp.MustCompile(`(?i)^/?(?:aws|ssm)`)
)

// call is an API call.
type call struct {
	*handler
	ctx   context.Context
	place registry.Scope
}

type putInput struct {
	Name, Value, Type, Description, AllowedPattern, Tier, DataType string
	Overwrite                                                      bool
	Tags                                                           []tag
}

type putOutput struct {
	Version int64
	Tier    string
}

func (c *call) put(in putInput) (out putOutput, err error) {
	if err := checkName(in.Name); err != nil {
		return out, err
	}
	tags, err := c.tagsOf(in)
	if err != nil {
		return out, err
	}
	tier := in.Tier
	if tier == "" || tier == "Intelligent-Tiering" {
		tier = "Standard"
		if utf8.RuneCountInString(in.Value) > maxStandard && in.Tier != "" {
			tier = "Advanced"
		}
	}
	limit := maxStandard
	switch {
	case tier == "Advanced":
		limit = maxAdvanced
	case tier != "Standard":
		return out, invalid("1 validation error detected: Value '%.32s' at 'tier' failed to satisfy constraint: Member must satisfy enum value set: [Standard, Advanced, Intelligent-Tiering]", tier)
	}
	p := store.Parameter{
		ParameterKey: store.ParameterKey{Account: c.place.Account, Region: c.place.Region, Name: in.Name}, Type: store.ParameterType(in.Type),
		Value: in.Value, Description: in.Description, Pattern: in.AllowedPattern, Modified: c.config.Now().UTC(),
	}
	if in.Type == "" {
		before, err := c.config.Store.Parameter(c.ctx, c.place, in.Name, 0)
		if errors.Is(err, store.ErrNotFound) {
			return out, invalid("A parameter type is required when you create a parameter.")
		} else if err != nil {
			return out, err
		}
		p.Type = before.Type
	}
	switch p.Type {
	case store.ParameterString, store.ParameterList, store.ParameterSecure:
	default:
		return out, refuse("UnsupportedParameterType", "The parameter type is not supported.")
	}
	switch length := utf8.RuneCountInString(in.Value); {
	case in.Value == "":
		return out, invalid("1 validation error detected: Value at 'value' failed to satisfy constraint: Member must have length greater than or equal to 1.")
	case length > limit:
		return out, invalid("%s tier parameters support a maximum parameter value of %d characters.", tier, limit)
	case utf8.RuneCountInString(in.Description) > maxDescription || utf8.RuneCountInString(in.AllowedPattern) > maxPattern:
		return out, invalid("Description and AllowedPattern have %d characters at most.", maxDescription)
	case in.DataType != "" && in.DataType != "text":
		return out, invalid("The data type %.32q is not checked by this version of Pintle: omit it, or use text.", in.DataType)
	}
	if in.AllowedPattern != "" {
		pattern, err := regexp.Compile(in.AllowedPattern)
		if err != nil {
			return out, refuse("InvalidAllowedPatternException", "The request does not meet the regular expression requirement.")
		}
		if !pattern.MatchString(in.Value) {
			return out, refuse("ParameterPatternMismatchException", "Parameter value, cannot be validated against allowedPattern: %s", in.AllowedPattern)
		}
	}
	out.Tier = tier
	out.Version, err = c.config.Store.Put(c.ctx, p, in.Overwrite)
	if errors.Is(err, store.ErrExists) {
		return out, refuse("ParameterAlreadyExists", "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
	}
	if err == nil && tags != nil {
		err = c.changeTags(in.Name, func(there registry.Tags) error {
			clear(there) // from an earlier parameter with the name
			maps.Copy(there, tags)
			return nil
		})
	}
	return out, err
}

func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxName || !parameterName.MatchString(name):
		return invalid("Parameter name: can't be prefixed with \"ssm\" (case-insensitive). If formed as a path, it can consist of sub-paths " +
			"divided by slash symbol; each sub-path can be formed as a mix of letters, numbers and the following 3 symbols .-_")
	case reservedName.MatchString(name):
		return refuse("AccessDeniedException", "No access to reserved parameter name: %s.", name)
	case strings.Count(name, "/") > maxLevels:
		return refuse("HierarchyLevelLimitExceededException", "A parameter can have a maximum of %d levels.", maxLevels)
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		return invalid("Parameter name must be a fully qualified name.")
	case strings.HasSuffix(name, "/") || strings.Contains(name, "//"):
		return invalid("Parameter name must not end with a slash, or have two in a row.")
	}
	return nil
}

// parameterView is the Parameter structure.
type parameterView struct {
	Name             string
	Type             string
	Value            string
	Version          int64
	LastModifiedDate float64
	ARN              string
	DataType         string
	Selector         string `json:",omitempty"`
}

type getInput struct {
	Name           string
	WithDecryption bool
}

type getOutput struct{ Parameter parameterView }

func (c *call) get(in getInput) (out getOutput, err error) {
	out.Parameter, err = c.read(in.Name, in.WithDecryption)
	return out, err
}

// read returns the view of a parameter.
func (c *call) read(given string, decrypted bool) (view parameterView, err error) {
	name, version, ok := ssm.Selector(c.place, given)
	if !ok {
		return view, refuse("ParameterNotFound", "There is no parameter %.200q: it is NAME, NAME:VERSION or an ARN of this account and region.", given)
	}
	p, err := c.config.Store.Parameter(c.ctx, c.place, name, version)
	if errors.Is(err, store.ErrNotFound) && version > 0 {
		if _, err := c.config.Store.Parameter(c.ctx, c.place, name, 0); err == nil {
			return view, refuse("ParameterVersionNotFound", "Systems Manager could not find version %d of %s. Verify the version and try again.", version, name)
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return view, refuse("ParameterNotFound", "Parameter %s not found.", name)
	}
	if err != nil {
		return view, err
	}
	if p.Type == store.ParameterSecure && !decrypted {
		p.Value = newPlaceholder()
	}
	view = parameterView{
		Name: p.Name, Type: string(p.Type), Value: p.Value, Version: p.Version, ARN: c.arn(p.Name), DataType: "text",
		LastModifiedDate: float64(p.Modified.UnixMilli()) / float64(time.Second/time.Millisecond),
	}
	if p.Modified.IsZero() {
		view.LastModifiedDate = 0
	}
	if version > 0 {
		view.Selector = ":" + strconv.FormatInt(version, 10)
	}
	return view, nil
}

func (c *call) arn(name string) string {
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return "arn:" + c.config.Partition(c.place.Region) + ":ssm:" + c.place.Region + ":" + c.place.Account + ":parameter" + name
}

type getAllInput struct {
	Names          []string
	WithDecryption bool
}

type getAllOutput struct {
	Parameters        []parameterView
	InvalidParameters []string
}

func (c *call) getAll(in getAllInput) (getAllOutput, error) {
	out := getAllOutput{Parameters: []parameterView{}, InvalidParameters: []string{}}
	if len(in.Names) == 0 || len(in.Names) > maxNames {
		return out, invalid("1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length between 1 and %d.", maxNames)
	}
	for _, name := range in.Names {
		view, err := c.read(name, in.WithDecryption)
		apiErr, known := errors.AsType[*awsjson.Error](err)
		switch {
		case err == nil:
			out.Parameters = append(out.Parameters, view)
		case known && apiErr.Code != "ValidationException":
			out.InvalidParameters = append(out.InvalidParameters, name)
		default:
			return out, err
		}
	}
	return out, nil
}

type removeInput struct{ Name string }

func (c *call) remove(in removeInput) (out awsjson.None, err error) {
	found, err := c.drop(in.Name)
	if err == nil && !found {
		return out, refuse("ParameterNotFound", "Parameter %.200s not found.", in.Name)
	}
	return out, err
}

// drop deletes a parameter and its tags. It returns false if the parameter does not exist.
func (c *call) drop(name string) (found bool, err error) {
	// Delete the tags first. A crash may then leave a parameter without tags, but never tags for a later parameter
	// with the name.
	if c.config.Tags != nil {
		if err := c.config.Tags.Delete(c.ctx, c.place, registry.ParameterTags(name), 0); err != nil && !errors.Is(err, registry.ErrNotFound) {
			return false, err
		}
	}
	err = c.config.Store.Delete(c.ctx, c.place, name)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

type removeAllInput struct{ Names []string }

type removeAllOutput struct {
	DeletedParameters []string
	InvalidParameters []string
}

func (c *call) removeAll(in removeAllInput) (removeAllOutput, error) {
	out := removeAllOutput{DeletedParameters: []string{}, InvalidParameters: []string{}}
	if len(in.Names) == 0 || len(in.Names) > maxNames {
		return out, invalid("1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length between 1 and %d.", maxNames)
	}
	for _, name := range in.Names {
		found, err := c.drop(name)
		switch {
		case err != nil:
			return out, err
		case found:
			out.DeletedParameters = append(out.DeletedParameters, name)
		default:
			out.InvalidParameters = append(out.InvalidParameters, name)
		}
	}
	return out, nil
}
