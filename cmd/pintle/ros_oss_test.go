package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestROSTemplateFromOSS puts templates into buckets by Alibaba Cloud's own client and creates stacks of them: by oss://, by oss:// with
// a region, and by the URL of the bucket. The owner of the buckets is the account of the key, which stacks see as another number.
func TestROSTemplateFromOSS(t *testing.T) {
	clients, python := require.OSS(t), require.Tool(t, "python3")
	const id, secret = "LTAIexample", "the secret of an access key"
	dir := t.TempDir()
	credentials := filepath.Join(dir, "credentials")
	keys := "[default]\naws_access_key_id = " + id + "\naws_secret_access_key = " + secret + "\naws_account_id = 123456789012\n" +
		"[other]\naws_access_key_id = OTHER\naws_secret_access_key = the secret of another key\naws_account_id = 210987654321\n"
	if err := os.WriteFile(credentials, []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir, "--credentials", credentials)
	const script = `
import sys, oss2
url, key, secret = sys.argv[1:4]
for name, text in zip(sys.argv[4::2], sys.argv[5::2]):
    bucket = oss2.Bucket(oss2.make_auth(key, secret, "v4"), url, name, region="cn-hangzhou")
    bucket.create_bucket()
    bucket.put_object("folder/t.yaml", text)
`
	put := func(id, secret string, pairs ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), python, append([]string{"-c", script, s.url, id, secret}, pairs...)...)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(clients, "python"), "NO_PROXY=*", "no_proxy=*")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	const body = "ROSTemplateFormatVersion: '2015-09-01'\nDescription: from OSS\nResources: {H: {Type: 'ALIYUN::ROS::WaitConditionHandle'}}\n"
	put(id, secret, "templates", body)
	put("OTHER", "the secret of another key", "theirs", body)

	client, err := rosclient.New(rosclient.Config{
		Endpoint: s.url, Region: "cn-hangzhou",
		Keys: func(context.Context) (rosclient.Keys, error) { return rosclient.Keys{ID: id, Secret: secret}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{
		"plain": "oss://templates/folder/t.yaml", "region": "oss://templates/folder/t.yaml?RegionId=cn-hangzhou",
		"host": "https://templates.oss-cn-hangzhou.aliyuncs.com/folder/t.yaml",
	} {
		var made struct{ StackId string }
		if err := client.Call(t.Context(), "CreateStack", url.Values{"StackName": {name}, "TemplateURL": {address}}, &made); err != nil {
			t.Errorf("%s: %v\nthe server's log:\n%s", name, err, s.output())
			continue
		}
		var got struct{ TemplateBody string }
		if err := client.Call(t.Context(), "GetTemplate", url.Values{"StackId": {made.StackId}}, &got); err != nil || got.TemplateBody != body {
			t.Errorf("%s: %v %q", name, err, got.TemplateBody)
		}
	}
	for address, want := range map[string]string{
		"oss://templates/none":       "there is no object oss://templates/none",
		"oss://theirs/folder/t.yaml": "permission denied: the bucket is another account's",
		"oss://nowhere/t.yaml":       "there is no OSS bucket nowhere of the caller on this server",
	} {
		err := client.Call(t.Context(), "ValidateTemplate", url.Values{"TemplateURL": {address}}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "InvalidParameter") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
