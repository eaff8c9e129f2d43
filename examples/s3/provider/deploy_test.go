package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDeploy follows the README of the example, with the fake instead of AWS.
func TestDeploy(t *testing.T) {
	f := newFake(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "pintle")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../../cmd/pintle").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// pintle runs a command, and checks whether it succeeds and prints the texts.
	pintle := func(succeeds bool, args []string, texts ...string) {
		t.Helper()
		command := exec.Command(program, append(args, "--data", filepath.Join(dir, "data"))...)
		command.Env = append(os.Environ(), "GOPROXY=off", "GOTOOLCHAIN=local", "AWS_ENDPOINT_URL_S3="+f.url, "AWS_REGION=eu-west-1",
			"AWS_ACCESS_KEY_ID="+keyID, "AWS_SECRET_ACCESS_KEY="+secret, "AWS_SESSION_TOKEN=", "AWS_PROFILE=",
			"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_EC2_METADATA_DISABLED=true")
		out, err := command.CombinedOutput()
		if (err == nil) != succeeds {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		for _, text := range texts {
			if !regexp.MustCompile(text).Match(out) {
				t.Errorf("%q printed no %s:\n%s", args, text, out)
			}
		}
		if strings.Contains(string(out), secret) {
			t.Errorf("%q printed the secret key", args)
		}
	}
	deploy := func(parameters ...string) []string {
		args := []string{"deploy", "..", "--parameter", "Bucket=" + bucket}
		for _, p := range parameters {
			args = append(args, "--parameter", p)
		}
		return args
	}
	// has checks that there are three objects, one of them with a generated name.
	var generated string
	has := func(key, text string) {
		t.Helper()
		f.mu.Lock()
		defer f.mu.Unlock()
		for name := range f.objects {
			if generated == "" && strings.HasPrefix(name, "my-bucket/s3-Generated-") {
				generated = name
			}
		}
		got := map[string]string{}
		for name, is := range f.objects {
			got[name] = is.text
		}
		want := map[string]string{
			"my-bucket/" + key:      text,
			"my-bucket/grüße/🌍.txt": "Grüß Gott, 世界!",
			generated:               "The other object is " + key + ".",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}

	pintle(true, deploy(), `GivenHolds +CREATE_COMPLETE`, `Given +s3://my-bucket/folder/file1\.txt`, `Generated +s3-Generated-[0-9a-f]{12}\.txt`,
		regexp.QuoteMeta(f.url+"/my-bucket/gr%C3%BC%C3%9Fe/%F0%9F%8C%8D.txt"))
	has("folder/file1.txt", "hello!")
	pintle(true, deploy("Text=changed"), `Given +UPDATE_COMPLETE`, `GivenHolds +UPDATE_COMPLETE`)
	has("folder/file1.txt", "changed")
	pintle(true, deploy("Text=changed", "Key=/moved.txt"), `Given +s3://my-bucket/moved\.txt`)
	has("moved.txt", "changed")

	// A refused change is rolled back, and so is a failed assertion. An assertion has five minutes, or less if the
	// template says so.
	pintle(false, deploy("Text=changed", "Key=/"), `ObjectKey is /`, `UPDATE_ROLLBACK_COMPLETE`)
	has("moved.txt", "changed")
	text, err := os.ReadFile("../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	hasty := filepath.Join(dir, "hasty.yaml")
	marker := "Type: Custom::S3Assert\n    Properties:\n"
	if err := os.WriteFile(hasty, []byte(strings.Replace(string(text), marker, marker+"      ServiceTimeout: 6\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	pintle(false, append(deploy("Key=elsewhere", "Text=other", "Expected=another"), "--template", hasty),
		`Operation timed out: .*: s3://my-bucket/elsewhere has 5 bytes, want 7; they differ from byte 0 on`, `UPDATE_ROLLBACK_COMPLETE`)
	has("moved.txt", "changed")

	pintle(true, []string{"delete", ".."}, `DELETE_COMPLETE`)
	if err := f.has()(); err != nil {
		t.Error(err)
	}
}
