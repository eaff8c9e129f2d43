package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// pytestFiles are the tests of somebody with two handlers and a stack. One of the handlers changes the ID of its resource.
var pytestFiles = map[string]string{
	"handlers/good.py": pytestHandler(`event.get("PhysicalResourceId") or "good-" + event["LogicalResourceId"] + str(hash(event["StackId"]))`),
	"handlers/bad.py":  pytestHandler("context.log_stream_name"),
	"tests/test_handlers.py": `
from pytest_pintle import check

test_good = check("../handlers/good.py", properties={"Name": "a"}, options=["--only", "life", "--only", "redelivery", "--only", "new-process"])
test_bad = check("../handlers/bad.py", options=["--only", "new-process"])
test_broken = check("../handlers/none.py")


def test_stack(pintle_server):
    template = """
Parameters: {Name: {Type: String}}
Resources:
  R: {Type: Custom::R, Properties: {ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:Good", Name: !Ref Name}}
Outputs: {Name: {Value: !GetAtt R.Name}}
"""
    for name in ("one", "two", "two"):
        assert pintle_server.deploy("s", template, {"Name": name}) == {"Name": name}
    assert pintle_server.url.startswith("http://127.0.0.1:")


def test_again(pintle_server):
    template = """
Parameters: {Fail: {Type: String}}
Resources: {R: {Type: Custom::R, Properties: {ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:Good", Name: !Ref Fail}}}
"""
    pintle_server.deploy("again", template, {"Fail": ""})
    for reason in ("first", "second"):
        try:
            pintle_server.deploy("again", template, {"Fail": "fail " + reason})
        except BaseException as error:
            last = str(error)
    assert "no second" in last and "no first" not in last


def test_rolled_back(pintle_server):
    template = "Resources: {R: {Type: Custom::R, Properties: {ServiceToken: 'arn:aws:lambda:us-east-1:000000000000:function:Good', Fail: x}}}"
    try:
        pintle_server.deploy("r", template)
    except BaseException:
        pass
    pintle_server.deploy("r", template + " ")


class TestClass:
    test_good = staticmethod(check("../handlers/good.py", properties={"Name": "a"}, options=["--only", "life"]))


def test_fails(pintle_server):
    pintle_server.deploy("f", "Resources: {R: {Type: Custom::R, Properties: {ServiceToken: 'arn:aws:lambda:us-east-1:000000000000:function:Good', Fail: x}}}")
`,
	"pytest.ini":         "[pytest]\npintle_serve = --project stacks\n",
	"stacks/pintle.yaml": "stack: s\nproviders:\n  Good: ../handlers/good.py\n",
}

func pytestHandler(id string) string {
	return `import json
import urllib.request


def handler(event, context):
    body = {"Status": "SUCCESS", "PhysicalResourceId": ` + id + `, "Data": {"Name": event["ResourceProperties"].get("Name", "")}}
    if event["RequestType"] == "Create" and "Fail" in event["ResourceProperties"]:
        body.update(Status="FAILED", Reason="told to fail")
    name = event["ResourceProperties"].get("Name", "")
    if event["RequestType"] == "Update" and name.startswith("fail "):
        body.update(Status="FAILED", Reason=name.replace("fail", "no"))
    body.update({key: event[key] for key in ("StackId", "RequestId", "LogicalResourceId")})
    request = urllib.request.Request(event["ResponseURL"], json.dumps(body).encode(), {"content-type": ""}, method="PUT")
    urllib.request.urlopen(request).close()
`
}

// TestPytest runs such tests with the plugin for pytest.
func TestPytest(t *testing.T) {
	python := require.Python(t, "pytest")
	require.Python(t, "boto3")
	program, err := exec.LookPath("pintle")
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := filepath.Abs(filepath.Join("..", "..", "integrations", "pytest"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range pytestFiles {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	relative, err := filepath.Rel(dir, program) // the program also runs in another directory
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-m", "pytest", "-p", "pytest_pintle", "-p", "no:cacheprovider", "-q", "-rA")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+plugin, "PYTHONDONTWRITEBYTECODE=1", "PINTLE="+relative, "NO_COLOR=1")
	for _, name := range []string{"HTTP_PROXY", "http_proxy"} { // where nothing listens: the server is asked without a proxy
		cmd.Env = append(cmd.Env, name+"=http://127.0.0.1:9")
	}
	cmd.Env = append(cmd.Env, "NO_PROXY=", "no_proxy=")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err == nil {
		t.Error("no test fails")
	}
	for _, want := range []string{
		"PASSED tests/test_handlers.py::test_good[life]\n", "PASSED tests/test_handlers.py::test_good[redelivery]\n",
		"PASSED tests/test_handlers.py::test_good[new-process]\n", "PASSED tests/test_handlers.py::test_stack\n",
		"FAILED tests/test_handlers.py::test_bad[new-process]", "error: the request is for ", "[id-changed]\n", "  fix      Derive the ID",
		"FAILED tests/test_handlers.py::test_broken[life]", "none.py",
		"FAILED tests/test_handlers.py::test_fails", "f is ROLLBACK_COMPLETE\nR: ", "told to fail",
		"PASSED tests/test_handlers.py::test_again\n", "PASSED tests/test_handlers.py::TestClass::test_good[life]\n",
		"FAILED tests/test_handlers.py::test_rolled_back", "r is not deployed\n", "ROLLBACK_COMPLETE state and can not be updated",
		"the options leave this scenario out",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("pytest does not print %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
