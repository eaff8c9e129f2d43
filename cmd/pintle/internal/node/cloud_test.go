package node

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

// TestTemplateOfAnotherAccount: a call gets no text out of a bucket of another account than its caller's.
func TestTemplateOfAnotherAccount(t *testing.T) {
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	buckets, err := objects.New(objects.Config{Dir: t.TempDir(), Buckets: registry.New(rows).Buckets})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = buckets.Close() })
	const bucket = "cdk-hnb659fds-assets-111111111111-us-east-1"
	if _, err := buckets.Put(t.Context(), bucket, "a.json", strings.NewReader("{}"), objects.Options{}); err != nil {
		t.Fatal(err)
	}
	n := &Node{cloud: &cloud{objects: buckets}}
	for account, want := range map[string]string{"111111111111": "{}", "222222222222": "denied", "": "denied"} {
		ctx := t.Context()
		if account != "" {
			ctx = sigv4.WithIdentity(ctx, sigv4.Identity{Account: account})
		}
		if got := readText(ctx, t, n, "https://s3.us-east-1.amazonaws.com/"+bucket+"/a.json"); got != want {
			t.Errorf("%q: got %s, want %s", account, got, want)
		}
	}
}

func readText(ctx context.Context, t *testing.T, n *Node, url string) string {
	t.Helper()
	body, known, err := n.bucketText(ctx, url)
	switch {
	case known && errors.Is(err, fs.ErrPermission):
		return "denied"
	case err != nil || !known:
		t.Fatal(known, err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
