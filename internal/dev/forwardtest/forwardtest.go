// Package forwardtest is a CloudFormation endpoint for tests that misbehaves on request: it throttles, delays, loses
// answers, fails after the work, and reports success without a resource. A ledger records every resource.
//
// The endpoint has one service, AWS::Test. Its types have the same properties: Name, whose change replaces the
// resource, Size, Fail, whose value is the reason for a failed create or update, Keep, whose value is the reason for a
// failed delete, and Empty, which makes a stack complete without a resource. Opaque is the reason why drift of the
// resource is unknown. The attributes are Arn, Size and NameServers, a list. Drift of the type AWS::Test::Plain is not
// detected.
//
// A template may also have a WaitConditionHandle. Change sets of type IMPORT import a resource by its Name, with the rules
// of CloudFormation: they change no outputs and no tags, and each imported resource needs a DeletionPolicy.
package forwardtest

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Account is the account of every caller, unless [Endpoint.Account] is set.
const Account = "000000000000"

// Fault is a misbehavior of one call.
type Fault int

// The faults. The zero Fault is None.
const (
	None Fault = iota
	// Throttle refuses the call with the error Throttling.
	Throttle
	// Lose does the work and closes the connection without an answer.
	Lose
	// Break answers with HTTP status 500 and does nothing.
	Break
	// BreakAfter does the work and answers with HTTP status 500 and HTML.
	BreakAfter
	// Garble does the work and answers with a text that is not XML.
	Garble
	// Stall does the work and answers after a moment.
	Stall
)

// Endpoint is the endpoint. Set its fields before the first call, or later with Configure.
type Endpoint struct {
	// URL is the endpoint's URL.
	URL string
	// Account is the account of callers; empty means the constant of that name.
	Account string
	// Fault returns the fault of the n-th call of an action, counted from 1. Nil means none.
	Fault func(action string, n int) Fault
	// Done is called after each call that changes something, before the answer. Nil is not called.
	Done func(action string)
	// Steps is how often a stack is described while an operation is in progress.
	Steps int
	// Adopt makes the creation of a resource with a taken name succeed with the existing one.
	Adopt bool
	// Blind omits Replacement from change sets, and Conditional reports it as such.
	Blind, Conditional bool
	// NoImport omits the type IMPORT of change sets. Deaf ignores the type, so that such a change set creates the resource.
	// Hollow completes an import without the resource.
	NoImport, Deaf, Hollow bool
	// NoDrift omits the detection of drift, and Silent omits the differences from its results.
	NoDrift, Silent bool

	mu        sync.Mutex
	calls     map[string]int
	stacks    []*stack
	resources []*Resource
	number    int
}

// Resource is a line of the ledger.
type Resource struct {
	Type, ID, Stack string
	Properties      map[string]any
	// Deleted means that it was deleted, and Retained that its stack was deleted without it.
	Deleted, Retained bool
	// Tags are those of its stack.
	Tags map[string]string
	// Drift are properties that were changed outside the stack; nil ones were removed.
	Drift map[string]any
}

type stack struct {
	name, id, status, next, reason string
	left                           int // describes until next
	template                       template
	text                           string
	parameters, tags, outputs      map[string]string
	resource                       *Resource
	events                         []event // the oldest first
	sets                           map[string]*changeSet
}

type event struct{ logical, id, status, reason string }

type changeSet struct {
	status, action, replacement, property string
	// The rest is for the type IMPORT.
	reason, execution, id string
	template              template
	text                  string
}

type template struct {
	Parameters map[string]struct{ NoEcho any }
	Resources  map[string]struct {
		Type                                string
		Properties                          map[string]any
		DeletionPolicy, UpdateReplacePolicy string
	}
	Outputs map[string]struct{ Value any }
}

// Start starts an endpoint that ends with the test.
func Start(t testing.TB) *Endpoint {
	t.Helper()
	e := &Endpoint{calls: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(server.Close)
	e.URL = server.URL
	return e
}

// Configure calls change, which may set fields, while the endpoint handles no call.
func (e *Endpoint) Configure(change func(*Endpoint)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e)
}

// Calls returns how often an action was called.
func (e *Endpoint) Calls(action string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[action]
}

// Ledger returns copies of all resources that were ever created, in that order.
func (e *Endpoint) Ledger() []Resource {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]Resource, len(e.resources))
	for i, r := range e.resources {
		list[i] = *r
	}
	return list
}

