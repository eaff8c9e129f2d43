package forwardtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// summarize reports the identifiers of the types in a template.
func (e *Endpoint) summarize(form url.Values) (string, *apiError) {
	t, problem := parse(form.Get("TemplateBody"))
	if problem != nil {
		return "", problem
	}
	var types []string
	for _, r := range t.Resources {
		if r.Type != handle && !slices.Contains(types, r.Type) {
			types = append(types, r.Type)
		}
	}
	slices.Sort(types)
	list := ""
	for _, name := range types {
		list += "<member>" + element("ResourceType", name) + "<ResourceIdentifiers><member>Name</member></ResourceIdentifiers></member>"
	}
	return "<ResourceIdentifierSummaries>" + list + "</ResourceIdentifierSummaries>", nil
}

// importSet creates a change set of type IMPORT.
func (e *Endpoint) importSet(s *stack, form url.Values, t template) (string, *apiError) {
	logical, _ := t.only()
	tags := members(form, "Tags", "Key", "Value")
	switch {
	case strings.HasSuffix(s.status, "_IN_PROGRESS"):
		return "", invalid("Stack:%s is in %s state and can not be updated.", s.id, s.status)
	case len(t.Outputs) > 0:
		return "", invalid("As part of the import operation, you cannot modify or add [Outputs]")
	case len(tags) > 0 && !sameTags(tags, s.tags):
		return "", invalid("As part of the import operation, you cannot modify or add [Tags]")
	case s.resource != nil:
		return "", invalid("The template should contain at least one new resource to import.")
	case t.Resources[logical].DeletionPolicy == "":
		return "", invalid("The following resources to import [%s] must have DeletionPolicy attribute specified in the template.", logical)
	}
	set := &changeSet{
		status: "CREATE_COMPLETE", execution: "AVAILABLE", action: "Import", template: t, text: form.Get("TemplateBody"),
		id: form.Get("ResourcesToImport.member.1.ResourceIdentifier.entry.1.value"),
	}
	there := e.live(set.id)
	switch {
	case e.Deaf:
		set.action = "Add"
	case there == nil:
		set.status, set.execution, set.reason = "FAILED", "UNAVAILABLE", "Resource of type 'AWS::Test::Thing' with identifier '"+set.id+"' was not found."
	case e.holder(there) != nil:
		set.status, set.execution, set.reason = "FAILED", "UNAVAILABLE", set.id+" already exists in stack "+e.holder(there).id
	}
	name := form.Get("ChangeSetName")
	s.sets[name] = set
	return element("Id", "arn:aws:cloudformation:us-east-1:"+Account+":changeSet/"+name+"/1") + element("StackId", s.id), nil
}

func sameTags(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, text := range a {
		if b[key] != text {
			return false
		}
	}
	return true
}

// live returns the resource with an ID, or nil.
func (e *Endpoint) live(id string) *Resource {
	for _, r := range e.resources {
		if r.ID == id && !r.Deleted {
			return r
		}
	}
	return nil
}

// holder returns the stack that has a resource, or nil.
func (e *Endpoint) holder(r *Resource) *stack {
	for _, s := range e.stacks {
		if s.resource == r && s.status != "DELETE_COMPLETE" && s.next != "DELETE_COMPLETE" {
			return s
		}
	}
	return nil
}

func (c *changeSet) describeImport() string {
	body := element("Status", c.status) + element("StatusReason", c.reason) + element("ExecutionStatus", c.execution)
	if c.status == "FAILED" {
		return body + "<Changes></Changes>"
	}
	logical, kind := c.template.only()
	return body + "<Changes><member>" + element("Type", "Resource") + "<ResourceChange>" + element("Action", c.action) +
		element("LogicalResourceId", logical) + element("ResourceType", kind) + "</ResourceChange></member></Changes>"
}

// execute executes a change set of type IMPORT. A resource whose properties have Refuse cannot be read, so its import is
// rolled back.
func (e *Endpoint) execute(s *stack, name string) (string, *apiError) {
	set := s.sets[name]
	switch {
	case set == nil:
		return "", &apiError{http.StatusNotFound, "ChangeSetNotFound", "ChangeSet [" + name + "] does not exist"}
	case set.execution != "AVAILABLE":
		return "", &apiError{http.StatusBadRequest, "InvalidChangeSetStatus", "ChangeSet [" + name + "] is in " + set.execution + " status"}
	}
	set.execution = "EXECUTE_COMPLETE"
	if set.action == "Add" {
		s.begin("UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", e.Steps)
		s.text = set.text
		e.make(s, set.template)
		return "", nil
	}
	logical, _ := set.template.only()
	s.note(s.name, s.id, "IMPORT_IN_PROGRESS", "User Initiated")
	there := e.live(set.id)
	if reason, ok := set.template.Resources[logical].Properties["Refuse"].(string); ok {
		s.note(logical, set.id, "IMPORT_FAILED", reason)
		s.begin("IMPORT_IN_PROGRESS", "IMPORT_ROLLBACK_COMPLETE", e.Steps)
		return "", nil
	}
	s.begin("IMPORT_IN_PROGRESS", "IMPORT_COMPLETE", e.Steps)
	s.template, s.text = set.template, set.text
	if !e.Hollow {
		there.Stack, there.Tags, there.Retained, s.resource = s.name, s.tags, false, there
	}
	return "", nil
}
