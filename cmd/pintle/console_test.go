package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"
)

// What people do in the console is in the audit log, as calls to other endpoints are.
func TestConsoleAuditLog(t *testing.T) {
	dir := t.TempDir()
	log, data := filepath.Join(dir, "audit.log"), filepath.Join(dir, "data")
	server := serve(t, data, "--audit-log", log)
	created, err := server.client().CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName:    aws.String("s"),
		TemplateBody: aws.String(`{"Resources": {"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	// visit gets a page or, with a form, posts that.
	visit := func(address string, form url.Values) string {
		t.Helper()
		method, header := http.MethodGet, ""
		if form != nil {
			method, header = http.MethodPost, "application/x-www-form-urlencoded"
		}
		request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", header)
		reply, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reply.Body.Close() }() // read to its end
		text, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	link, err := exec.Command("pintle", "console", "--data", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(string(link))
	home := visit(address, nil)
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(home)
	if token == nil {
		t.Fatalf("no session:\n%s", home)
	}
	page := address[:strings.Index(address, "sign-in")] + "stacks/" + url.PathEscape(aws.ToString(created.StackId))
	server.until("the stack is there", func() bool {
		return strings.Contains(visit(page, nil), "CREATE_COMPLETE")
	})
	for _, name := range []string{"another", "s"} {
		visit(page+"/actions/delete", url.Values{"token": {token[1]}, "confirm": {name}})
	}
	id := aws.ToString(created.StackId)
	want := []string{
		"test api cloudformation CreateStack s granted 200",
		"local operator POST /pintle/v1/console/link granted 200",
		"console sign-in granted 303",
		fmt.Sprintf("console delete %s refused 400", id),
		fmt.Sprintf("console delete %s granted 303", id),
	}
	if diff := cmp.Diff(want, audited(t, log)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); !strings.Contains(got, `"user":"the local user","role":"operator"`) || strings.Contains(got, token[1]) ||
		strings.Contains(got, address[strings.Index(address, "token="):]) {
		t.Errorf("the log has no name, or a token:\n%s", got)
	}
}