// Live returns the IDs of the resources that exist, sorted.
func (e *Endpoint) Live() []string {
	var ids []string
	for _, r := range e.Ledger() {
		if !r.Deleted {
			ids = append(ids, r.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Stacks returns the names of the stacks that exist, each with its status, sorted.
func (e *Endpoint) Stacks() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []string
	for _, s := range e.stacks {
		if s.status != "DELETE_COMPLETE" {
			list = append(list, s.name+" "+s.status)
		}
	}
	slices.Sort(list)
	return list
}

// Take creates a stack that someone else owns.
func (e *Endpoint) Take(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stacks = append(e.stacks, &stack{name: name, id: "arn:aws:cloudformation:us-east-1:" + Account + ":stack/" + name + "/1", status: "CREATE_COMPLETE"})
}

// Parameters returns the parameters of a stack by the beginning of its name.
func (e *Endpoint) Parameters(prefix string) (parameters map[string]string, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.stacks {
		if strings.HasPrefix(s.name, prefix) {
			return s.parameters, s.text
		}
	}
	return nil, ""
}

// Exist adds a resource that no stack has, with a Name.
func (e *Endpoint) Exist(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resources = append(e.resources, &Resource{Type: "AWS::Test::Thing", ID: name, Properties: map[string]any{"Name": name}})
}

// apiError is an error answer.
type apiError struct {
	status        int
	code, message string
}

func invalid(format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "ValidationError", fmt.Sprintf(format, args...)}
}

func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil || r.Form.Get("Action") == "" {
		http.NotFound(w, r)
		return
	}
	action := r.Form.Get("Action")
	e.mu.Lock()
	e.calls[action]++
	fault := None
	if e.Fault != nil {
		fault = e.Fault(action, e.calls[action])
	}
	var body string
	var problem *apiError
	switch fault {
	case Throttle:
		problem = &apiError{http.StatusBadRequest, "Throttling", "Rate exceeded"}
	case Break:
		problem = &apiError{http.StatusInternalServerError, "InternalFailure", "try again"}
	case None, Lose, BreakAfter, Garble, Stall:
		body, problem = e.act(action, r.Form)
	}
	e.mu.Unlock()
	if e.Done != nil && problem == nil && !strings.HasPrefix(action, "Describe") && !strings.HasPrefix(action, "Get") {
		e.Done(action)
	}
	switch fault {
	case Lose:
		panic(http.ErrAbortHandler)
	case BreakAfter:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "<!doctype html><title>500 Internal Server Error</title>")
		return
	case Garble:
		fmt.Fprint(w, "not XML")
		return
	case Stall:
		time.Sleep(20 * time.Millisecond)
	case None, Throttle, Break:
	}
	w.Header().Set("Content-Type", "text/xml")
	if problem != nil {
		w.WriteHeader(problem.status)
		fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>1</RequestId></ErrorResponse>",
			problem.code, escape(problem.message))
		return
	}
	fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></%[1]sResponse>", action, body)
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder does not fail
	return b.String()
}

func element(name, text string) string { return "<" + name + ">" + escape(text) + "</" + name + ">" }

