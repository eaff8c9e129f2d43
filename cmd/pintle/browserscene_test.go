package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// plantedSecret is the value of a NoEcho parameter, which no page may show.
const plantedSecret = "hunter2-of-the-database"

// scene is a server with stacks of every kind that the console shows:
//
//	shop       is complete, and has a change set called more
//	orders     is being created: the providers of Worker and Index wait
//	inventory  is being updated: the provider of Stock waits
//	billing    could not be created
//	ledger     could not be rolled back, because the provider of Book refuses
//	archive    was deleted without Tape, whose Delete failed
type scene struct {
	*served
	hall  *hall
	shelf string
	ids   map[string]string // by name
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{hall: newHall(t), shelf: filepath.Join(dir, "shelf"), ids: map[string]string{}}
	if err := os.MkdirAll(filepath.Join(s.shelf, "refuse"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHELF", s.shelf)
	t.Setenv("MEETING", s.hall.listener.Addr().String())
	t.Setenv("PINTLE_DATA", "")
	program, err := exec.LookPath("keeper")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "project/pintle.yaml", "stack: unused\nproviders: {Keeper: "+program+"}\n", 0o600)
	s.served = serve(t, filepath.Join(dir, "data"), "--project", filepath.Join(dir, "project"), "--log-level", "info")

	s.create("shop", shopTemplate(), parameter("Password", plantedSecret), parameter("Size", "small"))
	s.create("billing", keepers("billing", "Ledgers", "Invoices: Text=bad words, needs=Ledgers"))
	s.create("ledger", keepers("ledger", "Book", "Page: needs=Book"))
	s.create("archive", keepers("archive", "Shelf", "Tape"))
	s.create("inventory", keepers("inventory", "Stock", "Count: needs=Stock"))
	for name, want := range map[string]types.StackStatus{
		"shop": types.StackStatusCreateComplete, "billing": types.StackStatusRollbackComplete,
		"ledger": types.StackStatusCreateComplete, "archive": types.StackStatusCreateComplete,
		"inventory": types.StackStatusCreateComplete,
	} {
		s.wants(name, want)
	}

	s.refuse("Delete-Tape", "the tape is being read")
	s.ids["archive"] = *s.describe("archive").StackId
	for _, mode := range []types.DeletionMode{types.DeletionModeStandard, types.DeletionModeForceDeleteStack} {
		_, err := s.client().DeleteStack(t.Context(), &cloudformation.DeleteStackInput{
			StackName: aws.String(s.ids["archive"]), DeletionMode: mode,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.settled(s.ids["archive"])
	}

	s.update("ledger", keepers("ledger", "Book: Text=new", "Page: Text=bad, Wait=Update, needs=Book"))
	s.meets("Page")
	s.refuse("Update-Book", "there is no way back")
	s.hall.part("Page")
	s.wants("ledger", types.StackStatusUpdateRollbackFailed)

	s.update("inventory", keepers("inventory", "Stock: Text=more, Wait=Update", "Count: Text=more, needs=Stock"))
	s.meets("Stock")
	s.create("orders", keepers("orders", "Topic", "Table", "Worker: Wait=Create, needs=Table", "Index: Wait=Create, needs=Table",
		"Dashboard: needs=Worker Index Topic"))
	s.meets("Worker")
	s.meets("Index")

	_, err = s.client().CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("shop"), ChangeSetName: aws.String("more"), UsePreviousTemplate: aws.Bool(true),
		Description: aws.String("A larger shop"),
		Parameters: []types.Parameter{
			{ParameterKey: aws.String("Password"), UsePreviousValue: aws.Bool(true)}, parameter("Size", "large"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop", "orders", "inventory", "billing", "ledger"} {
		s.ids[name] = *s.describe(name).StackId
	}
	return s
}

func parameter(name, value string) types.Parameter {
	return types.Parameter{ParameterKey: &name, ParameterValue: &value}
}

// keepers returns a template of resources that keeper keeps. Each is written as "Name: Key=value, …, needs=Other Another".
func keepers(stack string, resources ...string) string {
	var text strings.Builder
	text.WriteString("Resources:\n")
	for _, r := range resources {
		id, rest, _ := strings.Cut(r, ": ")
		properties := map[string]string{}
		for _, pair := range strings.Split(rest, ", ") {
			name, value, _ := strings.Cut(pair, "=")
			properties[name] = value
		}
		fmt.Fprintf(&text, "  %s:\n    Type: Custom::%s\n", id, id)
		if needs := strings.Fields(properties["needs"]); len(needs) > 0 {
			fmt.Fprintf(&text, "    DependsOn: [%s]\n", strings.Join(needs, ", "))
		}
		fmt.Fprintf(&text, "    Properties:\n      ServiceToken: arn:aws:lambda:us-east-1:123456789012:function:Keeper\n      Name: %s-%s\n",
			stack, strings.ToLower(id))
		for _, name := range []string{"Text", "Wait", "Password"} {
			if value := properties[name]; value != "" {
				fmt.Fprintf(&text, "      %s: %s\n", name, value)
			}
		}
	}
	return text.String()
}

func shopTemplate() string {
	text := keepers("shop", "Network", "Database: Password=${Password}, needs=Network", "Cache: Text=${Size}, needs=Network", "Bucket", "Queue",
		"Service: needs=Database Cache Queue", "Site: needs=Service Bucket", "Alarm: needs=Service")
	text = strings.NewReplacer("Password: ${Password}", "Password: !Ref Password", "Text: ${Size}", "Text: !Ref Size").Replace(text)
	return "Description: A shop\nParameters:\n  Password: {Type: String, NoEcho: true, Default: '" + plantedSecret + "-default'}\n  Size: {Type: String}\n" + text +
		"Outputs:\n  Address: {Description: Where it is, Value: !Ref Site}\n"
}

func (s *scene) update(name, template string) {
	s.t.Helper()
	_, err := s.client().UpdateStack(s.t.Context(), &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: &template})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) describe(name string) types.Stack {
	s.t.Helper()
	out, err := s.client().DescribeStacks(s.t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Stacks[0]
}

// wants waits for the end of a stack's operation, which has to have come to a status.
func (s *scene) wants(name string, want types.StackStatus) {
	s.t.Helper()
	if got := s.settled(name); got != want {
		s.t.Fatalf("%s is in %s, want %s; the server's log:\n%s", name, got, want, s.output())
	}
}

// meets waits until the provider of a resource waits.
func (s *scene) meets(resource string) {
	s.t.Helper()
	s.until("the provider of "+resource+" waits", func() bool { return s.hall.here(resource) })
}

// refuse makes the provider refuse requests, such as Delete-Tape, for a reason. With an empty reason it accepts them.
func (s *scene) refuse(request, reason string) {
	s.t.Helper()
	path := filepath.Join(s.shelf, "refuse", request)
	var err error
	if reason == "" {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, []byte(reason), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
