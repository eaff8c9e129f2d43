package forward_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// A failed update that removed the DeletionPolicy leaves the stack at the endpoint with it. The clean-up of a later
// replacement deletes the resource nevertheless.
func TestPolicyAfterFailedUpdate(t *testing.T) {
	const retain = `"DeletionPolicy": "Retain"`
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a", "Size": 1`, retain)})), "CREATE_COMPLETE")
	w.wantStatus("s", w.update("s", template(map[string]string{"A": thing(`"Name": "a", "Fail": "no"`)})), "UPDATE_ROLLBACK_COMPLETE")
	w.wantStatus("s", w.update("s", template(map[string]string{"A": thing(`"Name": "b", "Size": 1`, retain)})), "UPDATE_COMPLETE")
	w.wantLive("b")
}

// An inner stack that adopted the resource of another one never deletes it, at whatever step its Create fails.
func TestAdoptedAndFailed(t *testing.T) {
	other := template(map[string]string{"A": thing(`"Name": "a"`)})
	t.Run("resource unknown", func(t *testing.T) {
		w := newWorld(t)
		w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.Adopt = true })
		w.wantStatus("s", w.create("s", other), "CREATE_COMPLETE")
		w.endpoint.Configure(func(e *forwardtest.Endpoint) {
			e.Fault = func(action string, _ int) forwardtest.Fault {
				if action == "DescribeStackResources" {
					return forwardtest.Break
				}
				return forwardtest.None
			}
		})
		w.wantStatus("t", w.create("t", other), "ROLLBACK_FAILED")
		w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.Fault = nil })
		w.wantStatus("t", w.delete("t"), "DELETE_COMPLETE")
		w.wantLive("a")
	})
	t.Run("owner unknown", func(t *testing.T) {
		w := newWorld(t)
		w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.Adopt = true })
		w.wantStatus("s", w.create("s", other), "CREATE_COMPLETE")
		down := false
		w.endpoint.Configure(func(e *forwardtest.Endpoint) {
			e.Fault = func(action string, _ int) forwardtest.Fault {
				if action == "DescribeStackResources" {
					down = true
				}
				if down && action == "DescribeStacks" {
					return forwardtest.Break
				}
				return forwardtest.None
			}
		})
		status := w.create("t", other)
		w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.Fault = nil })
		if status == "ROLLBACK_FAILED" {
			status = w.delete("t")
		}
		t.Log(status, strings.Join(w.events("t"), "\n"))
		w.wantLive("a")
	})
}

// Without the flag, no request of a forwarded resource is served, even if Pintle would record the type.
func TestFlagRemovedAndRecorded(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a", "Size": 1`)})), "CREATE_COMPLETE")
	rules := w.config.Rules
	w.config.Rules = nil
	w.open()
	var err error
	w.engine, err = engine.Open(t.Context(), engine.Config{
		Store: w.store, Alone: true, Native: w.types, UnknownTypes: engine.UnknownRecorded,
		Dispatch: func(ready []store.Request) { w.inbox = append(w.inbox, ready...) },
	})
	w.must(err)
	_, err = w.engine.Update(t.Context(), engine.UpdateStack{Stack: w.ref("s"), Template: template(map[string]string{"A": thing(`"Name": "a", "Size": 2`)})})
	w.must(err)
	if len(w.inbox) != 1 {
		t.Fatalf("%d requests", len(w.inbox))
	}
	if result, err := w.types.Serve(t.Context(), &w.inbox[0]); err == nil {
		t.Errorf("result %+v", result)
	}
	w.config.Rules, w.inbox = rules, nil
	w.open()
	w.serveAll("s")
	t.Log(strings.Join(w.events("s"), "\n"))
}

// A replacement that can be neither created nor deleted is found by the clean-up.
func TestReplacementLeft(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)})), "CREATE_COMPLETE")
	w.endpoint.Configure(func(e *forwardtest.Endpoint) {
		e.Fault = func(action string, _ int) forwardtest.Fault {
			if action == "DescribeStackResources" || action == "DeleteStack" {
				return forwardtest.Break
			}
			return forwardtest.None
		}
	})
	_, err := w.engine.Update(t.Context(), engine.UpdateStack{Stack: w.ref("s"), Template: template(map[string]string{"A": thing(`"Name": "b"`)})})
	w.must(err)
	r := w.inbox[0]
	w.inbox = w.inbox[1:]
	result, err := w.serve(&r)
	if err == nil {
		t.Fatalf("the replacement was created: %+v", result)
	}
	w.must(w.engine.Report(t.Context(), r.ID, engine.Outcome{Kind: engine.Provided, Result: result, Delivered: true, Text: err.Error()}))
	w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.Fault = nil })
	w.wantStatus("s", w.serveAll("s"), "UPDATE_ROLLBACK_COMPLETE")
	w.wantLive("a")
	w.wantRows(2)
}

// An endpoint that is down is asked once for all types, because a client waits for the answer.
func TestCheckDown(t *testing.T) {
	w := newWorld(t)
	w.config.Rules = []forward.Rule{{Types: []string{"AWS::Test::*"}, Endpoint: w.endpoint.URL}}
	w.config.RetryFor = time.Nanosecond // a call is tried twice, however fast
	f, err := forward.New(w.config)
	w.must(err)
	w.endpoint.Configure(func(e *forwardtest.Endpoint) {
		e.Fault = func(string, int) forwardtest.Fault { return forwardtest.Break }
	})
	types := []string{"AWS::Test::A", "AWS::Test::B", "AWS::Test::C", "AWS::Test::D"}
	f.Check(t.Context(), region, types)
	problem, known := f.Checked(w.account, region, types)
	if !known || !strings.Contains(problem, "did not check these resource types: [AWS::Test::A, AWS::Test::B, AWS::Test::C, AWS::Test::D]. ") {
		t.Errorf("problem %q, known %t", problem, known)
	}
	if n := w.endpoint.Calls("ValidateTemplate"); n > 2 {
		t.Errorf("%d calls", n)
	}
}