func (e *Endpoint) act(action string, form url.Values) (string, *apiError) {
	if action == "GetCallerIdentity" {
		account := Account
		if e.Account != "" {
			account = e.Account
		}
		return element("Account", account) + element("Arn", "arn:aws:iam::"+account+":root") + element("UserId", account), nil
	}
	if action == "CreateStack" || action == "ValidateTemplate" {
		t, problem := parse(form.Get("TemplateBody"))
		if problem != nil || action == "ValidateTemplate" {
			return "", problem
		}
		return e.create(form, t)
	}
	if action == "GetTemplateSummary" {
		return e.summarize(form)
	}
	s := e.find(form.Get("StackName"))
	if s == nil && action == "DeleteStack" {
		return "", nil
	}
	if s == nil {
		return "", invalid("Stack with id %s does not exist", form.Get("StackName"))
	}
	switch action {
	case "DescribeStacks":
		return e.describe(s), nil
	case "DescribeStackEvents":
		var b strings.Builder
		for _, ev := range slices.Backward(s.events) {
			b.WriteString("<member>" + element("LogicalResourceId", ev.logical) + element("PhysicalResourceId", ev.id) +
				element("ResourceStatus", ev.status) + element("ResourceStatusReason", ev.reason) + "</member>")
		}
		return "<StackEvents>" + b.String() + "</StackEvents>", nil
	case "DescribeStackResources":
		if s.resource == nil {
			return "<StackResources></StackResources>", nil
		}
		logical, _ := s.template.only()
		return "<StackResources><member>" + element("LogicalResourceId", logical) + element("PhysicalResourceId", s.resource.ID) + "</member></StackResources>", nil
	case "GetTemplate":
		return element("TemplateBody", s.text), nil
	case "DeleteStack":
		e.remove(s)
		return "", nil
	case "UpdateStack":
		return e.update(s, form)
	case "DetectStackResourceDrift":
		if e.NoDrift {
			break
		}
		return e.drift(s)
	case "CreateChangeSet":
		return e.createSet(s, form)
	case "DescribeChangeSet":
		set := s.sets[form.Get("ChangeSetName")]
		if set == nil {
			return "", &apiError{http.StatusNotFound, "ChangeSetNotFound", "ChangeSet [" + form.Get("ChangeSetName") + "] does not exist"}
		}
		return set.describe(s), nil
	case "ExecuteChangeSet":
		return e.execute(s, form.Get("ChangeSetName"))
	case "DeleteChangeSet":
		delete(s.sets, form.Get("ChangeSetName"))
		return "", nil
	}
	return "", invalid("Unknown action %s", action)
}

// handle is a type without an effect.
const handle = "AWS::CloudFormation::WaitConditionHandle"

// only returns the only resource that is not a handle.
func (t *template) only() (logical string, of string) {
	for name, r := range t.Resources {
		if r.Type != handle {
			return name, r.Type
		}
	}
	return "", ""
}

func parse(text string) (t template, problem *apiError) {
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return t, invalid("Template format error: JSON not well-formed")
	}
	var unknown []string
	for _, r := range t.Resources {
		if !strings.HasPrefix(r.Type, "AWS::Test::") && r.Type != handle {
			unknown = append(unknown, r.Type)
		}
	}
	if unknown != nil {
		slices.Sort(unknown)
		return t, invalid("Template format error: Unrecognized resource types: [%s]", strings.Join(unknown, ", "))
	}
	return t, nil
}

// members reads a list of pairs.
func members(form url.Values, list, key, value string) map[string]string {
	pairs := map[string]string{}
	for i := 1; ; i++ {
		prefix := list + ".member." + strconv.Itoa(i) + "."
		if !form.Has(prefix + key) {
			return pairs
		}
		pairs[form.Get(prefix+key)] = form.Get(prefix + value)
	}
}

func (e *Endpoint) find(name string) *stack {
	for _, s := range slices.Backward(e.stacks) {
		if s.id == name || s.name == name && s.status != "DELETE_COMPLETE" {
			return s
		}
	}
	return nil
}

func (e *Endpoint) create(form url.Values, t template) (string, *apiError) {
	name := form.Get("StackName")
	if e.find(name) != nil {
		return "", &apiError{http.StatusBadRequest, "AlreadyExistsException", "Stack [" + name + "] already exists"}
	}
	e.number++
	s := &stack{
		name: name, id: fmt.Sprintf("arn:aws:cloudformation:us-east-1:%s:stack/%s/%d", Account, name, e.number), template: t, text: form.Get("TemplateBody"),
		parameters: members(form, "Parameters", "ParameterKey", "ParameterValue"), tags: members(form, "Tags", "Key", "Value"), sets: map[string]*changeSet{},
	}
	e.stacks = append(e.stacks, s)
	s.note(s.name, s.id, "CREATE_IN_PROGRESS", "User Initiated")
	s.begin("CREATE_IN_PROGRESS", "CREATE_COMPLETE", e.Steps)
	if reason := e.make(s, t); reason != "" {
		logical, _ := t.only()
		s.note(logical, "", "CREATE_FAILED", reason)
		s.note(s.name, s.id, "ROLLBACK_IN_PROGRESS", "The following resource(s) failed to create: ["+logical+"]. Rollback requested by user.")
		s.next = "ROLLBACK_COMPLETE"
	}
	return element("StackId", s.id), nil
}

func (s *stack) note(logical, id, status, reason string) {
	s.events = append(s.events, event{logical, id, status, reason})
}

func (s *stack) begin(now, next string, steps int) { s.status, s.next, s.left = now, next, steps }

