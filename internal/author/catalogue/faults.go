package catalogue

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/author/diagnosis"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
	"github.com/pintle-dev/pintle/wire"
)

// Fault is the cause of a resource's failure.
type Fault struct {
	Code string
	// Who says in a few words which side has to act.
	Who string
	// Stable is the value of "fault" in JSON documents. Programs read it, so it never changes.
	Stable string

	title, cause, remedy string
	related              []string
}

// The faults, but for those of templates.
var (
	answered = Fault{
		"answered-failed", "provider or its properties: the provider answered FAILED",
		"the provider's, or that of what the template gave it: it answered FAILED",
		"The provider answered FAILED.",
		"The provider rejected the properties, or an operation that it tried failed. The reason is the provider's own text.",
		"Read the reason and the log. Fix the properties in the template, or the handler, and deploy again.",
		[]string{"create-refused", "answer-reason"},
	}
	invalid = Fault{
		"answer-invalid", "provider: its answer breaks the protocol", "the provider's: it answered, but not as the protocol has it",
		"The provider's answer breaks the protocol.",
		"The answer is not valid JSON, lacks a field, is longer than 4,096 bytes, or has a physical ID that is not allowed.",
		`Fix the answer as the reason says. "pintle check" tests the handler against all rules of answers.`,
		[]string{"answer-json", "answer-status", "answer-too-long", "answer-types", "id-missing"},
	}
	errored = Fault{
		"handler-error", "provider: its handler failed before it answered", "the provider's: its handler failed before it answered",
		"The handler ended with an error before it answered.",
		"The handler raised an exception or returned an error, and nothing sent an answer to the response URL.",
		"Read the log, fix the error, and answer FAILED with the error's text when something goes wrong.",
		[]string{"crash"},
	}
	died = Fault{
		"process-ended", "provider: its process ended before it answered", "the provider's: its process ended before it answered",
		"The provider's process ended before it answered.",
		"The process called exit, ran out of memory, or was stopped by a signal while it handled the request.",
		"Read the log. Remove calls of exit from the handler, and catch its errors.",
		[]string{"crash"},
	}
	killed = Fault{
		"handler-timeout", "provider: its handler was still running at its timeout",
		"the provider's: its handler was still running at its timeout",
		"The handler was still running at its timeout, and its process was stopped.",
		"The work takes longer than the function or provider may run, or the handler waits for something that does not come.",
		"Raise the timeout of the function or provider, or bound the handler's waits by the time that is left.",
		[]string{"hang"},
	}
	unstarted = Fault{
		"not-started", "provider: it could not be started", "the provider's: it could not be started",
		"The provider could not be started.",
		"The program does not build, its file does not exist, or a module or interpreter that it needs is not installed.",
		"Read the log, fix the target in pintle.yaml or install what is missing, and deploy again.",
		nil,
	}
	silent = Fault{
		"no-answer", "provider: it accepted the request and did not answer in time",
		"the provider's: it took the request and did not answer in time",
		"The provider accepted the request and did not answer in time.",
		"No answer reached the response URL within the timeout of the resource. The handler may have failed before it answered, or the " +
			"answer may have been rejected.",
		`Read the provider's log, and send an answer on every path. "pintle respond" answers for a provider that no longer can.`,
		[]string{"silence", "gives-up", "answer-url"},
	}
	returned = Fault{
		"returned-without-answer", "provider: its handler returned and never answered",
		"the provider's: its handler returned and never answered",
		"The handler returned and never answered.",
		"The handler ended without an error on a path that sends no answer, or its answer was rejected.",
		"Send an answer on every path of the handler, before it returns.",
		[]string{"silence", "answer-after-return"},
	}
	signals = Fault{
		"signal-failed", "signals: they reported a failure, or too few successes in time",
		"of those who signal it: they told of a failure, or of too few successes in time",
		"Signals reported a failure, or too few successes in time.",
		"A program that signals the wait condition or the creation policy sent FAILURE, or did not send enough signals before the timeout.",
		"Read the log of the program that signals. Check the URL or resource that it signals, the Count and the Timeout.",
		nil,
	}
	tokenChanged = Fault{
		"service-token-changed", byTemplate, stableTemplate,
		"An update changes the service token of a resource.",
		"A resource stays with the provider that created it, so CloudFormation and ROS reject the change and call no provider.",
		"Restore the ServiceToken, or give the resource another logical ID so that it is created by the new provider and the old one " +
			"deletes it.",
		nil,
	}
	notUpdatable = Fault{
		"update-not-supported", byTemplate, stableTemplate,
		"An update changes something that cannot be changed.",
		"The resource type supports no updates, or not of this property.",
		"Restore the property, or give the resource another logical ID so that it is replaced.",
		nil,
	}
	cloudType = Fault{
		"native-failed", "template or existing resources: Pintle implements the type itself",
		"of what the template asks for, or of what is there already: the type is this machine's own",
		"A resource of a type that Pintle implements itself failed.",
		"The properties ask for something that is not possible, or a resource of the same name already exists.",
		"Fix the properties, or delete the existing resource.",
		nil,
	}
	nested = Fault{
		"nested-failed", "nested stack: see its events", "of something in the nested stack: its own events say more",
		"A nested stack failed.",
		"A resource of the nested stack failed. The events of the nested stack have its reason.",
		`Run "pintle list" to find the nested stack, and "pintle events" with its name.`,
		nil,
	}
	nestedRejected = Fault{
		"nested-rejected", "template: a nested stack did not start", "the template's: a nested stack did not begin",
		"A nested stack did not start.",
		"Its TemplateURL is not a URL that Pintle can fetch, or its template or parameters were rejected. It has no events.",
		"Fix TemplateURL, the Parameters of the resource, or the nested template, as the reason says.",
		[]string{"nested-failed"},
	}
	undelivered = Fault{
		"not-delivered", "delivery: the request did not reach a provider", "delivery: the request did not get to a provider",
		"The request did not reach a provider.",
		"No provider has the name in the ServiceToken, a URL does not answer, or AWS or Alibaba Cloud rejected the call.",
		"Check the ServiceToken, the providers in pintle.yaml, and that a remote provider is running and may be called.",
		[]string{"delivery-refused"},
	}
)

