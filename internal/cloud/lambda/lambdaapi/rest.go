package lambdaapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

type permissionInput struct {
	StatementId         string
	Action              string
	Principal           string
	SourceArn           string
	SourceAccount       string
	EventSourceToken    string
	PrincipalOrgID      string
	FunctionUrlAuthType string
}

var statementForm = regexp.MustCompile(`^[a-zA-Z0-9-_]{1,100}$`)

// statement returns the policy statement for the input.
func (in permissionInput) statement(arn string) map[string]any {
	principal := any(map[string]string{"AWS": in.Principal})
	switch {
	case in.Principal == "*":
		principal = "*"
	case strings.Contains(in.Principal, ".amazonaws.com"):
		principal = map[string]string{"Service": in.Principal}
	}
	s := map[string]any{"Sid": in.StatementId, "Effect": "Allow", "Principal": principal, "Action": in.Action, "Resource": arn}
	condition := map[string]map[string]string{}
	for _, c := range []struct{ operator, key, value string }{
		{"ArnLike", "AWS:SourceArn", in.SourceArn},
		{"StringEquals", "AWS:SourceAccount", in.SourceAccount},
		{"StringEquals", "aws:PrincipalOrgID", in.PrincipalOrgID},
		{"StringEquals", "lambda:EventSourceToken", in.EventSourceToken},
		{"StringEquals", "lambda:FunctionUrlAuthType", in.FunctionUrlAuthType},
	} {
		if c.value == "" {
			continue
		}
		if condition[c.operator] == nil {
			condition[c.operator] = map[string]string{}
		}
		condition[c.operator][c.key] = c.value
	}
	if len(condition) > 0 {
		s["Condition"] = condition
	}
	return s
}

func (c *call) addPermission() (answer, error) {
	in, err := decode[permissionInput](c, maxBody, "AddPermission")
	if err != nil {
		return answer{}, err
	}
	switch {
	case !statementForm.MatchString(in.StatementId):
		return answer{}, constraint("statementId", in.StatementId, "Member must satisfy regular expression pattern: ([a-zA-Z0-9-_]+)")
	case !strings.HasPrefix(in.Action, "lambda:") && in.Action != "*":
		return answer{}, constraint("action", in.Action, `Member must satisfy regular expression pattern: (lambda:[*]|lambda:[a-zA-Z]+|[*])`)
	case in.Principal == "":
		return answer{}, constraint("principal", "", "Member must not be null")
	}
	r, err := c.reference()
	if err != nil {
		return answer{}, err
	}
	text, err := json.Marshal(in.statement(r.ARN()))
	if err != nil {
		return answer{}, err
	}
	if err := c.config.Functions.AddStatement(c.ctx, r, in.StatementId, text); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, value: map[string]string{"Statement": string(text)}}, nil
}

func (c *call) removePermission() (answer, error) {
	r, err := c.reference()
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, c.config.Functions.RemoveStatement(c.ctx, r, c.r.PathValue("statement"))
}

func (c *call) getPolicy() (answer, error) {
	r, err := c.reference()
	if err != nil {
		return answer{}, err
	}
	statements, err := c.config.Functions.Statements(c.ctx, r)
	if err != nil {
		return answer{}, err
	}
	if len(statements) == 0 {
		return answer{}, notFound()
	}
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Id": "default", "Statement": statements})
	return answer{value: map[string]string{"Policy": string(text)}}, err
}

func notFound() error {
	return &lambda.Error{
		Code: "ResourceNotFoundException", Message: "The resource you requested does not exist.", Status: http.StatusNotFound,
	}
}

type layerInput struct {
	Description        string
	Content            source
	CompatibleRuntimes []string
}

// layerOutput is a layer version in API output.
type layerOutput struct {
	Content struct {
		CodeSha256 string
		CodeSize   int64
	}
	LayerArn           string
	LayerVersionArn    string
	Description        string
	CreatedDate        string
	Version            int
	CompatibleRuntimes []string `json:",omitempty"`
}

func (c *call) publishLayer() (answer, error) {
	in, err := decode[layerInput](c, maxUpload, "PublishLayerVersion")
	if err != nil {
		return answer{}, err
	}
	code, err := in.Content.code()
	if err == nil {
		err = c.config.Functions.Fixed(c.place, "")
	}
	if err != nil {
		return answer{}, err
	}
	arn, err := c.config.Functions.CreateLayer(c.ctx, registry.Item[registry.Layer]{
		Scope: c.place, Name: c.r.PathValue("name"), Of: registry.Layer{Description: in.Description, Runtimes: in.CompatibleRuntimes},
	}, code)
	if err != nil {
		return answer{}, err
	}
	a, err := c.showLayer(arn)
	a.status = http.StatusCreated
	return a, err
}

// ownLayer returns an error if a layer version belongs to another account.
func (c *call) ownLayer(arn string) error {
	if place, _, ok := lambda.LayerReference(arn); ok && place.Account != c.place.Account {
		return &lambda.Error{
			Code: "AccessDeniedException", Status: http.StatusForbidden,
			Message: "The account " + c.place.Account + " is not authorized to use the resource: " + arn,
		}
	}
	return nil
}

func (c *call) showLayer(arn string) (answer, error) {
	if err := c.ownLayer(arn); err != nil {
		return answer{}, err
	}
	i, err := c.config.Functions.Layer(c.ctx, arn)
	if err != nil {
		return answer{}, err
	}
	at := strings.LastIndexByte(arn, ':')
	out := layerOutput{
		LayerArn: arn[:at], LayerVersionArn: arn, Description: i.Of.Description, CreatedDate: i.Of.Made.UTC().Format(timeForm),
		CompatibleRuntimes: i.Of.Runtimes,
	}
	out.Version, _ = strconv.Atoi(arn[at+1:]) // the ARN is valid
	out.Content.CodeSha256, out.Content.CodeSize = sha(i.Of.Code), i.Of.CodeSize
	return answer{value: out}, nil
}

// layerARN returns the ARN of the layer version in the path.
func (c *call) layerARN() string {
	if name := c.r.PathValue("name"); strings.HasPrefix(name, "arn:") {
		return name + ":" + c.r.PathValue("version")
	}
	return lambda.LayerARN(c.place, c.r.PathValue("name")+":"+c.r.PathValue("version"))
}

func (c *call) getLayer() (answer, error) { return c.showLayer(c.layerARN()) }

func (c *call) getLayerByARN() (answer, error) {
	if query := c.r.URL.Query(); query.Get("find") == "LayerVersion" {
		return c.showLayer(query.Get("Arn"))
	}
	return c.unknown()
}

func (c *call) deleteLayer() (answer, error) {
	arn := c.layerARN()
	if err := c.ownLayer(arn); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, c.config.Functions.DeleteLayer(c.ctx, arn)
}