// properties returns the evaluated properties of the only resource.
func (s *stack) properties(t template) map[string]any {
	logical, _ := t.only()
	evaluated := map[string]any{}
	for name, v := range t.Resources[logical].Properties {
		evaluated[name] = s.evaluate(v)
	}
	return evaluated
}

func (s *stack) evaluate(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if name, ok := object["Ref"].(string); ok {
		return s.parameters[name]
	}
	return v
}

// make creates the resource of a stack and its outputs. It returns the reason for a failure.
func (e *Endpoint) make(s *stack, t template) string {
	_, kind := t.only()
	if kind == "" {
		s.template = t
		s.output()
		return ""
	}
	properties := s.properties(t)
	if reason, ok := properties["Fail"].(string); ok {
		return reason
	}
	s.template = t
	if properties["Empty"] != nil {
		s.outputs = nil
		return ""
	}
	e.number++
	id := fmt.Sprintf("thing-%d", e.number)
	if name, ok := properties["Name"].(string); ok {
		id = name
	}
	for _, other := range e.resources {
		if other.ID != id || other.Deleted {
			continue
		}
		if !e.Adopt {
			return id + " already exists"
		}
		other.Stack, s.resource = s.name, other
	}
	if s.resource == nil || s.resource.ID != id {
		s.resource = &Resource{Type: kind, ID: id, Stack: s.name}
		e.resources = append(e.resources, s.resource)
	}
	s.resource.Properties, s.resource.Tags = properties, s.tags
	s.output()
	return ""
}

// output evaluates the outputs.
func (s *stack) output() {
	s.outputs = map[string]string{}
	for name, o := range s.template.Outputs {
		s.outputs[name] = s.read(o.Value)
	}
}

func (s *stack) read(v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprint(v)
	}
	if join, ok := object["Fn::Join"].([]any); ok {
		return s.read(join[1])
	}
	if _, ok := object["Ref"]; ok {
		return s.resource.ID
	}
	switch name := object["Fn::GetAtt"].([]any)[1]; name {
	case "Arn":
		return "arn:aws:test:::" + s.resource.ID
	case "NameServers":
		return "a,b"
	default:
		return fmt.Sprint(s.resource.Properties[fmt.Sprint(name)])
	}
}

func (e *Endpoint) describe(s *stack) string {
	if strings.HasSuffix(s.status, "_IN_PROGRESS") {
		if s.left > 0 {
			s.left--
		} else {
			s.status = s.next
		}
	}
	var b strings.Builder
	b.WriteString("<Stacks><member>" + element("StackName", s.name) + element("StackId", s.id) + element("StackStatus", s.status) + element("StackStatusReason", s.reason))
	b.WriteString("<Tags>")
	for key, text := range s.tags {
		b.WriteString("<member>" + element("Key", key) + element("Value", text) + "</member>")
	}
	b.WriteString("</Tags><Outputs>")
	if strings.HasSuffix(s.status, "_COMPLETE") {
		for key, text := range s.outputs {
			b.WriteString("<member>" + element("OutputKey", key) + element("OutputValue", text) + "</member>")
		}
	}
	b.WriteString("</Outputs></member></Stacks>")
	return b.String()
}

func (e *Endpoint) remove(s *stack) {
	s.note(s.name, s.id, "DELETE_IN_PROGRESS", "User Initiated")
	s.begin("DELETE_IN_PROGRESS", "DELETE_COMPLETE", e.Steps)
	if s.resource == nil || s.resource.Stack != s.name {
		return
	}
	logical, _ := s.template.only()
	if reason, ok := s.resource.Properties["Keep"].(string); ok {
		s.note(logical, s.resource.ID, "DELETE_FAILED", reason)
		s.next = "DELETE_FAILED"
		return
	}
	switch s.template.Resources[logical].DeletionPolicy {
	case "Retain", "RetainExceptOnCreate":
		s.resource.Retained = true
	default:
		s.resource.Deleted = true
	}
}

