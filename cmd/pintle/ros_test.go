package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/internal/require"
)

// TestROSClients plays the life of a stack of ROS by Alibaba Cloud's own clients, whose calls are signed, before a real server
// and a real provider.
func TestROSClients(t *testing.T) {
	folder, node := require.Popcore(t), require.Tool(t, "node")
	dir := t.TempDir()
	const id, secret = "LTAIexample", "the secret of an access key"
	credentials := "[default]\naws_access_key_id = " + id + "\naws_secret_access_key = " + secret + "\naws_account_id = 123456789012\n"
	if err := os.WriteFile(filepath.Join(dir, "credentials"), []byte(credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	provider := newROSProvider(t)
	s := serve(t, dir, "--credentials", filepath.Join(dir, "credentials"))
	for _, client := range []string{"popcore", "popcore-get", "sdk"} {
		t.Run(client, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "ros", "clients.js"), folder, client, s.url, "web:"+provider.URL)
			cmd.Env = append(os.Environ(), "KEY_ID="+id, "KEY_SECRET="+secret)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\nthe server's log:\n%s", err, out, s.output())
			}
		})
	}
}

// newROSProvider is a provider behind a URL that answers each request by a POST to its response URL, as those on Function Compute
// do; it fails what has a parameter Fail.
func newROSProvider(t *testing.T) *httptest.Server {
	t.Helper()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ResponseURL, StackId, RequestId, LogicalResourceId string //nolint:revive // the names of the protocol
			ResourceProperties                                 map[string]any
		}
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request); err != nil {
			t.Errorf("request: %v", err)
		}
		answer := map[string]any{
			"StackId": request.StackId, "RequestId": request.RequestId, "LogicalResourceId": request.LogicalResourceId,
			"Status": "SUCCESS", "PhysicalResourceId": "thing-1", "Data": map[string]any{"Answer": 42.5},
		}
		if request.ResourceProperties["Fail"] == true {
			answer["Status"], answer["Reason"] = "FAILED", "no disk"
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		response, err := http.Post(request.ResponseURL, "application/json", bytes.NewReader(text)) //nolint:noctx // it is short
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			said, _ := io.ReadAll(response.Body)
			t.Errorf("the response URL answers %s: %s", response.Status, said)
		}
	}))
	t.Cleanup(provider.Close)
	return provider
}
