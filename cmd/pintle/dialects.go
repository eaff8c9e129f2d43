package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// The variables of Alibaba Cloud's tools. Source: Alibaba Cloud CLI and SDKs, environment variables.
const (
	aliyunKeyID     = "ALIBABA_CLOUD_ACCESS_KEY_ID"
	aliyunKeySecret = "ALIBABA_CLOUD_ACCESS_KEY_SECRET"
	aliyunToken     = "ALIBABA_CLOUD_SECURITY_TOKEN"
	aliyunRegion    = "ALIBABA_CLOUD_REGION_ID"
	// rosEndpoint is in the manner of those by which delivery finds other services; only scripts reads it.
	rosEndpoint = "ALIBABA_CLOUD_ROS_ENDPOINT"
)

// defaultROSRegion is where stacks of ROS are of which nothing else is said.
const defaultROSRegion = "cn-hangzhou"

// dialectClient is the client of a session for the stacks of one dialect.
type dialectClient struct {
	stacks   stacks.Service
	operator *operatorClient
}

// speak has the session talk about stacks of a dialect from now on.
func (s *session) speak(l template.Language) {
	s.language = l
	s.stacks, s.operator = s.clients[l].stacks, s.clients[l].operator
}

// languages are the dialects, the usual one first.
var languages = []template.Language{template.CloudFormation, template.ROS}

// find selects the dialect of the stack with a name or ID: that of the flag, or the one in which such a stack exists.
// If both have one, the template of the project decides. If neither has one, the next lookup reports it.
func (s *session) find(ctx context.Context, p place, name string) error {
	given, ok, err := parseDialect(s.connection.dialect)
	switch {
	case err != nil:
		return err
	case ok:
		s.speak(given)
		return nil
	case strings.HasPrefix(name, "arn:"):
		s.speak(template.CloudFormation)
		return nil
	case stacks.IsROSID(name), strings.Contains(name, "_"):
		s.speak(template.ROS)
		return nil
	}
	meant, known := projectLanguage(p, name)
	s.speak(meant)
	var there []template.Language
	for _, l := range languages {
		_, err := s.clients[l].stacks.Stack(ctx, name)
		switch {
		case err == nil:
			there = append(there, l)
		case errors.Is(err, stacks.ErrNone), l == template.ROS && errors.Is(err, rosclient.ErrForeign):
		default:
			return err
		}
	}
	switch {
	case len(there) == 0 || slices.Contains(there, meant) && (known || len(there) == 1):
	case len(there) == 1:
		s.speak(there[0])
	default:
		return usagef("choose one with --dialect cloudformation or --dialect ros", "there are two stacks named %s, one in each dialect", name)
	}
	return nil
}

// projectLanguage returns the language of the project's template, if the stack of a name is the project's; false if that is not known.
func projectLanguage(p place, name string) (template.Language, bool) {
	if p.project == nil {
		return template.CloudFormation, false
	}
	if own, err := p.stack(""); err != nil || own != name {
		return template.CloudFormation, false
	}
	path := p.project.Template
	if path == "" {
		var err error
		if path, err = findTemplate(p.dir); err != nil {
			return template.CloudFormation, false
		}
	}
	text, err := readFile(path, maxROSTemplate)
	return template.LanguageOf(string(text)), err == nil
}

// parseDialect reads the value of --dialect. It returns false if it is empty.
func parseDialect(given string) (template.Language, bool, error) {
	switch given {
	case "":
		return 0, false, nil
	case "cloudformation":
		return template.CloudFormation, true, nil
	case "ros":
		return template.ROS, true, nil
	}
	return 0, false, usagef("use cloudformation or ros", "--dialect %q is unknown", given)
}

// checkName refuses names that a dialect does not have.
func checkName(l template.Language, name string) error {
	if l == template.CloudFormation && !cloudFormationName.MatchString(name) {
		return usagef("set it with --stack", "%q is not a valid stack name: "+
			"use a letter followed by letters, digits and hyphens, at most 128", name)
	}
	return nil
}

// checkDialect refuses flags that do not fit the language of the template.
func (w desired) checkDialect(p place) error {
	given, ok, err := parseDialect(p.connection.dialect)
	switch {
	case err != nil:
		return err
	case ok && given != w.language:
		return usagef("omit it: the template's ROSTemplateFormatVersion decides", "--dialect %s: the template is for %s", given, w.language)
	case w.language == template.CloudFormation && w.replace:
		return usagef("leave it out", "--replace is for ROS stacks: CloudFormation always replaces resources that cannot be updated")
	}
	return checkName(w.language, w.stack)
}

// readAs parses a template like one that a client submits, without limits.
func readAs(l template.Language, text string) (*template.Template, error) {
	if l == template.ROS {
		return template.ParseROS(text, template.Unlimited())
	}
	return template.ParseSubmitted(text, template.Unlimited())
}
