package forward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/awscall"
)

// How long the knowledge about types is used.
const (
	knownFor   = 10 * time.Minute
	problemFor = 2 * time.Second // an endpoint may just be starting
)

// checked is the knowledge of which types the endpoints have.
type checked struct {
	mu    sync.Mutex
	types map[[2]string]knowledge // by region and type
}

// knowledge is the problem with a type, "" for none.
type knowledge struct {
	problem string
	until   time.Time
}

// Checked implements [native.Forward]. Only the account of the server may cause calls with its credentials, unless they
// are allowed.
func (f *Forwarder) Checked(account, region string, types []string) (problem string, known bool) {
	if err := f.config.Allowed(account, "cloudformation:ValidateTemplate"); err != nil {
		return f.unasked(types, err.Error()), true
	}
	if account != f.config.Account {
		return f.unasked(types, fmt.Sprintf("The account there is %s, and the stack is in account %s", f.config.Account, account)), true
	}
	f.checked.mu.Lock()
	defer f.checked.mu.Unlock()
	var problems []string
	for _, name := range types {
		k, ok := f.checked.types[[2]string{region, name}]
		if !ok || time.Now().After(k.until) {
			return "", false
		}
		if k.problem != "" && !slices.Contains(problems, k.problem) { // several types may share it
			problems = append(problems, k.problem)
		}
	}
	return strings.Join(problems, " "), true
}

// unasked returns the problem that an endpoint may not be asked for types.
func (f *Forwarder) unasked(types []string, reason string) string {
	host := "An endpoint"
	if t, ok := f.Type(types[0]).(*forwarded); ok {
		host = t.endpoint.host
	}
	return fmt.Sprintf("%s was not asked for these resource types: [%s]. %s.", host, strings.Join(types, ", "), strings.TrimSuffix(reason, "."))
}

// Check implements [native.Forward]. It validates one template with all types of an endpoint, and if that fails one
// template for each type.
func (f *Forwarder) Check(ctx context.Context, region string, types []string) {
	of := f.byEndpoint(types)
	asked, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	for e, names := range of {
		e.recognize(asked) // a Reader does not call Verify
		err := e.validate(asked, region, names)
		if err == nil {
			f.learn(region, names, "", knownFor)
			continue
		}
		if _, refused := errors.AsType[*refusedError](err); !refused && ctx.Err() == nil { // other templates would fare no better
			f.learn(region, names, fmt.Sprintf("%s did not check these resource types: [%s]. %s.", e.host, strings.Join(names, ", "),
				strings.TrimSuffix(err.Error(), ".")), problemFor)
			continue
		}
		var lacks []string
		other := ""
		for _, name := range names {
			err := e.validate(asked, region, []string{name})
			switch {
			case err == nil:
				f.learn(region, []string{name}, "", knownFor)
			case strings.Contains(err.Error(), "Unrecognized resource type"):
				lacks = append(lacks, name)
			default:
				lacks, other = append(lacks, name), err.Error()
			}
			if ctx.Err() != nil {
				return
			}
		}
		problem := fmt.Sprintf("%s does not provide these resource types: [%s].", e.host, strings.Join(lacks, ", "))
		if other != "" {
			problem = fmt.Sprintf("%s does not accept these resource types: [%s]. %s.", e.host, strings.Join(lacks, ", "), strings.TrimSuffix(other, "."))
		}
		f.learn(region, lacks, problem, problemFor)
	}
}

// byEndpoint groups the forwarded types among types.
func (f *Forwarder) byEndpoint(types []string) map[*endpoint][]string {
	of := map[*endpoint][]string{}
	for _, name := range types {
		if t, ok := f.Type(name).(*forwarded); ok {
			of[t.endpoint] = append(of[t.endpoint], name)
		}
	}
	return of
}

func (f *Forwarder) learn(region string, types []string, problem string, life time.Duration) {
	f.checked.mu.Lock()
	defer f.checked.mu.Unlock()
	if f.checked.types == nil {
		f.checked.types = map[[2]string]knowledge{}
	}
	for _, name := range types {
		f.checked.types[[2]string{region, name}] = knowledge{problem, time.Now().Add(life)}
	}
}

// maxCheck bounds the time to ask all endpoints, because a client waits for it.
const maxCheck = 20 * time.Second

// validate asks the endpoint for a template with one resource of each type.
func (e *endpoint) validate(ctx context.Context, region string, types []string) error {
	body, err := oneOfEach(types)
	if err != nil {
		return err
	}
	params := map[string]any{"TemplateBody": body}
	if !e.moto.Load() {
		_, err = e.call(ctx, region, cloudFormation, "ValidateTemplate", params)
		return err
	}
	// Moto answers 500 unless cfn-lint is installed. A type that it lacks then fails when it is created. With cfn-lint, it
	// complains about the properties that the template leaves out, and so knows the type.
	c, err := e.client(ctx, region)
	if err != nil {
		return err
	}
	_, err = c.Call(ctx, cloudFormation, "ValidateTemplate", params)
	if answer, ok := errors.AsType[*awscall.Error](err); ok && answer.Status < http.StatusInternalServerError &&
		!strings.Contains(answer.Message, "is a required property") {
		return &refusedError{host: e.host, code: answer.Code, message: answer.Message}
	}
	return nil
}

// oneOfEach returns a template with one resource of each type.
func oneOfEach(types []string) (string, error) {
	resources := map[string]any{}
	for i, name := range types {
		resources["R"+strconv.Itoa(i)] = map[string]any{"Type": name}
	}
	body, err := json.Marshal(map[string]any{"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources})
	return string(body), err
}