// Faults returns all faults, but for those of templates: these have the codes of the rules of validate.
func Faults() []Fault {
	return []Fault{
		answered, invalid, errored, died, killed, unstarted, silent, returned, signals, tokenChanged, notUpdatable, cloudType, nested,
		nestedRejected, undelivered,
	}
}

// The fault of a template, whose code is that of a rule.
const (
	byTemplate     = "template"
	stableTemplate = "the template's"
)

// InTemplate returns the fault of a template with an error. Its code is that of the error's rule.
func InTemplate(e *template.Error) Fault {
	return Fault{Code: diagnosis.RuleOf(e).ID, Who: byTemplate, Stable: stableTemplate}
}

func faultEntries() (list []Entry) {
	for _, f := range Faults() {
		list = append(list, Entry{Code: f.Code, Group: Failures, Title: f.title, Cause: f.cause, Remedy: f.remedy, Related: f.related})
	}
	return list
}

// Of returns the fault for which a resource of a type failed, by the reason in its event. The texts are those of packages wire, engine
// and native, and of the outcomes of package delivery.
func Of(resourceType, reason string) Fault {
	first, _, _ := strings.Cut(reason, "\n")
	f := of(strings.TrimSpace(first))
	switch {
	case f.Code != undelivered.Code:
		return f
	case slices.Contains(stackTypes, resourceType):
		return nestedRejected
	case native.InCloud(resourceType):
		return cloudType
	}
	return f
}

// stackTypes are the types of nested stacks.
var stackTypes = []string{"AWS::CloudFormation::Stack", "ALIYUN::ROS::Stack"}

func of(first string) Fault {
	switch {
	case strings.HasPrefix(first, "Received response status [FAILED]"):
		return answered
	case strings.HasPrefix(first, statusreason.Returned):
		return returned
	case strings.HasPrefix(first, "CloudFormation did not receive a response"):
		return silent
	case hasPrefix(first, wire.TextTooLong, wire.TextInvalidPhysicalID, "Invalid Response object"):
		return invalid
	case strings.HasPrefix(first, "provider "):
		_, what, _ := strings.Cut(first, ": ")
		switch {
		case hasPrefix(what, "it could not be started", "target "):
			return unstarted
		case strings.HasPrefix(what, "the handler reported an error"):
			return errored
		case strings.HasPrefix(what, "the handler was still running"):
			return killed
		}
		return died
	case rosReason.MatchString(first):
		found := rosReason.FindStringSubmatch(first)
		return ofROS(found[1], first[len(found[0]):])
	case strings.HasPrefix(first, "Embedded stack "):
		return nested
	case hasPrefix(first, "WaitCondition ", "Received FAILURE signal", "Failed to receive "):
		return signals
	case strings.HasPrefix(first, statusreason.TokenChanged):
		return tokenChanged
	case hasPrefix(first, "Update to resource type", "Updates are not allowed for property"):
		return notUpdatable
	case hasPrefix(first, "CustomResource attribute error", "Value of property", "Template ", "Unable to",
		"Encountered unsupported property", "Property validation failure", "CreationPolicy", "A WaitCondition with", "Resource type ",
		"[Error] "):
		return InTemplate(&template.Error{Message: first})
	}
	return undelivered
}

// rosReason is the form of the reasons of failures in ROS.
var rosReason = regexp.MustCompile(`^([A-Z][A-Za-z]+): resources\.[A-Za-z0-9_\[\]]+: `)

// ofROS is [Of] for the class of a failure in ROS. The classes are those of package engine.
func ofROS(class, text string) Fault {
	switch class {
	case "CustomResourceFailed":
		return answered
	case "InvalidResponse", "PhysicalResourceIdChanged":
		return invalid
	case "Timeout":
		return silent
	case "NoResponse":
		return returned
	case "DeliveryFailed":
		return undelivered
	case "ResourceFailed":
		return cloudType
	}
	if strings.HasPrefix(text, "ServiceToken cannot be updated") {
		return tokenChanged
	}
	return InTemplate(&template.Error{Code: class, Message: text})
}

func hasPrefix(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}