func (e *Endpoint) update(s *stack, form url.Values) (string, *apiError) {
	t, problem := parse(form.Get("TemplateBody"))
	if problem != nil {
		return "", problem
	}
	if strings.HasSuffix(s.status, "_IN_PROGRESS") {
		return "", invalid("Stack:%s is in %s state and can not be updated.", s.id, s.status)
	}
	before := *s
	for key, text := range members(form, "Parameters", "ParameterKey", "ParameterValue") {
		if text != "" {
			s.parameters[key] = text
		}
	}
	if form.Get("TemplateBody") == s.text && fmt.Sprint(before.parameters) == fmt.Sprint(s.parameters) {
		return "", invalid("No updates are to be performed.")
	}
	if tags := members(form, "Tags", "Key", "Value"); len(tags) > 0 {
		s.tags = tags
	}
	s.note(s.name, s.id, "UPDATE_IN_PROGRESS", "User Initiated")
	s.begin("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", e.Steps)
	logical, kind := t.only()
	properties := s.properties(t)
	if s.resource == nil { // the update adds it
		s.text = form.Get("TemplateBody")
		if reason := e.make(s, t); reason != "" {
			s.note(logical, "", "CREATE_FAILED", reason)
			s.next = "UPDATE_ROLLBACK_COMPLETE"
		}
		return element("StackId", s.id), nil
	}
	if reason, ok := properties["Fail"].(string); ok {
		s.note(logical, s.resource.ID, "UPDATE_FAILED", reason)
		s.note(s.name, s.id, "UPDATE_ROLLBACK_IN_PROGRESS", "The following resource(s) failed to update: ["+logical+"].")
		s.next, s.parameters, s.tags = "UPDATE_ROLLBACK_COMPLETE", before.parameters, before.tags
		return element("StackId", s.id), nil
	}
	s.template, s.text = t, form.Get("TemplateBody")
	if s.resource.Properties["Name"] != properties["Name"] {
		old := s.resource
		if t.Resources[logical].UpdateReplacePolicy == "Retain" {
			old.Retained = true
		} else {
			old.Deleted = true
		}
		e.number++
		s.resource = &Resource{Type: kind, ID: fmt.Sprintf("thing-%d", e.number), Stack: s.name}
		if name, ok := properties["Name"].(string); ok {
			s.resource.ID = name
		}
		e.resources = append(e.resources, s.resource)
	}
	s.resource.Properties, s.resource.Tags = properties, s.tags
	s.output()
	return element("StackId", s.id), nil
}

func (e *Endpoint) createSet(s *stack, form url.Values) (string, *apiError) {
	t, problem := parse(form.Get("TemplateBody"))
	if problem != nil {
		return "", problem
	}
	name := form.Get("ChangeSetName")
	if s.sets[name] != nil {
		return "", &apiError{http.StatusBadRequest, "AlreadyExistsException", "ChangeSet " + name + " already exists"}
	}
	if form.Get("ChangeSetType") == "IMPORT" {
		if e.NoImport {
			return "", invalid("Unknown action CreateChangeSet with the type IMPORT")
		}
		return e.importSet(s, form, t)
	}
	other := *s
	other.parameters = members(form, "Parameters", "ParameterKey", "ParameterValue")
	is, will := s.resource.Properties, other.properties(t)
	set := &changeSet{status: "CREATE_COMPLETE", action: "Modify", replacement: "False"}
	switch {
	case fmt.Sprint(is) == fmt.Sprint(will):
		set.action = ""
	case is["Name"] != will["Name"]:
		set.replacement, set.property = "True", "Name"
	}
	switch {
	case e.Blind:
		set.replacement = ""
	case e.Conditional && set.replacement == "True":
		set.replacement, set.property = "Conditional", ""
	}
	s.sets[name] = set
	return element("Id", "arn:aws:cloudformation:us-east-1:"+Account+":changeSet/"+name+"/1") + element("StackId", s.id), nil
}

func (c *changeSet) describe(s *stack) string {
	if c.execution != "" {
		return c.describeImport()
	}
	if c.action == "" {
		return element("Status", c.status) + "<Changes></Changes>"
	}
	logical, _ := s.template.only()
	details := ""
	if c.property != "" {
		details = "<Details><member><Target>" + element("Attribute", "Properties") + element("Name", c.property) + element("RequiresRecreation", "Always") + "</Target></member></Details>"
	}
	replacement := ""
	if c.replacement != "" {
		replacement = element("Replacement", c.replacement)
	}
	return element("Status", c.status) + "<Changes><member>" + element("Type", "Resource") + "<ResourceChange>" + element("Action", c.action) +
		element("LogicalResourceId", logical) + replacement + details + "</ResourceChange></member></Changes>"
}