// The rows of a resource at an endpoint that is no longer configured survive a resource with the same ID at the other
// endpoint, so that the first one is not forgotten.
func TestSameIDElsewhere(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)})), "CREATE_COMPLETE")
	rules := w.config.Rules
	other := forwardtest.Start(t)
	w.config.Rules = []forward.Rule{{Types: []string{"AWS::Test::Thing"}, Endpoint: other.URL}}
	w.open()
	w.wantStatus("t", w.create("t", template(map[string]string{"A": thing(`"Name": "a"`)})), "CREATE_COMPLETE")
	w.wantStatus("s", w.delete("s"), "DELETE_FAILED")
	w.wantEvent("s", "A DELETE_FAILED", "was created at "+w.endpoint.URL)
	w.wantStatus("t", w.delete("t"), "DELETE_COMPLETE")
	w.config.Rules = rules
	w.open()
	w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
	w.wantLive()
	w.wantRows(0)
}

// Types are checked at moto without [forward.Forwarder.Verify], which a Reader does not call. Moto without cfn-lint
// answers ValidateTemplate with 500.
func TestCheckMotoUnverified(t *testing.T) {
	w := newWorld(t)
	moto := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.URL.Path != "/moto-api/data.json" {
			http.Error(rw, "", http.StatusInternalServerError)
		}
	}))
	defer moto.Close()
	w.config.Rules = []forward.Rule{{Types: []string{"AWS::Test::*"}, Endpoint: moto.URL}}
	f, err := forward.New(w.config)
	w.must(err)
	f.Check(t.Context(), region, []string{"AWS::Test::A"})
	if problem, known := f.Checked(w.account, region, []string{"AWS::Test::A"}); problem != "" || !known {
		t.Errorf("problem %q, known %t", problem, known)
	}
}

// A stack of another account must not cause calls with the credentials of the server, not even one that changes nothing.
func TestCheckOtherAccount(t *testing.T) {
	w := newWorld(t)
	create := func(account string) error {
		_, err := w.engine.Create(t.Context(), engine.CreateStack{
			Name: store.StackName{Account: account, Region: region, Name: "s"}, Template: template(map[string]string{"A": thing(`"Name": "a"`)}),
		})
		return err
	}
	err := create("111111111111")
	want := "was not asked for these resource types: [AWS::Test::Thing]. The account there is 000000000000, and the stack is in account 111111111111."
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	w.config.Allowed = func(_, call string) error { return errors.New(call + " is not allowed") }
	w.open()
	err = create(w.account)
	if want := "[AWS::Test::Thing]. cloudformation:ValidateTemplate is not allowed. Nothing was changed."; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if n := w.endpoint.Calls("ValidateTemplate"); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// Moto is recognized with the client that the configuration has for endpoints.
func TestRecognizeWithOwnClient(t *testing.T) {
	w := newWorld(t)
	var paths []string
	w.config.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		paths = append(paths, r.Method+" "+r.URL.Path)
		return nil, errors.New("no route")
	})}
	w.verify = true
	w.open()
	if diff := cmp.Diff([]string{"HEAD /moto-api/data.json"}, paths); diff != "" {
		t.Error(diff)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Refusals name the endpoint, because Pintle's own types of the same name may support the feature.
func TestForwardRefusals(t *testing.T) {
	w := newWorld(t)
	create := func(text string) error {
		_, err := w.engine.Create(t.Context(), engine.CreateStack{Name: w.stackName("s"), Template: text})
		return err
	}
	err := create(template(map[string]string{"A": thing(`"Name": "a"`, `"CreationPolicy": {"ResourceSignal": {"Count": 1}}`)}))
	want := "CreationPolicy is not for resources of type AWS::Test::Thing, which is forwarded to " + strings.TrimPrefix(w.endpoint.URL, "http://") +
		": use a WaitCondition"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if n := w.endpoint.Calls("CreateStack"); n != 0 {
		t.Errorf("%d stacks were created", n)
	}
}

// A custom name at an endpoint other than AWS is a warning, because emulators adopt existing resources.
func TestAdoptedWarning(t *testing.T) {
	w := newWorld(t)
	w.config.Rules = []forward.Rule{{Types: []string{"AWS::SQS::*", "AWS::EC2::*", "AWS::SNS::*"}, Endpoint: w.endpoint.URL}, {Types: []string{"AWS::S3::*"}, Endpoint: forward.AWS}}
	w.open()
	named := func(property string) value.Value {
		return value.Object(value.Member{Key: property, Value: value.Str("n")})
	}
	for _, of := range []struct {
		name, property string
		want           bool
	}{
		{"AWS::SQS::Queue", "QueueName", true}, {"AWS::EC2::SecurityGroup", "GroupName", true}, {"AWS::SNS::Topic", "TopicName", true},
		{"AWS::SQS::Queue", "KmsMasterKeyId", false}, {"AWS::EC2::Instance", "KeyName", false}, {"AWS::S3::Bucket", "BucketName", false},
		{"AWS::Logs::LogGroup", "LogGroupName", false}, // not forwarded
	} {
		got := w.types.Adopted(of.name, named(of.property))
		if is := strings.HasPrefix(got, "Warning: it has a custom name, "+of.property); is != of.want {
			t.Errorf("%s with %s: %q", of.name, of.property, got)
		}
	}
}
